# SPDX-License-Identifier: MIT
"""What the tests on the fake resource manager share."""
import ctypes
import os
import subprocess

LIMIT = 60


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
