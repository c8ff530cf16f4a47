#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A minimal use of libgpreempt_poc: suspends all GPU queues of a process for a while, shows them, and resumes them
where they stopped."""
import argparse
import sys
import time

from poc_library import Poc, PocError


def show(poc, pid, title):
    print(f"{title}:")
    for queue in poc.queues(pid):
        work = {True: "has work", False: "idle", None: "activity unknown"}[queue.has_work()]
        state = f"suspended by process {queue.suspended_by}" if queue.is_suspended else "running"
        print(f"  queue {queue.queue_id} on GPU {queue.gpu_id:x}: {state}, {work}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pid", type=int)
    parser.add_argument("seconds", type=float, nargs="?", default=1.0, help="how long to suspend the queues (default 1)")
    options = parser.parse_args()
    pid, seconds = options.pid, options.seconds
    if not 0 <= seconds < 3600:
        parser.error("seconds must be 0 to 3599")
    try:
        with Poc(limit_s=seconds + 1) as poc:
            show(poc, pid, "before")
            count, took = poc.suspend(pid)
            print(f"queues suspended: {count}, in {took * 1e3:.3f} ms")
            show(poc, pid, "while suspended")
            time.sleep(seconds)
            count, took = poc.resume(pid)
            print(f"queues resumed: {count}, in {took * 1e3:.3f} ms")
            show(poc, pid, "after")
    except PocError as error:
        sys.exit(f"test_preemption_simple.py: {error.strerror or error}")


if __name__ == "__main__":
    main()
