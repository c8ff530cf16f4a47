#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command on the virtual GPU that it is started on, and suspends and resumes it at random until it ends.

The exit status is that of the command. The last line on standard error says how often it was suspended.

usage: suspended.py COMMAND [ARGUMENT...]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import threading

GPREEMPT = os.path.join(os.environ.get("GP_BIN", "/gp/bin"), "gpreempt")
LONGEST_MS = 10  # of a suspension
APART_S = 0.04   # between two, at most
LIMIT = 60       # for a single call


class Suspender(threading.Thread):
    """Suspends every program with queues on the GPU for a few milliseconds, again and again, until stop()."""

    def __init__(self, env, name=None, seed=1):
        super().__init__(daemon=True)
        self.machine = ("--name", name) if name else ()
        self.env, self.values, self.over = env, random.Random(seed), threading.Event()
        self.count, self.error = 0, ""
        self.start()

    def call(self, *words):
        return subprocess.run([GPREEMPT, *words], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)

    def pids(self):
        """Of programs with work; one without a queue has nothing to suspend."""
        done = self.call("vgpu", "status", *self.machine, "--json")
        processes = json.loads(done.stdout)["processes"] if done.returncode == 0 else []
        return [process["pid"] for process in processes if any(queue["type"] in ("aql", "compute") for queue in process["queues"])]

    def run(self):
        pids = []
        while not self.over.wait(self.values.uniform(0, APART_S)):
            pids = pids or self.pids()
            for pid in pids:
                done = self.call("suspend", str(pid), "--for", f"{self.values.randint(1, LONGEST_MS)}ms")
                self.count += done.returncode == 0
                if done.returncode:
                    pids, self.error = [], done.stderr

    def stop(self):
        """How often it suspended."""
        self.over.set()
        self.join()
        return self.count


def main():
    with tempfile.TemporaryDirectory(prefix="gps") as sockets:
        env = dict(os.environ, GPREEMPT_DIR=sockets, GPREEMPT_HOLDER=os.path.join(os.path.dirname(GPREEMPT), "gpreempt-holder"))
        child = subprocess.Popen([GPREEMPT, "run", "--", *sys.argv[1:]], env=env)
        suspender = Suspender(env)
        status = child.wait()
        count = suspender.stop()
        subprocess.run([GPREEMPT, "release", "--all"], env=env, capture_output=True, check=False)
        print(f"suspended {count} times{'' if count else ': ' + suspender.error.strip()}", file=sys.stderr)
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
