# SPDX-License-Identifier: MIT
"""libgpreempt through ctypes: where to find it, the structs of gpreempt.h and its function signatures."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import List

NAME = "libgpreempt.so.0"


class TargetOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("mechanism", c_int), ("gpu_id", c_uint32)]


class TargetInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("mechanism", c_int), ("process_count", c_uint32), ("priority", c_uint32),
                ("suspended", c_uint32), ("mine", c_uint32), ("owner_count", c_uint32), ("owner_pid", c_int32),
                ("since_ns", c_uint64), ("why", c_char * 256), ("copies", c_uint32)]


class QueueRecord(ctypes.Structure):
    _fields_ = [("pid", c_int32), ("gpu_id", c_uint32), ("valid", c_uint32), ("kfd_id", c_uint32),
                ("hsa_id", c_uint64), ("type", c_uint32), ("state", c_uint32), ("ring", c_uint64),
                ("ring_bytes", c_uint64), ("object", c_uint64), ("read_index", c_uint64), ("write_index", c_uint64),
                ("hardware_priority", c_uint32), ("logical_priority", c_uint32), ("busy", c_uint32),
                ("owner_pid", c_int32), ("since_ns", c_uint64)]


class SuspendOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("lease_ms", c_uint32), ("limit_ms", c_uint32), ("timeout_ms", c_uint32),
                ("grace", c_uint32), ("flags", c_uint32)]

    COPIES = 1  # GPREEMPT_SUSPEND_COPIES


class LatencyRecord(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("total_ns", c_uint64), ("issue_ns", c_uint64), ("driver_ns", c_uint64),
                ("skew_ns", c_uint64), ("queues", c_uint32), ("processes", c_uint32)]


class EventRecord(ctypes.Structure):
    _fields_ = [("kind", c_int), ("ticket", c_int32), ("result", c_int32), ("pid", c_int32), ("target", c_void_p)]


def _places() -> List[str]:
    """$GPREEMPT_LIBRARY if set; otherwise the build tree of a checkout, the installation prefix and the search path
    of the loader."""
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("GPREEMPT_LIBRARY")
    if named:
        return [named]
    beside = [os.path.join(here, *up, NAME) for up in
              (("..", "..", "build", "lib"), ("..", "..", ".."), ("..", "..", "..", "..", "lib"))]
    return [path for path in beside if os.path.exists(path)] + [NAME]


def _load() -> ctypes.CDLL:
    failures = []
    for place in _places():
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            failures.append(str(error))
    raise ImportError("cannot load libgpreempt; build it ('make'), install it or set GPREEMPT_LIBRARY: "
                      + "; ".join(failures))


lib = _load()

_SIGNATURES = {
    "gpreempt_open": (c_int, [POINTER(c_void_p)]),
    "gpreempt_close": (None, [c_void_p]),
    "gpreempt_error": (c_char_p, [c_void_p]),
    "gpreempt_mechanism_name": (c_char_p, [c_int]),
    "gpreempt_version": (c_char_p, []),
    "gpreempt_target_open": (c_int, [c_void_p, c_int, POINTER(TargetOptions), POINTER(c_void_p)]),
    "gpreempt_target_open_async": (c_int, [c_void_p, c_int, POINTER(TargetOptions), POINTER(c_void_p)]),
    "gpreempt_group_open": (c_int, [c_void_p, c_char_p, POINTER(TargetOptions), POINTER(c_void_p)]),
    "gpreempt_target_close": (None, [c_void_p]),
    "gpreempt_target_info": (c_int, [c_void_p, POINTER(TargetInfo)]),
    "gpreempt_target_queues": (c_int, [c_void_p, POINTER(QueueRecord), c_size_t]),
    "gpreempt_target_suspend": (c_int, [c_void_p, POINTER(SuspendOptions)]),
    "gpreempt_target_resume": (c_int, [c_void_p]),
    "gpreempt_target_suspend_queues": (c_int, [c_void_p, POINTER(c_uint32), c_size_t, POINTER(SuspendOptions)]),
    "gpreempt_target_resume_queues": (c_int, [c_void_p, POINTER(c_uint32), c_size_t]),
    "gpreempt_target_renew": (c_int, [c_void_p]),
    "gpreempt_target_latency": (c_int, [c_void_p, POINTER(LatencyRecord)]),
    "gpreempt_target_set_priority": (c_int, [c_void_p, c_uint32]),
    "gpreempt_target_share": (c_int, [c_void_p, c_uint32]),
    "gpreempt_target_suspend_async": (c_int, [c_void_p, POINTER(SuspendOptions)]),
    "gpreempt_target_resume_async": (c_int, [c_void_p]),
    "gpreempt_fd": (c_int, [c_void_p]),
    "gpreempt_next_event": (c_int, [c_void_p, POINTER(EventRecord)]),
    "gpreempt_request_begin": (c_int, [c_uint64]),
    "gpreempt_request_end": (c_int, []),
}

for _name, (_result, _arguments) in _SIGNATURES.items():
    _function = getattr(lib, _name)
    _function.restype = _result
    _function.argtypes = _arguments
