# SPDX-License-Identifier: MIT
"""Shared by the PyTorch cases: options, the device, and saying what is missing when something is."""
import argparse
import signal
import sys
import time


def device(program):
    """torch and its GPU, or the end of the program with what is missing."""
    try:
        import torch
    except ImportError:
        sys.exit(f"{program}: PyTorch is not installed; install a ROCm build from https://pytorch.org. On the virtual "
                 "GPU, use the C examples in build/examples instead.")
    if not torch.cuda.is_available():
        why = "this PyTorch was not built for a GPU" if not (torch.version.hip or torch.version.cuda) else \
            "PyTorch finds no GPU; check that the driver is loaded and that you may open /dev/kfd and /dev/dri/renderD*"
        sys.exit(f"{program}: {why}")
    return torch, torch.device("cuda")


def options(program, what, seconds, batch):
    parser = argparse.ArgumentParser(prog=program, description=what)
    parser.add_argument("--seconds", type=float, default=seconds, help=f"run time in seconds (default {seconds})")
    parser.add_argument("--begin", type=float, default=0, help="start measuring at this time on the monotonic clock")
    parser.add_argument("--batch", type=int, default=batch, help=f"batch size (default {batch})")
    parser.add_argument("--rate", type=float, default=0, help="requests per second (default 0: as many as possible)")
    parser.add_argument("--samples", metavar="FILE", help="write arrival and end of every round to FILE")
    given = parser.parse_args()
    if given.seconds < 0 or given.batch < 1 or given.rate < 0:
        parser.error("--seconds and --rate must not be negative, and --batch must be at least 1")
    return given


def repeat(torch, given, work, unit):
    """Does the work until the time is over or SIGTERM comes, once at least; prints how much and how long each took."""
    latencies, ended = [], []
    samples = open(given.samples, "w") if given.samples else None
    if samples:
        print("arrival_s,done_s", file=samples, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    if given.begin:
        work()  # the first run compiles
        torch.cuda.synchronize()
        time.sleep(max(0.0, given.begin - time.monotonic()))
    start = time.monotonic()
    while not latencies or not ended and time.monotonic() - start < given.seconds:
        arrival = time.monotonic()
        if given.rate:
            arrival = start + len(latencies) / given.rate
            time.sleep(max(0.0, arrival - time.monotonic()))
        work()
        torch.cuda.synchronize()
        end = time.monotonic()
        latencies.append(end - arrival)
        if samples:
            print(f"{arrival:.6f},{end:.6f}", file=samples, flush=True)
    elapsed = time.monotonic() - start
    latencies.sort()
    at = [1e3 * latencies[min(len(latencies) - 1, int(part * len(latencies)))] for part in (0.5, 0.9, 0.99)]
    print(f"{len(latencies) * given.batch / elapsed:.1f} {unit}/s; {len(latencies)} rounds, p50 {at[0]:.3f} ms, "
          f"p90 {at[1]:.3f}, p99 {at[2]:.3f}", flush=True)
