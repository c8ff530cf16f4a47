"""Workers of the co-location pairs in PyTorch: blocks of work as standard input says, as nvwork's
`serve` (work_serve.c) takes them.

  transformer-online   12-layer 1024-wide encoder, 1 x 128 tokens, bf16, one CUDA graph a request
  transformer-offline  training of a 6-layer 4096-wide encoder, 16 x 1024 tokens
  decoder-online       16 tokens one after the other through a 24-layer 2048-wide decoder with a
                       cache of 1024 tokens, a CUDA graph a token
  decoder-offline      training of an 8-layer 2048-wide encoder, 64 x 512 tokens
"""
import ctypes
import json
import os
import random
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as functional

DEVICE, KIND = "cuda", torch.bfloat16


def encoder(width, heads, layers):
    return nn.Sequential(*[nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True,
                                                      dropout=0.0, activation="gelu")
                           for _ in range(layers)]).to(DEVICE, KIND)


class DecoderStep(nn.Module):
    """One token through the layers; each attends to a full cache of keys and values."""

    def __init__(self, width=2048, heads=16, layers=24, cache=1024):
        super().__init__()
        self.heads, self.layers = heads, nn.ModuleList()
        for _ in range(layers):
            layer = nn.Module()
            layer.norm1, layer.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            layer.query, layer.out = nn.Linear(width, width), nn.Linear(width, width)
            layer.up, layer.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            layer.register_buffer("keys", torch.randn(1, heads, cache, width // heads))
            layer.register_buffer("values", torch.randn(1, heads, cache, width // heads))
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            query = layer.query(layer.norm1(x)).view(1, 1, self.heads, -1).transpose(1, 2)
            seen = functional.scaled_dot_product_attention(query, layer.keys, layer.values)
            x = x + layer.out(seen.transpose(1, 2).reshape(1, 1, -1))
            x = x + layer.down(functional.gelu(layer.up(layer.norm2(x))))
        return x


def graph_of(model, x, stream):
    """Captures model(x) and returns the graph, after runs that let the libraries choose."""
    with torch.no_grad():
        for _ in range(10):
            model(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            model(x)
    return graph


def requests(role, stream):
    """A function that serves one request."""
    if role == "transformer-online":
        model, x, repeats = encoder(1024, 16, 12).eval(), torch.randn(
            1, 128, 1024, device=DEVICE, dtype=KIND), 1
    else:
        model, x, repeats = DecoderStep().to(DEVICE, KIND).eval(), torch.randn(
            1, 1, 2048, device=DEVICE, dtype=KIND), 16
    graph = graph_of(model, x, stream)

    def serve():
        for _ in range(repeats):
            graph.replay()
        stream.synchronize()
    return serve


def steps(role, stream):
    """A function that does one step of training."""
    if role == "transformer-offline":
        model, shape = encoder(4096, 32, 6), (16, 1024, 4096)
    else:
        model, shape = encoder(2048, 16, 8), (64, 512, 2048)
    x = torch.randn(*shape, device=DEVICE, dtype=KIND)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(x).float().pow(2).mean().backward()
        optimizer.step()
        stream.synchronize()
    return step


class Stopper:
    """libnvctl.so in this process: stops another process for as long as a request takes."""

    def __init__(self, library, pid):
        self.library, self.handle, self.failed = ctypes.CDLL(library), ctypes.c_void_p(), 0
        if self.library.nvctl_open(pid, ctypes.byref(self.handle)):
            raise RuntimeError(f"cannot control process {pid}")

    def stop(self):
        self.failed += self.library.nvctl_suspend(self.handle, None) != 0

    def go(self):
        self.failed += self.library.nvctl_resume(self.handle, None) != 0

    def close(self):
        self.library.nvctl_close(self.handle)


def online(serve, words, library):
    seconds, gap_ms, stop_pid = float(words[1]), float(words[2]), int(words[5])
    ahead = int(words[6])
    stopper = Stopper(library, stop_pid) if stop_pid else None
    samples, rng, begin = [], random.Random(1), time.time()
    while time.time() < begin + seconds:
        time.sleep(rng.expovariate(1000 / gap_ms))
        arrived = time.perf_counter()
        if stopper:
            stopper.stop()
        if ahead:
            arrived = time.perf_counter()
        serve()
        samples.append(round((time.perf_counter() - arrived) * 1e6, 1))
        if stopper:
            stopper.go()
    failed = stopper.failed if stopper else 0
    if stopper:
        stopper.close()
    return {"role": "online", "failed": failed, "seconds": time.time() - begin, "us": samples}


def offline(step, words):
    count, begin = 0, time.time()
    while time.time() < begin + float(words[1]):
        step()
        count += 1
    return {"role": "offline", "steps": count, "seconds": time.time() - begin}


def main():
    role, library = sys.argv[1], sys.argv[2]
    torch.manual_seed(0)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work = requests(role, stream) if role.endswith("online") else steps(role, stream)
        for _ in range(5):
            work()
        print(json.dumps({"role": "ready", "pid": os.getpid()}), flush=True)
        for line in sys.stdin:
            words = line.split()
            answer = online(work, words, library) if words[0] == "online" else offline(work, words)
            print(json.dumps(answer), flush=True)
    print(json.dumps({"role": "end", "wrong": 0}), flush=True)


if __name__ == "__main__":
    main()
