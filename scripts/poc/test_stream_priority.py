#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures requests on one PyTorch stream while another stream of the same process always has batch work: first with
both streams at the default priority, then with the request stream at the highest one. Needs PyTorch for ROCm or CUDA;
build/examples/stream_priority is the same test in C with HIP."""
import argparse
import json
import sys
import threading
import time

import poc_torch
from poc_report import shown, summary

NAME = "test_stream_priority.py"
AHEAD = 8  # batch products that are submitted and not done


def parse():
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="length of each of the two runs (default 5)")
    parser.add_argument("--rate", type=float, default=50, help="requests per second (default 50)")
    parser.add_argument("--size", type=int, default=8192, help="rows and columns of a batch product (default 8192); a "
                                                               "request is two products of an eighth of it")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; times in milliseconds")
    given = parser.parse_args()
    if given.seconds < 0 or given.rate <= 0 or given.size < 8:
        parser.error("--seconds must not be negative, --rate must be positive, and --size must be at least 8")
    return given


class Batch(threading.Thread):
    """Keeps products on a stream until it is ended."""

    def __init__(self, torch, device, stream, size):
        super().__init__(daemon=True)
        self.torch, self.stream, self.ended, self.products, self.error = torch, stream, threading.Event(), 0, None
        self.matrix = torch.randn(size, size, device=device)

    def run(self):
        done = [self.torch.cuda.Event() for _ in range(AHEAD)]
        try:
            with self.torch.cuda.stream(self.stream):
                while not self.ended.is_set():
                    if self.products >= AHEAD:
                        done[self.products % AHEAD].synchronize()
                    self.torch.mm(self.matrix, self.matrix)
                    done[self.products % AHEAD].record(self.stream)
                    self.products += 1
                self.stream.synchronize()
        except RuntimeError as error:
            self.error = error

    def end(self):
        self.ended.set()
        self.join()
        if self.error:
            raise self.error


def serve(torch, device, stream, given):
    """Milliseconds of each request: on the GPU's clock from its arrival in the stream, and by the wall clock."""
    matrix = torch.randn(given.size // 8, given.size // 8, device=device)
    torch.cuda.synchronize()
    gpu, wall, start = [], [], time.monotonic()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        while not wall or len(wall) / given.rate < given.seconds:
            arrival = start + len(wall) / given.rate
            time.sleep(max(0.0, arrival - time.monotonic()))
            first.record(stream)
            torch.mm(matrix, matrix)
            torch.mm(matrix, matrix)
            last.record(stream)
            stream.synchronize()
            wall.append(1e3 * (time.monotonic() - arrival))
            gpu.append(first.elapsed_time(last))
    return gpu, wall


def measure(torch, device, given, name, request, batch):
    streams = [torch.cuda.Stream(device=device, priority=priority) for priority in (request, batch)]
    load = Batch(torch, device, streams[1], given.size)
    start = time.monotonic()
    load.start()
    try:
        gpu, wall = serve(torch, device, streams[0], given)
    finally:
        load.end()
    # PyTorch may give a stream another priority than the one that was requested, so it is read back.
    return {"run": name, "request_priority": int(streams[0].priority), "batch_priority": int(streams[1].priority),
            "gpu_ms": summary(gpu), "wall_ms": summary(wall),
            "batch_products_per_second": load.products / (time.monotonic() - start)}


def highest(torch):
    """The number of the highest priority: -1 on ROCm, less on CUDA."""
    try:
        return min(torch.cuda.Stream.priority_range())
    except AttributeError:  # before PyTorch 2.0
        return -1


def show(runs):
    print(f"  {'ms':<36}{'mean':>10}{'p50':>10}{'p95':>10}{'p99':>10}{'max':>10}{'count':>8}")
    for run in runs:
        print(f"{run['run']}: request stream {run['request_priority']}, batch stream {run['batch_priority']}, "
              f"batch {run['batch_products_per_second']:.1f} products/s")
        for name, key in (("requests, GPU clock", "gpu_ms"), ("requests, wall clock", "wall_ms")):
            print(f"  {name:<36}" + "".join(f"{shown(run[key][at]):>10}" for at in ("mean", "p50", "p95", "p99", "max"))
                  + f"{run[key]['count']:>8}")
    before, after = (run["gpu_ms"] for run in runs)
    ratios = [shown(before[at] / after[at] if after[at] else None, 2) for at in ("p50", "p99")]
    print(f"without / with priority, GPU clock: p50 {ratios[0]}, p99 {ratios[1]} (above 1: the priority helped)")


def main():
    given = parse()
    torch, device = poc_torch.device(NAME)
    build = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    print(f"PyTorch {torch.__version__} for {build}, {torch.cuda.get_device_name(device)}", flush=True)
    torch.mm(torch.ones(8, 8, device=device), torch.ones(8, 8, device=device))  # loads the library before the clock runs
    runs = [measure(torch, device, given, "without priority", 0, 0),
            measure(torch, device, given, "with priority", highest(torch), 0)]
    show(runs)
    if torch.version.hip:
        print("While it runs, 'gpreempt find PID' shows the priority of each queue in the driver: high on a queue of the "
              "request stream unless the runtime ignores stream priorities.")
    if given.json:
        try:
            with open(given.json, "w") as file:
                json.dump({"build": build, "runs": runs}, file, indent=2)
                file.write("\n")
        except OSError as error:
            sys.exit(f"{NAME}: cannot write {given.json}: {error.strerror}")


if __name__ == "__main__":
    main()
