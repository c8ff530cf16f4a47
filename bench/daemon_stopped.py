#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How soon gpreemptd records that a busy program was stopped, by each means that stops one: SIGSTOP, Ctrl-Z of a terminal,
ptrace, the freezers of control groups v1 and v2, and `podman pause` (the time of the command is included).

usage: bench/daemon_stopped.py BUILD-DIRECTORY [STOPS]     (default 6 of each; needs root for the freezers and podman)
"""
import ctypes
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time

from daemon_stage import LIMIT, Stage

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
FREEZERS = (("cgroup v1 freezer", "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN", "THAWED"),
            ("cgroup v2 freezer", "/sys/fs/cgroup/unified", "cgroup.freeze", "1", "0"),
            ("cgroup v2 freezer", "/sys/fs/cgroup", "cgroup.freeze", "1", "0"))


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class Signals:
    name = "SIGSTOP"

    def __init__(self, pid):
        self.pid = pid

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.pid, signal.SIGCONT)

    def end(self):
        pass


class Ptrace(Signals):
    """All calls come from one thread: the tracer."""
    name = "ptrace"

    def __init__(self, pid):
        super().__init__(pid)
        self.libc, self.wanted, self.done = ctypes.CDLL(None, use_errno=True), threading.Event(), threading.Event()
        self.libc.ptrace.argtypes = [ctypes.c_long] * 4
        self.seized = []

    def stop(self):
        for thread in map(int, os.listdir(f"/proc/{self.pid}/task")):
            if self.libc.ptrace(PTRACE_SEIZE, thread, 0, 0) == 0 and self.libc.ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0:
                self.seized.append(thread)

    def go_on(self):
        for thread in self.seized:
            os.waitpid(thread, 0x40000000)  # __WALL
            self.libc.ptrace(PTRACE_DETACH, thread, 0, 0)
        self.seized = []


class Freezer(Signals):
    def __init__(self, pid, name, root, state, frozen, thawed):
        super().__init__(pid)
        self.name, self.words = name, (frozen, thawed)
        self.root, self.group = root, os.path.join(root, f"gpreempt-bench-{os.getpid()}")
        os.mkdir(self.group)
        self.state = os.path.join(self.group, state)
        if not os.path.exists(self.state):
            os.rmdir(self.group)
            raise OSError("no freezer")
        write(os.path.join(self.group, "cgroup.procs"), str(pid))

    def stop(self):
        write(self.state, self.words[0])

    def go_on(self):
        write(self.state, self.words[1])

    def end(self):
        write(os.path.join(self.root, "cgroup.procs"), str(self.pid))
        os.rmdir(self.group)


class Measure:
    def __init__(self, stage, pid, stops):
        self.stage, self.pid, self.stops = stage, pid, stops

    def lines(self, why):
        done = self.stage.quietly("log", "--json", "--all", "--each")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line for line in lines if line["why"] == why and line["job"] and line["job"]["pid"] == self.pid]

    def wait(self, why, after_ns):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            late = [line["monotonic_ns"] for line in self.lines(why) if line["monotonic_ns"] > after_ns]
            if late:
                return late[0]
            time.sleep(0.02)
        raise SystemExit(f"gpreemptd records no '{why}' of process {self.pid}")

    def run(self, means):
        times = []
        for i in range(self.stops):
            time.sleep(0.3 + 0.07 * i)  # at another time of the daemon's looks
            begin = time.monotonic_ns()
            means.stop()
            times.append((self.wait("absent", begin) - begin) / 1e6)
            begin = time.monotonic_ns()
            means.go_on()
            self.wait("present", begin)
        times.sort()
        print(f"{means.name}: recorded as stopped after {times[len(times) // 2]:.0f} ms (median), {times[-1]:.0f} ms (at most) of "
              f"{self.stops}, host load {os.getloadavg()[0]:.0f}", flush=True)


def means_of(pid):
    yield lambda: Signals(pid)
    yield lambda: Ptrace(pid)
    for freezer in FREEZERS:
        yield lambda freezer=freezer: Freezer(pid, *freezer)


class CtrlZ(Signals):
    name = "Ctrl-Z"

    def __init__(self, pid, leader):
        super().__init__(pid)
        self.leader = leader

    def stop(self):
        os.write(self.leader, b"\x1a")

    def go_on(self):
        os.write(self.leader, b"fg\n")


class Pause(Signals):
    name = "podman pause"

    def __init__(self, pid, podman, container):
        super().__init__(pid)
        self.podman, self.container = podman, container

    def stop(self):
        self.podman("pause", self.container)

    def go_on(self):
        self.podman("unpause", self.container)


def swallow(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass


def child_named(pid, name):
    """The first descendant with that name, or None."""
    try:
        with open(f"/proc/{pid}/comm") as file:
            if file.read().strip() == name:
                return pid
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return next(filter(None, (child_named(int(child), name) for child in file.read().split())), None)
    except OSError:
        return None


def until_child(stage, pid, name):
    found = []
    stage.until(lambda: found.append(child_named(pid, name)) or found[-1], f"{name} did not start")
    return found[-1]


def works(stage, pid):
    stage.until(lambda: any(job["pid"] == pid and job["busy_queues"] for job in stage.top()["jobs"]), "no program works")


def on_terminal(stage, trainer, stops):
    """Under the job control of a shell."""
    shell, leader = pty.fork()
    if not shell:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], dict(stage.env, PS1=""))
    threading.Thread(target=swallow, args=(leader,), daemon=True).start()
    os.write(leader, f"{stage.gpreempt} vgpu -- {stage.gpreempt} run --class offline -- {trainer} --seconds 10000\n".encode())
    pid = until_child(stage, shell, "offline_trainer")
    try:
        works(stage, pid)
        Measure(stage, pid, stops).run(CtrlZ(pid, leader))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.kill(shell, signal.SIGKILL)
        os.waitpid(shell, 0)
        os.close(leader)


def in_podman(stage, trainer, stops):
    if not shutil.which("podman") or os.geteuid():
        print("podman pause: not measured, podman is not installed or this is not root")
        return
    root, storage = os.path.join(stage.place, "root"), os.path.join(stage.place, "storage.conf")
    for name in ("usr", "tmp", "proc", "sys", "dev", "etc", "run"):
        os.makedirs(os.path.join(root, name))
    for name in ("bin", "lib", "lib64", "sbin"):
        os.symlink(os.path.join("usr", name), os.path.join(root, name))
    shutil.copy("/etc/ld.so.cache", os.path.join(root, "etc"))
    write(storage, f'[storage]\ndriver = "vfs"\ngraphroot = "{stage.place}/graph"\nrunroot = "{stage.place}/containers"\n')
    env, name = dict(stage.env, CONTAINERS_STORAGE_CONF=storage), f"gpreempt-bench-{os.getpid()}"

    def podman(*words):
        return subprocess.run(["podman", "--runtime", "runc", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
    process = subprocess.Popen(
        ["podman", "--runtime", "runc", "run", "--rm", "--name", name, "--network=none", "--ulimit", "nofile=1024:1024", "--ulimit",
         "nproc=1024:1024", "-v", "/usr:/usr:ro", "-v", f"{stage.build}:{stage.build}:ro", "-v", f"{stage.place}:{stage.place}",
         "-e", f"GPREEMPT_DIR={stage.env['GPREEMPT_DIR']}", "-e", f"XDG_RUNTIME_DIR={stage.place}", "--rootfs", root, stage.gpreempt,
         "vgpu", "--", stage.gpreempt, "run", "--class", "offline", "--", trainer, "--seconds", "10000"],
        env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        stage.until(lambda: podman("inspect", "-f", "{{.State.Pid}}", name).stdout.strip().isdigit(), "the container did not start")
        pid = until_child(stage, int(podman("inspect", "-f", "{{.State.Pid}}", name).stdout), "offline_trainer")
        works(stage, pid)
        Measure(stage, pid, stops).run(Pause(pid, podman, name))
    finally:
        podman("unpause", name)
        podman("rm", "-f", "-t", "0", name)
        process.wait()


def main():
    stops = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    stage = Stage("stopped programs", sys.argv[1])
    trainer = stage.example("offline_trainer")
    if not trainer:
        return 0
    with stage:
        stage.begin(stage.gpreemptd, "--observe")
        program = stage.begin(stage.gpreempt, "run", "--class", "offline", "--", trainer, "--seconds", "10000")
        pid = until_child(stage, program.pid, "offline_trainer")
        works(stage, pid)
        for make in means_of(pid):
            try:
                means = make()
            except OSError:
                continue
            try:
                Measure(stage, pid, stops).run(means)
            finally:
                means.end()
        stage.end(program)
        on_terminal(stage, trainer, stops)
        in_podman(stage, trainer, stops)
    return 0


if __name__ == "__main__":
    sys.exit(main())
