#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU that gpreemptd uses while four programs with an agent have nothing to do.

The programs run on a virtual GPU and are stopped (SIGSTOP) when their queues are drained, so that they
submit nothing. The figure is the kernel's own account of the daemon's run time (schedstat).

usage: bench/daemon_idle.py BUILD-DIRECTORY [SECONDS]
"""
import os
import signal
import sys
import time

from daemon_stage import Stage

CLIENTS = 4


def quiet(stage):
    """Stops the programs; true when none has work left, otherwise they go on."""
    jobs = stage.top()["jobs"]
    for job in jobs:
        os.kill(job["pid"], signal.SIGSTOP)
    time.sleep(0.2)
    if all(job["queues"] and not job["busy_queues"] for job in stage.top()["jobs"]):
        return True
    for job in jobs:
        os.kill(job["pid"], signal.SIGCONT)
    return False


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    stage = Stage("gpreemptd idle", sys.argv[1])
    server = stage.example("online_server")
    if not server:
        return 0
    with stage:
        stage.begin(stage.gpreemptd, "--act")
        for _ in range(CLIENTS):
            stage.begin(stage.gpreempt, "run", "--", server, "--rate", "1", "--seconds", "100000")
        stage.until(lambda: len(stage.top()["jobs"]) == CLIENTS, "the programs did not come")
        stage.until(lambda: quiet(stage), "the programs are never idle")
        used, _, took = stage.measure(seconds)
        for job in stage.top()["jobs"]:
            os.kill(job["pid"], signal.SIGCONT)
    print(f"gpreemptd idle, {CLIENTS} idle agent clients, {took:.0f} s: {used / 1e6:.3f} ms of CPU, "
          f"{used / took / 1e7:.6f} % of a core (aim: under 0.001 %)")
    return 0


sys.exit(main())
