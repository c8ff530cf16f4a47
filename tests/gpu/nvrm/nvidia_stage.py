# SPDX-License-Identifier: MIT
"""What the tests on the fake resource manager share."""
import ctypes
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

LIMIT = 60
BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
ACT = "[daemon]\nmode = act\nstand_down = no\noperation_timeout = 30s\nlease = 10s\nscan_interval = 100ms\n"
DEFAULT_US = 2048


def slice_us(part, whole):
    """The slice that makes a share beside a program with the driver's slice."""
    thousandths = part * 1000 // whole
    return DEFAULT_US * thousandths // (1000 - thousandths)


OFFLINE_US, ONLINE_US = slice_us(1, 65), slice_us(64, 65)  # priorities 500 and 2000: one to 64


class Asked:
    """A program that answers a line with a line."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.first = self.process.stdout.readline().strip()

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(LIMIT)
        self.process.stdout.close()


def may_copy_descriptors(pid):
    """Whether this machine lets one process copy another's descriptors."""
    fd = os.pidfd_open(pid)
    copy = ctypes.CDLL(None, use_errno=True).syscall(438, fd, 0, 0)  # pidfd_getfd
    os.close(fd)
    if copy >= 0:
        os.close(copy)
    return copy >= 0


def lifelines_of(place):
    """pidfds of the lifelines of the holder in this directory: its environment names it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fd = os.pidfd_open(int(pid))
            with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/environ", "rb") as environ:
                if comm.read() == "gp-lifeline\n" and f"GPREEMPT_DIR={place}".encode() in environ.read().split(b"\0"):
                    found.append(fd)
                    continue
            os.close(fd)
        except OSError:
            pass
    return found


class DaemonStage(unittest.TestCase):
    """gpreemptd, CUDA programs and the fake resource manager under them."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpn")
        self.keeper = Asked(os.environ["GP_FAKE_KEEPER"])
        self.env = dict(os.environ, LC_ALL="C.UTF-8", GPREEMPT_DIR=self.place, XDG_RUNTIME_DIR=self.place,
                        GPREEMPT_FAKE_NVIDIA=self.keeper.first, LD_PRELOAD=os.environ["GP_FAKE_PRELOAD"])
        self.env.pop("LANGUAGE", None)
        self.programs, self.daemon = [], None
        if not may_copy_descriptors(os.getpid()):
            self.tearDown()
            self.skipTest("pidfd_getfd is not allowed on this machine")

    def tearDown(self):
        for program in self.programs:
            if program.process.poll() is None:
                program.close()
        try:
            if self.daemon and self.daemon.poll() is None:
                self.stop_daemon()
            elif self.daemon:
                self.daemon.stdout.close()
        finally:
            self.gpreempt("release", "--all")
            self.keeper.close()
            shutil.rmtree(self.place, ignore_errors=True)

    def gpreempt(self, *arguments):
        return subprocess.run([GPREEMPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.env, timeout=LIMIT)

    def start_daemon(self, config=ACT):
        path = os.path.join(self.place, "gpreemptd.conf")
        with open(path, "w") as file:
            file.write(config)
        self.daemon = subprocess.Popen([os.path.join(BIN, "gpreemptd"), "--config", path], env=self.env,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until(lambda: self.gpreempt("top", "--once").returncode == 0, "no daemon")

    def program(self, *run, executable=os.environ["GP_FAKE_TARGET"], first="context"):
        """A CUDA program with one context; under `gpreempt run` when given its options."""
        command = [executable, self.keeper.first, "libc"]
        program = Asked(*([GPREEMPT, "run", *run, "--", *command] if run else command), env=self.env)
        self.programs.append(program)
        self.assertEqual(program.ask(first), "ok 0")
        return program

    def stop_daemon(self):
        """What it printed."""
        self.daemon.terminate()
        return self.daemon_ended()

    def daemon_ended(self):
        """It was asked to end, and ends as it should: what it printed."""
        daemon, self.daemon = self.daemon, None
        text, _ = daemon.communicate(timeout=LIMIT)
        self.assertEqual(daemon.returncode, 0, text)
        return text

    def with_metrics(self, config=ACT):
        """The configuration with a port that nothing uses."""
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        return config + f"metrics_port = {self.port}\n"

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=LIMIT) as answer:
            return answer.read().decode()

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                self.fail("\n".join([message, self.keeper.ask("slices")] + [
                    self.gpreempt(*command).stdout for command in (("top", "--once"), ("log", "--all"))]))
            time.sleep(0.02)

    def slices(self):
        return [int(us) for us in self.keeper.ask("slices").split()]

    def jobs(self):
        return json.loads(self.gpreempt("top", "--json").stdout)["jobs"]
