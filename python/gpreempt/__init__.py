# SPDX-License-Identifier: MIT
"""gpreempt: suspend and resume the GPU work of other processes without losing any of it.

    from gpreempt import Target

    with Target(pid).suspended():
        ...                 # the GPU is free; afterwards the other process continues where it stopped

A thin, typed layer over libgpreempt (documented in gpreempt.h), without a compiled extension.
"""
from .core import Context, Suspension, Target, request, version
from .types import (PRIORITY_DEFAULT, PRIORITY_OFFLINE, PRIORITY_ONLINE, Error, Event, EventKind, Info, Latency,
                    LeaseLost, Mechanism, Queue, QueueState)

__all__ = ["PRIORITY_DEFAULT", "PRIORITY_OFFLINE", "PRIORITY_ONLINE", "Context", "Error", "Event", "EventKind", "Info",
           "Latency", "LeaseLost", "Mechanism", "Queue", "QueueState", "Suspension", "Target", "request", "version"]
