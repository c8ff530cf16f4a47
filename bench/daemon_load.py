#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server beside a trainer on a busy host: its latency with gpreemptd in mode act against mode observe.

The programs start on a quiet host; then busy loops load it, and after a while in mode act, in which the daemon
finds out what its operations cost there, it changes between the two modes every few seconds, so that both see
the same host and the same programs. The time of a kernel on the virtual GPU is the model's; the ratio is what
counts.

usage: bench/daemon_load.py BUILD-DIRECTORY [SECONDS [LOAD [ROUNDS [WARM]]]]
WARM: seconds of that while (default 20); 0: the first seconds of acting count.
"""
import os
import subprocess
import sys
import time

from daemon_stage import Stage

BUSY = "while True: pass"
RATE = 10
WARM = 20  # seconds
MODES = ("observe", "act")


def served(path, phases):
    """Latencies in ms of the requests that arrived in a phase, by mode; an unserved one lasted until now."""
    taken = {mode: [] for mode in MODES}
    with open(path) as lines:
        for line in lines:
            if not line[0].isdigit():
                continue
            arrival, _, done = map(float, line.split(",")[:3])
            for mode, start, end in phases:
                if start <= arrival < end:
                    taken[mode].append(((done if done > 0 else time.monotonic()) - arrival) * 1e3)
    return taken


def change(stage, path, mode):
    with open(path, "w") as file:
        file.write(f"[daemon]\nmode = {mode}\n")
    stage.quietly("config", "reload").check_returncode()


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5
    load = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 4
    warm = float(sys.argv[5]) if len(sys.argv) > 5 else WARM
    stage = Stage("gpreemptd under load", sys.argv[1])
    server, trainer = stage.example("online_server"), stage.example("offline_trainer")
    if not server:
        return 0
    phases, loops = [], []
    with stage:
        samples, config = os.path.join(stage.place, "samples"), os.path.join(stage.place, "gpreemptd.conf")
        with open(config, "w") as file:
            file.write("[daemon]\nmode = observe\n")
        stage.begin(stage.gpreemptd, "--config", config)
        stage.begin(stage.gpreempt, "run", "--class", "offline", "--", trainer, "--load", "spin", "--seconds", "10000")
        stage.begin(stage.gpreempt, "run", "--class", "online", "--", server, "--load", "spin", "--rate", str(RATE),
                    "--seconds", "10000", "--samples", samples)
        stage.until(lambda: sum(job["queues"] > 0 for job in stage.top()["jobs"]) == 2, "the programs did not come")
        stage.until(lambda: os.path.exists(samples) and os.path.getsize(samples) > 1000, "the server does not serve")
        try:
            loops += [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(load)]
            if warm:
                change(stage, config, "act")
                time.sleep(warm)
            for _ in range(rounds):
                for mode in MODES:
                    change(stage, config, mode)
                    start = time.monotonic()
                    time.sleep(seconds)
                    phases.append((mode, start, time.monotonic()))
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        if os.environ.get("GP_BENCH_LOG"):
            for what in (("stats",), ("log", "--all", "--lines", "400")):
                print(stage.quietly(*what).stdout.decode(), file=sys.stderr)
        time.sleep(1)
        taken = served(samples, phases)
    if not all(taken.values()):
        raise SystemExit("gpreemptd under load: no request was answered")
    mean = {mode: sum(times) / len(times) for mode, times in taken.items()}
    print(f"server beside a trainer, host load {os.getloadavg()[0]:.0f}, {load} busy loops on {os.cpu_count()} cores, {rounds} times {seconds:.0f} s in each "
          f"mode: mean latency {mean['observe']:.2f} ms observe ({len(taken['observe'])} requests), "
          f"{mean['act']:.2f} ms act ({len(taken['act'])}); act / observe {mean['act'] / mean['observe']:.3f}")
    return 0


sys.exit(main())
