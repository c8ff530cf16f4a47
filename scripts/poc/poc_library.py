# SPDX-License-Identifier: MIT
"""libgpreempt_poc.so through ctypes alone: the four calls of the proof of concept, and what goes with them."""
import ctypes
import os
import shlex
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VALID_POINTERS = 1 << 4
VALID_ACTIVITY = 1 << 6
QUEUES_MAX = 1024


class QueueStatus(ctypes.Structure):
    """struct gpreempt_poc_queue_status of libgpreempt_poc.h."""
    _fields_ = [("queue_id", ctypes.c_uint32), ("gpu_id", ctypes.c_uint32), ("pid", ctypes.c_int32),
                ("valid", ctypes.c_uint32), ("is_suspended", ctypes.c_uint32), ("is_active", ctypes.c_uint32),
                ("ring_address", ctypes.c_uint64), ("rptr", ctypes.c_uint64), ("wptr", ctypes.c_uint64),
                ("priority", ctypes.c_uint32), ("suspended_by", ctypes.c_int32),
                ("suspended_since_ns", ctypes.c_uint64)]

    def has_work(self):
        """True, False, or None where it cannot be known."""
        if self.valid & VALID_ACTIVITY:
            return bool(self.is_active)
        if self.valid & VALID_POINTERS and self.rptr != self.wptr:
            return True
        # A read index that has caught up does not say that the last packet is done.
        return None


class PocError(OSError):
    """The error of the library."""


def find(name, *places):
    """The first of the places under the checkout or an installation that has a file."""
    for place in places:
        path = os.path.normpath(os.path.join(HERE, place, name))
        if os.path.exists(path):
            return path
    return None


def quoted(command):
    """The words of a command as typed; shlex.join() came with Python 3.8."""
    return " ".join(shlex.quote(word) for word in command)


class Poc:
    """The library, ready to use. `with Poc() as poc:` releases everything at the end."""

    def __init__(self, limit_s=2.0):
        path = os.environ.get("GPREEMPT_POC_LIBRARY") or find("libgpreempt_poc.so", "../../build/lib",
                                                              "../../lib", "../../../../lib") or "libgpreempt_poc.so"
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise PocError(f"cannot load libgpreempt_poc.so ({error}); run make, or set GPREEMPT_POC_LIBRARY to its path")
        self.library.gpreempt_poc_error.restype = ctypes.c_char_p
        self.entries = (QueueStatus * QUEUES_MAX)()
        self.check(self.library.gpreempt_poc_set_limit(int(limit_s * 1000)))
        self.check(self.library.gpreempt_poc_init())

    def reopen(self):
        """Looks at every process anew: one that was young may have got an agent meanwhile."""
        self.library.gpreempt_poc_close()
        self.check(self.library.gpreempt_poc_init())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.library.gpreempt_poc_close()

    def check(self, status):
        if status < 0:
            raise PocError(-status, (self.library.gpreempt_poc_error() or b"").decode("utf-8", "replace"))
        return status

    def suspend(self, pid, grace=0):
        """Stops all queues of a process; (queues, seconds the call took)."""
        start = time.monotonic()
        count = self.check(self.library.gpreempt_suspend_queues(pid, None, 0, grace))
        return count, time.monotonic() - start

    def resume(self, pid):
        start = time.monotonic()
        count = self.check(self.library.gpreempt_resume_queues(pid, None, 0))
        return count, time.monotonic() - start

    def queues(self, pid):
        count = self.check(self.library.gpreempt_get_queue_status(pid, self.entries, QUEUES_MAX))
        return self.entries[:min(count, QUEUES_MAX)]

    def has_work(self, pid):
        """Whether a process has GPU work that is not known to be done; None when no queue of it says."""
        known = [queue.has_work() for queue in self.queues(pid)]
        if any(known):
            return True
        return False if False in known else None
