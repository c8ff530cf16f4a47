# SPDX-License-Identifier: MIT
"""gpreempt: stop and continue GPU work of other processes, without losing any of it.

    from gpreempt import Target

    with Target(pid).suspended():
        ...                 # the GPU is ours; the other process continues afterwards, where it stopped

A thin, typed layer over libgpreempt (gpreempt.h has the whole story); no compiled extension.
"""
from .core import Context, Suspension, Target, request, version
from .types import (PRIORITY_DEFAULT, PRIORITY_OFFLINE, PRIORITY_ONLINE, Error, Event, EventKind, Info, Latency,
                    LeaseLost, Mechanism, Queue, QueueState)

__all__ = ["PRIORITY_DEFAULT", "PRIORITY_OFFLINE", "PRIORITY_ONLINE", "Context", "Error", "Event", "EventKind", "Info",
           "Latency", "LeaseLost", "Mechanism", "Queue", "QueueState", "Suspension", "Target", "request", "version"]
