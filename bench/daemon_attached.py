#!/usr/bin/env python3
"""CPU that gpreemptd uses to watch the rings of two attached programs (no agent), at 1 kHz and 10 kHz.

Both run on a virtual GPU and have work all along; nobody is preempted (policy off), so that what is measured
is the reading. The figure is the kernel's own account of the daemon's run time (schedstat).

usage: bench/daemon_attached.py BUILD-DIRECTORY [SECONDS]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT = 120
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


def run_time(pid):
    """Nanoseconds on a CPU, and how often it got one."""
    with open(f"/proc/{pid}/schedstat") as file:
        used, _, times = map(int, file.read().split())
    return used, times


def until(condition, what):
    deadline = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"gpreemptd attached: {what}")
        time.sleep(0.1)


def main():
    build, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 10
    gpreempt = os.path.join(build, "bin", "gpreempt")
    trainer = os.path.join(build, "examples", "offline_trainer")
    if not os.path.exists(trainer):
        print("gpreemptd attached: not measured, HIP is not installed")
        return 0
    place = tempfile.mkdtemp(prefix="gpb")
    os.mkdir(os.path.join(place, "sockets"), 0o700)
    env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=place, GPREEMPT_DIR=os.path.join(place, "sockets"))
    started = []

    def begin(*command):
        started.append(subprocess.Popen([gpreempt, "vgpu", "--", *command], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=env))
        return started[-1]

    def quietly(*command):
        return subprocess.run([gpreempt, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)

    def top():
        done = quietly("top", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {"jobs": []}

    try:
        quietly("vgpu", "start", "--runtime-enable").check_returncode()
        for _ in range(2):
            begin(trainer, "--seconds", "100000")
        for name, interval in (("1 kHz", "1ms"), ("10 kHz", "100us")):
            path = os.path.join(place, "conf")
            with open(path, "w") as file:
                file.write(CONFIG.format(interval=interval))
            daemon = begin(os.path.join(build, "bin", "gpreemptd"), "--config", path)
            until(lambda: len([job for job in top()["jobs"] if job["attached"] and job["backlog"] is not None]) == 2,
                  "the programs are not attached")
            pid = top()["pid"]
            time.sleep(0.5)
            first, start = run_time(pid), time.monotonic()
            time.sleep(seconds)
            used, times = (now - before for now, before in zip(run_time(pid), first))
            took = time.monotonic() - start
            print(f"gpreemptd, 2 attached clients read at {name}, {took:.0f} s: {used / 1e6:.1f} ms of CPU, "
                  f"{used / took / 1e7:.2f} % of a core ({times / took:.0f} wakes a second)")
            daemon.terminate()
            daemon.wait()
            started.remove(daemon)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()
        quietly("release", "--all")
        quietly("vgpu", "stop")
        shutil.rmtree(place, ignore_errors=True)
    return 0


sys.exit(main())
