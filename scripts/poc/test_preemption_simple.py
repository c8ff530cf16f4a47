#!/usr/bin/env python3
"""test_preemption_simple.py PID [SECONDS]: the smallest use of libgpreempt_poc.

Stops all GPU queues of a process for SECONDS (1), shows them, and lets them continue where they stopped.
"""
import sys
import time

from poc_library import Poc, PocError


def show(poc, pid, title):
    print(f"{title}:")
    for queue in poc.queues(pid):
        work = {True: "has work", False: "idle", None: "work unknown"}[queue.has_work()]
        state = f"suspended by {queue.suspended_by}" if queue.is_suspended else "running"
        print(f"  queue {queue.queue_id} on GPU {queue.gpu_id:x}: {state}, {work}")


def main():
    if len(sys.argv) not in (2, 3) or not sys.argv[1].isdigit():
        sys.exit(__doc__.strip())
    pid, seconds = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) == 3 else 1.0
    try:
        with Poc(limit_s=seconds + 1) as poc:
            show(poc, pid, "before")
            count, took = poc.suspend(pid)
            print(f"suspended {count} queues in {took * 1e3:.3f} ms")
            show(poc, pid, "meanwhile")
            time.sleep(seconds)
            count, took = poc.resume(pid)
            print(f"resumed {count} queues in {took * 1e3:.3f} ms")
            show(poc, pid, "after")
    except PocError as error:
        sys.exit(f"test_preemption_simple.py: {error.strerror or error}")


if __name__ == "__main__":
    main()
