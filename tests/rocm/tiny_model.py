#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a language model for llama.cpp (GGUF 3) with random weights: two layers, a few megabytes. It loads like a real
one and says nothing sensible.

usage: tiny_model.py FILE
"""
import random
import struct
import sys

VOCABULARY, WIDTH, HEADS, LAYERS, INNER, CONTEXT = 512, 256, 4, 2, 512, 512
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5
ALIGNMENT = 32


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def array(kind, values):
    packed = {STRING: text, F32: lambda value: struct.pack("<f", value), I32: lambda value: struct.pack("<i", value)}[kind]
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(map(packed, values))


def metadata():
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += [f"▁w{number}" for number in range(VOCABULARY - len(tokens))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - 259)  # unknown, control, byte, normal
    numbers = {"context_length": CONTEXT, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": INNER,
               "attention.head_count": HEADS, "attention.head_count_kv": HEADS, "rope.dimension_count": WIDTH // HEADS,
               "vocab_size": VOCABULARY}
    pairs = {"general.architecture": struct.pack("<I", STRING) + text("llama"),
             "general.name": struct.pack("<I", STRING) + text("tiny"),
             "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", F32, 1e-5),
             "tokenizer.ggml.model": struct.pack("<I", STRING) + text("llama"),
             "tokenizer.ggml.tokens": array(STRING, tokens),
             "tokenizer.ggml.scores": array(F32, [-float(number) for number in range(VOCABULARY)]),
             "tokenizer.ggml.token_type": array(I32, kinds),
             "tokenizer.ggml.bos_token_id": struct.pack("<II", U32, 1),
             "tokenizer.ggml.eos_token_id": struct.pack("<II", U32, 2)}
    pairs.update({f"llama.{name}": struct.pack("<II", U32, number) for name, number in numbers.items()})
    return pairs


def tensors():
    """Names and dimensions, the one that varies fastest first."""
    yield "token_embd.weight", (WIDTH, VOCABULARY)
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        yield prefix + "attn_norm.weight", (WIDTH,)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield prefix + name + ".weight", (WIDTH, WIDTH)
        yield prefix + "ffn_norm.weight", (WIDTH,)
        for name in ("ffn_gate", "ffn_up"):
            yield prefix + name + ".weight", (WIDTH, INNER)
        yield prefix + "ffn_down.weight", (INNER, WIDTH)
    yield "output_norm.weight", (WIDTH,)
    yield "output.weight", (WIDTH, VOCABULARY)


def main():
    values = random.Random(1)
    pairs, entries = metadata(), list(tensors())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(pairs)) + b"".join(text(name) + pairs[name] for name in pairs)
    data = bytearray()
    for name, shape in entries:
        count = 1
        for size in shape:
            count *= size
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{count}f", *(values.gauss(0, 0.02) for _ in range(count)))
        data += bytes(-len(data) % ALIGNMENT)
    with open(sys.argv[1], "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


main()
