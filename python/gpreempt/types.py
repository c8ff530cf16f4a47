# SPDX-License-Identifier: MIT
"""Enumerations and records of the package. Times are in seconds; unknown values are None."""
from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .core import Target


class Error(OSError):
    """A failed call: `errno` is its kind, `strerror` the message of the library."""


class LeaseLost(Error):
    """The suspension ended early: the limit was reached, it was released, or the holder exited."""


class Mechanism(enum.IntEnum):
    AUTO = 0
    KFD_AGENT = 1
    KFD_DEBUG = 2
    KFD_MODULE = 3
    NV_SUSPEND = 4


class QueueState(enum.IntEnum):
    RUNNING = 0
    SUSPENDED = 1
    ERROR = 2


class EventKind(enum.IntEnum):
    DONE = 1
    LEASE_LOST = 2
    GONE = 3
    JOINED = 4
    QUEUES = 5
    BREAKER = 6
    HELD_ELSEWHERE = 7


PRIORITY_OFFLINE = 500
PRIORITY_DEFAULT = 1000
PRIORITY_ONLINE = 2000


@dataclass(frozen=True)
class Queue:
    pid: int
    gpu_id: int
    type: int
    state: QueueState
    logical_priority: int
    kfd_id: Optional[int]
    hsa_id: Optional[int]
    ring: Optional[int]
    ring_bytes: Optional[int]
    object: Optional[int]
    read_index: Optional[int]
    write_index: Optional[int]
    hardware_priority: Optional[int]
    busy: Optional[bool]
    owner_pid: Optional[int]
    since: Optional[float]  # time.monotonic() of the suspension


@dataclass(frozen=True)
class Info:
    mechanism: Mechanism
    why: str
    process_count: int
    priority: int
    suspended: bool
    mine: bool
    owner_count: int
    owner_pid: Optional[int]
    since: Optional[float]  # time.monotonic() of the suspension
    copies: bool = False  # suspended with its copy engines


@dataclass(frozen=True)
class Latency:
    total: float
    issue: float
    driver: float
    skew: float
    queues: int
    processes: int


@dataclass(frozen=True)
class Event:
    kind: EventKind
    target: Optional["Target"]
    pid: int
    ticket: int
    result: int
