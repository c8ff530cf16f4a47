#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU that gpreemptd uses to watch the rings of two attached programs (no agent), at 1 kHz and 10 kHz.

Both run on a virtual GPU and always have work. The policy is off, so that only the reading is measured. The figure
is the run time of the daemon as the kernel counts it (schedstat).

usage: bench/daemon_attached.py BUILD-DIRECTORY [SECONDS]
"""
import os
import sys

from daemon_stage import Stage

CONFIG = """[daemon]
mode = act
read_slowest = {interval}
read_fastest = {interval}
[device *]
policy = off
[rule all]
executable = *
attach = yes
"""


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    stage = Stage("gpreemptd attached", sys.argv[1], "--runtime-enable")
    trainer = stage.example("offline_trainer")
    if not trainer:
        return 0

    def attached():
        return len([job for job in stage.top()["jobs"] if job["attached"] and job["backlog"] is not None])

    with stage:
        for _ in range(2):
            stage.begin(trainer, "--seconds", "100000")
        for name, interval in (("1 kHz", "1ms"), ("10 kHz", "100us")):
            path = os.path.join(stage.place, "conf")
            with open(path, "w") as file:
                file.write(CONFIG.format(interval=interval))
            daemon = stage.begin(stage.gpreemptd, "--config", path)
            stage.until(lambda: attached() == 2, "the programs are not attached")
            used, times, took = stage.measure(seconds)
            print(f"gpreemptd, 2 attached clients read at {name}, {took:.0f} s: {used / 1e6:.1f} ms of CPU, "
                  f"{used / took / 1e7:.2f} % of a core ({times / took:.0f} wakes a second)")
            stage.end(daemon)
    return 0


sys.exit(main())
