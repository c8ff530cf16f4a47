# SPDX-License-Identifier: MIT
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
import queue
import random
import sys
import threading
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

    def serve(handed_over=None):
        for _ in range(repeats):
            graph.replay()  # one launch on the host, timed as `handed_us` below
            if handed_over:
                handed_over()
                handed_over = None
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


BEHIND = 8
PREPARE_S = 400e-6  # what the host does with a request before it hands it to the GPU
WAKE_PTX = b"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry wake(.param .u64 flag, .param .u32 until, .param .u64 cycles)
{
  .reg .pred %p<3>;
  .reg .u32 %r<3>;
  .reg .u64 %d<6>;
  ld.param.u64 %d1, [flag];
  ld.param.u32 %r1, [until];
  ld.param.u64 %d2, [cycles];
  mov.u64 %d3, %clock64;
again:
  ld.volatile.global.u32 %r2, [%d1];
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra done;
  mov.u64 %d4, %clock64;
  sub.u64 %d5, %d4, %d3;
  setp.lt.u64 %p2, %d5, %d2;
  @%p2 bra again;
done:
  ret;
}
\0"""


class Waker:
    """Announces requests to the hardware: a kernel of one thread that waits until the request's own work
    has been handed over, so that the GPU changes over to this process while the host still prepares
    it. It gives up after 2 ms."""

    def __init__(self, stream):
        self.cuda, self.stream, self.count = ctypes.CDLL("libcuda.so.1"), stream, 0
        self.flag = torch.zeros(1, dtype=torch.int32, pin_memory=True)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cuModuleLoadData(ctypes.byref(module), WAKE_PTX))
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), module, b"wake"))

    def check(self, error):
        if error:
            raise RuntimeError(f"libcuda: {error}")

    def touch(self):
        """One kernel that does nothing: the GPU changes over while the host is still in the next launch."""
        self.launch(0)

    def launch(self, until):
        values = (ctypes.c_uint64(self.flag.data_ptr()), ctypes.c_uint32(until), ctypes.c_uint64(4_000_000))
        pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(value) for value in values])
        self.check(self.cuda.cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0,
                                            ctypes.c_void_p(self.stream.cuda_stream), pointers, None))

    def announce(self):
        """The kernels behind the first do nothing. Without something left to launch the hardware takes the
        process for idle and changes back to the other one, though the first kernel still runs."""
        self.count += 1
        for i in range(1 + BEHIND):
            self.launch(0 if i else self.count)

    def handed_over(self):
        self.flag[0] = self.count


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def online(serve, words, library):
    """Requests at random times, whatever becomes of those before (an open loop). Requests still waiting
    at the end of the block are dropped and counted. us: from when the host hands it to the GPU;
    arrival_us: from when it was due. how: 0 plain, 1 stop another process for it, 2 the same but
    announced, 3 announced to the hardware in the request's own stream, 4 in another one, 5 with the hint of the agent that is
    in this process. As from a hook in the launch, within the measured time: 6 that hint, 7 one empty
    kernel before the launch, 8 the hint after it (the GPU is kept to the request's end), 9 as 7 in C (hook.c)."""
    seconds, gap_ms, stop_pid, how = float(words[1]), float(words[2]), int(words[5]), int(words[6])
    stopper = Stopper(library, stop_pid) if stop_pid else None
    waker = Waker(torch.cuda.current_stream() if how == 3 else torch.cuda.Stream()) if how in (3, 4, 7) else None
    hint = ctypes.CDLL(None).gpreempt_agent_request if how in (5, 6, 8) else None
    hooked = ctypes.CDLL(None).hook_enable if how == 9 else None
    if hooked and hooked(1):
        raise RuntimeError("the hook cannot be set up")
    samples, arrivals, handed, dropped, rng = [], [], [], 0, random.Random(1)
    moment = [0.0]

    def after_launch():
        moment[0] = time.perf_counter()
        if how in (3, 4):
            waker.handed_over()
        if how == 8:
            hint(1, ctypes.c_uint64(0))

    begin = due = time.perf_counter()
    while True:
        due += rng.expovariate(1000 / gap_ms)
        if due > begin + seconds:
            break
        now = time.perf_counter()
        if now > begin + seconds:
            dropped += 1
            continue
        if now < due:
            time.sleep(due - now)
        if how in (3, 4):
            waker.announce()
        if how == 5:
            hint(1, ctypes.c_uint64(0))
        if how in (3, 4, 5):
            spin(PREPARE_S)
        started = time.perf_counter()
        if how == 6:
            hint(1, ctypes.c_uint64(0))
        if how == 7:
            waker.touch()
        if stopper:
            stopper.stop()
        if how == 2:
            started = time.perf_counter()
        serve(after_launch)
        end = time.perf_counter()
        handed.append(round((moment[0] - started) * 1e6, 1))
        if hint:
            hint(0, ctypes.c_uint64(0))
        samples.append(round((end - started) * 1e6, 1))
        arrivals.append(round((end - due) * 1e6, 1))
        if stopper:
            stopper.go()
    if hooked:
        hooked(0)
    failed = stopper.failed if stopper else 0
    if stopper:
        stopper.close()
    return {"role": "online", "failed": failed, "seconds": time.perf_counter() - begin, "us": samples,
            "arrival_us": arrivals, "handed_us": handed, "dropped": dropped}


def offline(step, words):
    count, begin = 0, time.time()
    while time.time() < begin + float(words[1]):
        step()
        count += 1
    return {"role": "offline", "steps": count, "seconds": time.time() - begin}


def serve_both(pair, library):
    """Both in this process: a thread each, the request's stream with the higher priority."""
    answers, lines, threads = queue.Queue(), [], []

    def loop(asked, role, priority, work_of, block):
        stream = torch.cuda.Stream(priority=priority)
        with torch.cuda.stream(stream):
            work = work_of(f"{pair}-{role}", stream)
            for _ in range(5):
                work()
            answers.put((role, None))
            while True:
                words = asked.get()
                if not words:
                    return
                answers.put((role, block(work, words)))

    for role, priority, work_of, block in (
            ("online", -1, requests, lambda work, words: online(work, words, library)),
            ("offline", 0, steps, offline)):
        lines.append(queue.Queue())
        threads.append(threading.Thread(target=loop, args=(lines[-1], role, priority, work_of, block)))
        threads[-1].start()
        answers.get()  # a graph cannot be recorded while another thread works
    print(json.dumps({"role": "ready", "pid": os.getpid()}), flush=True)
    for line in sys.stdin:
        for asked in lines:
            asked.put(line.split())
        print(json.dumps(dict([answers.get(), answers.get()], role="both")), flush=True)
    for asked, thread in zip(lines, threads):
        asked.put(None)
        thread.join()
    print(json.dumps({"role": "end", "wrong": 0}), flush=True)


def main():
    role, library = sys.argv[1], sys.argv[2]
    torch.manual_seed(0)
    if role.endswith("-both"):
        serve_both(role[:-len("-both")], library)
        return
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
