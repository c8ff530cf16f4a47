# SPDX-License-Identifier: MIT
"""Contexts, targets and suspensions."""
from __future__ import annotations

import ctypes
import errno
import os
import threading
import weakref
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Sequence, Type, TypeVar, Union

from ._library import (EventRecord, LatencyRecord, QueueRecord, SuspendOptions, TargetInfo, TargetOptions, lib)
from .types import Error, Event, EventKind, Info, Latency, LeaseLost, Mechanism, Queue, QueueState

_T = TypeVar("_T", bound="_Closing")
_RENEWALS = 4  # in a lease


class _Closing:
    """An object with close() that works in a `with` statement."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: _T) -> _T:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _milliseconds(seconds: Optional[float]) -> int:
    """Converts a time; at least 1, because 0 selects the default of the library."""
    if seconds is None:
        return 0
    if not 0 < seconds < 2 ** 31 / 1000:
        raise ValueError(f"invalid time: {seconds} seconds")
    return max(1, round(seconds * 1000))


class Context(_Closing):
    """A connection to the holder, which is started if none is running. Safe to use from any thread."""

    def __init__(self) -> None:
        self._handle: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        # Weak, so that a Target which is not used any more lets go at once.
        self._targets: "weakref.WeakValueDictionary[int, Target]" = weakref.WeakValueDictionary()
        status = lib.gpreempt_open(ctypes.byref(self._handle))
        if status < 0:
            self._handle = None
            raise Error(-status, _text(lib.gpreempt_error(None)))

    def close(self) -> None:
        """Ends all suspensions of this context and closes its targets."""
        for target in list(self._targets.values()):
            target.close()
        handle, self._handle = self._handle, None
        if handle:
            lib.gpreempt_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def _live(self) -> ctypes.c_void_p:
        if not self._handle:
            raise ValueError("the context is closed")
        return self._handle

    def _check(self, status: int, kind: Type[Error] = Error) -> int:
        if status < 0:
            raise kind(-status, _text(lib.gpreempt_error(self._live())) or os.strerror(-status))
        return status

    def fileno(self) -> int:
        """A descriptor that is readable when events are pending; for select, selectors and add_reader() of asyncio."""
        return lib.gpreempt_fd(self._live())

    def events(self) -> Iterator[Event]:
        """Yields the pending events; does not wait."""
        record = EventRecord()
        while lib.gpreempt_next_event(self._live(), ctypes.byref(record)) == 1:
            yield Event(EventKind(record.kind), self._targets.get(record.target or 0), record.pid, record.ticket,
                        record.result)


class Target(_Closing):
    """A process (by pid) or a group (by name) whose GPU work can be suspended and resumed.

    Without `context`, the target opens a private one and closes it in close().
    """

    def __init__(self, target: Union[int, str], *, mechanism: Mechanism = Mechanism.AUTO, gpu_id: int = 0,
                 context: Optional[Context] = None) -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        self._own = context is None
        self.context = Context() if context is None else context
        options = TargetOptions(ctypes.sizeof(TargetOptions), mechanism, gpu_id)
        handle = ctypes.c_void_p()
        try:
            if isinstance(target, str):
                status = lib.gpreempt_group_open(self.context._live(), os.fsencode(target), ctypes.byref(options),
                                                 ctypes.byref(handle))
            else:
                status = lib.gpreempt_target_open(self.context._live(), target, ctypes.byref(options),
                                                  ctypes.byref(handle))
            self.context._check(status)
        except BaseException:
            if self._own:
                self.context.close()
            raise
        self._handle = handle
        self.context._targets[handle.value or 0] = self

    def close(self) -> None:
        """Ends the suspension of this target and closes it."""
        handle, self._handle = self._handle, None
        if handle:
            self.context._targets.pop(handle.value or 0, None)
            lib.gpreempt_target_close(handle)
            if self._own:
                self.context.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def _live(self) -> ctypes.c_void_p:
        if not self._handle:
            raise ValueError("the target is closed")
        return self._handle

    def info(self) -> Info:
        record = TargetInfo(ctypes.sizeof(TargetInfo))
        self.context._check(lib.gpreempt_target_info(self._live(), ctypes.byref(record)))
        return Info(Mechanism(record.mechanism), _text(record.why), record.process_count, record.priority,
                    bool(record.suspended), bool(record.mine), record.owner_count, record.owner_pid or None,
                    record.since_ns / 1e9 or None, bool(record.copies))

    def queues(self) -> List[Queue]:
        room = 64
        while True:
            records = (QueueRecord * room)()
            count = self.context._check(lib.gpreempt_target_queues(self._live(), records, room))
            if count <= room:
                return [_queue(record) for record in records[:count]]
            room = count

    def suspend(self, queues: Optional[Sequence[int]] = None, *, lease: Optional[float] = None,
                limit: Optional[float] = None, timeout: Optional[float] = None, grace: int = 0,
                copies: bool = False) -> int:
        """Suspends all queues, or those with the given KFD ids; returns the number of suspended queues.

        The caller must renew the lease (default 0.1 s); suspended() does that itself. With `copies`, copies between
        host and GPU stop as well on NVIDIA; on AMD they always do.
        """
        options = _options(lease, limit, timeout, grace, copies)
        if queues is None:
            return self.context._check(lib.gpreempt_target_suspend(self._live(), ctypes.byref(options)))
        ids = (ctypes.c_uint32 * len(queues))(*queues)
        return self.context._check(lib.gpreempt_target_suspend_queues(self._live(), ids, len(queues),
                                                                      ctypes.byref(options)))

    def resume(self, queues: Optional[Sequence[int]] = None) -> int:
        """Ends the suspension; returns the number of queues that run again."""
        if queues is None:
            return self.context._check(lib.gpreempt_target_resume(self._live()))
        ids = (ctypes.c_uint32 * len(queues))(*queues)
        return self.context._check(lib.gpreempt_target_resume_queues(self._live(), ids, len(queues)))

    def renew(self) -> None:
        """Renews the lease; raises LeaseLost if it has already ended."""
        status = lib.gpreempt_target_renew(self._live())
        self.context._check(status, LeaseLost if status == -errno.ENOLCK else Error)

    @contextmanager
    def suspended(self, queues: Optional[Sequence[int]] = None, *, lease: float = 1.0, limit: Optional[float] = None,
                  timeout: Optional[float] = None, grace: int = 0, copies: bool = False) -> Iterator["Suspension"]:
        """`with target.suspended():` suspends the target for the block, for at most `limit` seconds (default 2).

        A thread renews the lease. If the lease was lost anyway, LeaseLost is raised at the end of the block.
        """
        count = self.suspend(queues, lease=lease, limit=limit, timeout=timeout, grace=grace, copies=copies)
        suspension = Suspension(self, count, lease)
        try:
            yield suspension
        finally:
            suspension._end()
            self.resume(queues)
        if suspension.lost:
            raise suspension.lost

    def latency(self) -> Latency:
        record = LatencyRecord(ctypes.sizeof(LatencyRecord))
        self.context._check(lib.gpreempt_target_latency(self._live(), ctypes.byref(record)))
        return Latency(record.total_ns / 1e9, record.issue_ns / 1e9, record.driver_ns / 1e9, record.skew_ns / 1e9,
                       record.queues, record.processes)

    def set_priority(self, priority: int) -> None:
        self.context._check(lib.gpreempt_target_set_priority(self._live(), priority))

    def share(self, fraction: float) -> None:
        """Limits the target to a fraction of the compute units; 1 removes the limit."""
        self.context._check(lib.gpreempt_target_share(self._live(), round(fraction * 1000)))

    def suspend_async(self, *, lease: Optional[float] = None, limit: Optional[float] = None,
                      timeout: Optional[float] = None, grace: int = 0,
                      copies: bool = False) -> int:
        """Returns a ticket; an Event of kind DONE with that ticket reports completion."""
        options = _options(lease, limit, timeout, grace, copies)
        return self.context._check(lib.gpreempt_target_suspend_async(self._live(), ctypes.byref(options)))

    def resume_async(self) -> int:
        return self.context._check(lib.gpreempt_target_resume_async(self._live()))


class Suspension:
    """The value of `with target.suspended() as suspension`."""

    def __init__(self, target: Target, queues: int, lease: float) -> None:
        self.queues = queues
        self.lost: Optional[LeaseLost] = None
        self._target = target
        self._over = threading.Event()
        self._renewer = threading.Thread(target=self._renew, args=(lease / _RENEWALS,), daemon=True,
                                         name="gpreempt-renew")
        self._renewer.start()

    def _renew(self, interval: float) -> None:
        while not self._over.wait(interval):
            try:
                self._target.renew()
            except LeaseLost as error:
                self.lost = error
                return
            except Error as error:
                self.lost = LeaseLost(error.errno, error.strerror)
                return

    def _end(self) -> None:
        self._over.set()
        self._renewer.join()
        if self.lost is None:
            # The last moments count too.
            try:
                self._target.renew()
            except Error as error:
                self.lost = LeaseLost(error.errno, error.strerror)


def _text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")


def _options(lease: Optional[float], limit: Optional[float], timeout: Optional[float], grace: int,
             copies: bool) -> SuspendOptions:
    return SuspendOptions(ctypes.sizeof(SuspendOptions), _milliseconds(lease), _milliseconds(limit),
                          _milliseconds(timeout), grace, SuspendOptions.COPIES if copies else 0)


def _queue(record: QueueRecord) -> Queue:
    def known(bit: int, value: int) -> Optional[int]:
        return value if record.valid & 1 << bit else None

    busy = known(6, record.busy)
    return Queue(pid=record.pid, gpu_id=record.gpu_id, type=record.type, state=QueueState(record.state),
                 logical_priority=record.logical_priority, kfd_id=known(0, record.kfd_id),
                 hsa_id=known(1, record.hsa_id), ring=known(2, record.ring), ring_bytes=known(2, record.ring_bytes),
                 object=known(3, record.object), read_index=known(4, record.read_index),
                 write_index=known(4, record.write_index), hardware_priority=known(5, record.hardware_priority),
                 busy=None if busy is None else bool(busy), owner_pid=record.owner_pid or None,
                 since=record.since_ns / 1e9 or None)


@contextmanager
def request(deadline: Optional[float] = None) -> Iterator[None]:
    """Announces a request to the agent in this process, to be completed within `deadline` seconds.

    Does nothing in a program that was not started with `gpreempt run`.
    """
    lib.gpreempt_request_begin(0 if deadline is None else max(1, round(deadline * 1e6)))
    try:
        yield
    finally:
        lib.gpreempt_request_end()


def version() -> str:
    return _text(lib.gpreempt_version())
