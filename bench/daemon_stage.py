# SPDX-License-Identifier: MIT
"""Set-up of the daemon benchmarks: a virtual GPU, gpreemptd and programs, in a separate directory."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 120


def run_time(pid):
    """Nanoseconds on a CPU, and how often it got one: the kernel's own account."""
    with open(f"/proc/{pid}/schedstat") as file:
        used, _, times = map(int, file.read().split())
    return used, times


class Stage:
    """Programs of a build tree on a virtual GPU. Leaving it ends everything that was begun."""

    def __init__(self, name, build, *vgpu):
        self.name, self.build, self.vgpu = name, os.path.abspath(build), vgpu
        self.gpreempt, self.gpreemptd = self.program("bin", "gpreempt"), self.program("bin", "gpreemptd")
        self.started = []

    def program(self, *parts):
        return os.path.join(self.build, *parts)

    def example(self, name):
        """The path of an example, or None, with a message, if it was not built because HIP is missing."""
        path = self.program("examples", name)
        if os.path.exists(path):
            return path
        print(f"{self.name}: not measured, HIP is not installed")
        return None

    def __enter__(self):
        self.place = tempfile.mkdtemp(prefix="gpb")
        sockets = os.path.join(self.place, "sockets")
        os.mkdir(sockets, 0o700)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, GPREEMPT_DIR=sockets)
        try:
            self.quietly("vgpu", "start", *self.vgpu).check_returncode()
        except BaseException:
            shutil.rmtree(self.place, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        for process in reversed(self.started):
            process.terminate()
            process.send_signal(signal.SIGCONT)  # it may be stopped
        for process in self.started:
            process.wait()
        self.quietly("release", "--all")
        self.quietly("vgpu", "stop")
        shutil.rmtree(self.place, ignore_errors=True)

    def quietly(self, *command):
        return subprocess.run([self.gpreempt, *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env)

    def begin(self, *command):
        """A program on the virtual GPU."""
        self.started.append(subprocess.Popen([self.gpreempt, "vgpu", "--", *command], stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, env=self.env))
        return self.started[-1]

    def end(self, process):
        process.terminate()
        process.wait()
        self.started.remove(process)

    def top(self):
        done = self.quietly("top", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {"jobs": []}

    def until(self, condition, what):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                raise SystemExit(f"{self.name}: {what}")
            time.sleep(0.1)

    def measure(self, seconds):
        """Nanoseconds of CPU that the daemon used, how often it got one, and the seconds that went by."""
        pid = self.top()["pid"]
        time.sleep(0.5)
        first, start = run_time(pid), time.monotonic()
        time.sleep(seconds)
        used, times = (now - before for now, before in zip(run_time(pid), first))
        return used, times, time.monotonic() - start
