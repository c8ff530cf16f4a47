#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a language model for llama.cpp (GGUF 3) with random weights: two layers, by default a few megabytes. It loads like a real
one and says nothing sensible.

usage: tiny_model.py FILE
"""
import math
import random
import struct
import sys
import typing

CONTEXT = 512
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5
ALIGNMENT = 32


class Shape(typing.NamedTuple):
    vocabulary: int = 512
    width: int = 256
    heads: int = 4
    layers: int = 2
    inner: int = 512


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


def array(kind, values):
    packed = {STRING: text, F32: lambda value: struct.pack("<f", value), I32: lambda value: struct.pack("<i", value)}[kind]
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(map(packed, values))


def metadata(shape):
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += [f"▁w{number}" for number in range(shape.vocabulary - len(tokens))]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (shape.vocabulary - 259)  # unknown, control, byte, normal
    numbers = {"context_length": CONTEXT, "embedding_length": shape.width, "block_count": shape.layers, "feed_forward_length": shape.inner,
               "attention.head_count": shape.heads, "attention.head_count_kv": shape.heads, "rope.dimension_count": shape.width // shape.heads,
               "vocab_size": shape.vocabulary}
    pairs = {"general.architecture": struct.pack("<I", STRING) + text("llama"),
             "general.name": struct.pack("<I", STRING) + text("tiny"),
             "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", F32, 1e-5),
             "tokenizer.ggml.model": struct.pack("<I", STRING) + text("llama"),
             "tokenizer.ggml.tokens": array(STRING, tokens),
             "tokenizer.ggml.scores": array(F32, [-float(number) for number in range(shape.vocabulary)]),
             "tokenizer.ggml.token_type": array(I32, kinds),
             "tokenizer.ggml.bos_token_id": struct.pack("<II", U32, 1),
             "tokenizer.ggml.eos_token_id": struct.pack("<II", U32, 2)}
    pairs.update({f"llama.{name}": struct.pack("<II", U32, number) for name, number in numbers.items()})
    return pairs


def tensors(shape):
    """Names and dimensions, the one that varies fastest first."""
    yield "token_embd.weight", (shape.width, shape.vocabulary)
    for layer in range(shape.layers):
        prefix = f"blk.{layer}."
        yield prefix + "attn_norm.weight", (shape.width,)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield prefix + name + ".weight", (shape.width, shape.width)
        yield prefix + "ffn_norm.weight", (shape.width,)
        for name in ("ffn_gate", "ffn_up"):
            yield prefix + name + ".weight", (shape.width, shape.inner)
        yield prefix + "ffn_down.weight", (shape.inner, shape.width)
    yield "output_norm.weight", (shape.width,)
    yield "output.weight", (shape.width, shape.vocabulary)


def write(path, shape=Shape()):
    """The same model every time."""
    values = random.Random(1)
    pairs, entries = metadata(shape), list(tensors(shape))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(entries), len(pairs)) + b"".join(text(name) + pairs[name] for name in pairs)
    data = bytearray()
    for name, sizes in entries:
        count = math.prod(sizes)
        head += text(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes) + struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{count}f", *(values.gauss(0, 0.02) for _ in range(count)))
        data += bytes(-len(data) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


if __name__ == "__main__":
    write(sys.argv[1])
