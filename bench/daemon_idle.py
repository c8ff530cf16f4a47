#!/usr/bin/env python3
"""CPU that gpreemptd uses while four programs with an agent have nothing to do.

The programs run on a virtual GPU and are stopped (SIGSTOP) when their queues are drained, so that they
submit nothing. The figure is the kernel's own account of the daemon's run time (schedstat).

usage: bench/daemon_idle.py BUILD-DIRECTORY [SECONDS]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLIENTS = 4
LIMIT = 120


def main():
    build, seconds = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 60
    gpreempt = os.path.join(build, "bin", "gpreempt")
    server = os.path.join(build, "examples", "online_server")
    if not os.path.exists(server):
        print("gpreemptd idle: not measured, HIP is not installed")
        return 0
    place = tempfile.mkdtemp(prefix="gpb")
    os.mkdir(os.path.join(place, "sockets"), 0o700)
    env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=place, GPREEMPT_DIR=os.path.join(place, "sockets"))
    started = []

    def begin(*command):
        started.append(subprocess.Popen([gpreempt, "vgpu", "--", *command], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env=env))

    def top():
        done = subprocess.run([gpreempt, "top", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        return json.loads(done.stdout) if done.returncode == 0 else {"jobs": []}

    def until(condition, what):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"gpreemptd idle: {what}")
            time.sleep(0.1)

    def quiet():
        """Stops the programs; true when none has work left, otherwise they go on."""
        jobs = top()["jobs"]
        for job in jobs:
            os.kill(job["pid"], signal.SIGSTOP)
        time.sleep(0.2)
        if all(job["queues"] and not job["busy_queues"] for job in top()["jobs"]):
            return True
        for job in jobs:
            os.kill(job["pid"], signal.SIGCONT)
        return False

    try:
        subprocess.run([gpreempt, "vgpu", "start"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env,
                       check=True)
        begin(os.path.join(build, "bin", "gpreemptd"), "--act")
        for _ in range(CLIENTS):
            begin(gpreempt, "run", "--", server, "--rate", "1", "--seconds", "100000")
        until(lambda: len(top()["jobs"]) == CLIENTS, "the programs did not come")
        until(quiet, "the programs are never idle")
        pid = top()["pid"]
        time.sleep(0.5)
        first, start = run_time(pid), time.monotonic()
        time.sleep(seconds)
        used, took = run_time(pid) - first, time.monotonic() - start
        for job in top()["jobs"]:
            os.kill(job["pid"], signal.SIGCONT)
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()
        subprocess.run([gpreempt, "vgpu", "stop"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        shutil.rmtree(place, ignore_errors=True)
    print(f"gpreemptd idle, {CLIENTS} idle agent clients, {took:.0f} s: {used / 1e6:.3f} ms of CPU, "
          f"{used / took / 1e7:.6f} % of a core (aim: under 0.001 %)")
    return 0


def run_time(pid):
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0])


sys.exit(main())
