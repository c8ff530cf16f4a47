#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Preempts an offline task whenever an online one has work, and reports the effect.

Starts both tasks, or attaches to running ones. At first it only observes the online task; then it suspends the
offline task whenever the online task has work, and resumes it when the online task is idle. Uses only
libgpreempt_poc.so. With --vgpu, everything runs on a virtual GPU, with the examples as tasks.
"""
import argparse
import errno
import os
import signal
import sys
import time

import poc_report
from poc_library import Poc, PocError
from poc_tasks import Task, gpreempt

READY_S = 120  # how long a task may take to create its first queue


class Run:
    """Actions and observations of a run. Times are time.monotonic()."""

    def __init__(self, poc, online, offline, options):
        self.poc, self.online, self.offline, self.options = poc, online, offline, options
        self.tasks = [online, offline]
        self.virtual = bool(os.environ.get("GPREEMPT_VGPU"))
        self.spans = {"online": [], "stopped": []}
        self.queues = {}
        self.suspends, self.resumes = [], []  # (when, queues, seconds the call took)
        self.busy_since = self.stopped_since = None
        self.lost = self.yields = self.samples = 0
        self.start = self.switched = self.end = time.monotonic()
        self.interrupted = False

    def phase_of(self, when):
        return "baseline" if when < self.switched else "preempt"

    def phase_length(self, phase):
        return self.switched - self.start if phase == "baseline" else self.end - self.switched

    def measured(self):
        """The times of the online task: its own record of requests, or otherwise its busy periods as seen from here."""
        return "busy" if self.online.requests() is None else "requests"

    def latencies(self, phase):
        """In milliseconds, of what arrived in a phase. A request that began before preemption did may end in it."""
        times = self.online.requests() if self.measured() == "requests" else self.spans["online"]
        return [1e3 * (end - start) for start, end in times
                if self.start <= start < self.end and self.phase_of(start) == phase]

    def is_ready(self, task):
        """Whether a task has queues and, for the online task, whether it serves and its work can be seen."""
        try:
            if task.requests() == [] or not self.poc.queues(task.pid):
                return False
            return task is self.offline or self.poc.has_work(task.pid) is not None
        except PocError as error:
            # The caller finds out whether the task has ended.
            if error.errno in (errno.ENODEV, errno.ENOENT, errno.EAGAIN, errno.EOPNOTSUPP, errno.ESRCH):
                return False
            raise

    def await_ready(self):
        end = time.monotonic() + READY_S
        while not all(self.is_ready(task) for task in self.tasks):
            for task in self.tasks:
                if not task.runs():
                    raise PocError(errno.ESRCH, f"the {task.role} task ended before it used the GPU "
                                                f"({'; '.join(task.last_lines(1)) or task.command})")
            if time.monotonic() > end:
                raise PocError(errno.ETIME, f"after {READY_S} s, a task still has no queues, or the work of the online task "
                                            "is not visible; start it with 'gpreempt run --class online -- COMMAND'")
            time.sleep(0.05)
            self.poc.reopen()
        self.poc.reopen()
        self.queues = {task.role: [{"queue_id": queue.queue_id, "gpu_id": queue.gpu_id,
                                    "ring": hex(queue.ring_address) if queue.ring_address else None}
                                   for queue in self.poc.queues(task.pid)] for task in self.tasks}

    def note_online(self, busy, now):
        if busy and self.busy_since is None:
            self.busy_since = now
        elif not busy and self.busy_since is not None:
            self.spans["online"].append((self.busy_since, now))
            self.busy_since = None

    def stop_offline(self):
        now = time.monotonic()
        count, took = self.poc.suspend(self.offline.pid)
        self.suspends.append((now, count, took))
        self.stopped_since = now + took

    def continue_offline(self):
        now = time.monotonic()
        count, took = self.poc.resume(self.offline.pid)
        self.resumes.append((now, count, took))
        # None ran because of it: they ran already, the lease having ended.
        self.lost += count == 0 and self.suspends[-1][1] > 0
        self.spans["stopped"].append((self.stopped_since, now))
        self.stopped_since = None

    def decide(self, busy, now):
        if busy and self.stopped_since is None:
            self.stop_offline()
        elif not busy and self.stopped_since is not None:
            self.continue_offline()
        elif self.stopped_since is not None and now - self.stopped_since > self.options.hold:
            # Never held for good: collectives and watchdogs of the offline task must live.
            self.yields += 1
            self.continue_offline()

    def enough(self, phase, started):
        if self.interrupted or not self.online.runs() or not self.offline.runs():
            return True
        if phase == "preempt" and self.options.preemptions and len(self.resumes) >= self.options.preemptions:
            return True
        return time.monotonic() - started >= (self.options.baseline if phase == "baseline" else self.options.seconds)

    def watch(self, phase):
        started = time.monotonic()
        while not self.enough(phase, started):
            busy = bool(self.poc.has_work(self.online.pid))
            now = time.monotonic()
            self.samples += 1
            self.note_online(busy, now)
            if phase == "preempt":
                self.decide(busy, now)
            time.sleep(self.options.interval)

    def run(self):
        self.await_ready()
        self.start = self.switched = self.end = time.monotonic()
        try:
            self.watch("baseline")
            self.switched = time.monotonic()
            self.watch("preempt")
        except PocError as error:
            # A task that has just ended is the end of the run, not a failure.
            if error.errno != errno.ESRCH and self.online.runs() and self.offline.runs():
                raise
        finally:
            if self.stopped_since is not None:
                try:
                    self.continue_offline()
                except PocError:
                    pass
            self.end = time.monotonic()
            self.note_online(False, self.end)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for role in ("online", "offline"):
        group = parser.add_mutually_exclusive_group()
        group.add_argument(f"--{role}", metavar="COMMAND",
                           help=f"command of the {role} task; {{seconds}} becomes its run time" +
                                ("; {samples} a file for arrival_s,done_s of its requests" if role == "online" else ""))
        group.add_argument(f"--{role}-pid", metavar="PID", type=int, help=f"attach to a running {role} task")
        parser.add_argument(f"--{role}-log", metavar="FILE", help=f"write the output of the {role} task to FILE")
    parser.add_argument("--seconds", type=float, default=10, help="seconds with preemption (default 10)")
    parser.add_argument("--baseline", type=float, default=5, help="seconds without preemption, at the start (default 5)")
    parser.add_argument("--preemptions", type=int, default=0, metavar="N", help="end after N preemptions")
    parser.add_argument("--interval", type=float, default=0.0005, metavar="SECONDS",
                        help="time between two checks of the online task (default 0.0005)")
    parser.add_argument("--hold", type=float, default=1.5, metavar="SECONDS",
                        help="maximum duration of a suspension of the offline task (default 1.5)")
    parser.add_argument("--no-agent", action="store_true", help="start the offline task without 'gpreempt run'")
    parser.add_argument("--text", metavar="FILE", help="also write the report as text")
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as HTML, with histograms and a timeline")
    parser.add_argument("--vgpu", action="store_true", help="run the whole test on a virtual GPU")
    return parser.parse_args(arguments)


def enter_vgpu(arguments):
    program = gpreempt()
    if not program:
        sys.exit("test_preemption.py: gpreempt not found: run make, or set GPREEMPT to its path")
    sys.stdout.flush()
    os.execv(program, [program, "vgpu", "--runtime-enable", "--", sys.executable, os.path.abspath(__file__)] +
             [argument for argument in arguments if argument != "--vgpu"])


def check(options):
    """Fails before anything is started if the run or its report would fail."""
    for role in ("online", "offline"):
        pid = getattr(options, role + "_pid")
        if pid is not None and not os.path.exists(f"/proc/{pid}"):
            sys.exit(f"test_preemption.py: process {pid} does not exist")
    unwritable = poc_report.unwritable(options.text, options.json, options.html, options.online_log, options.offline_log)
    if unwritable:
        sys.exit(f"test_preemption.py: cannot write {unwritable}")


def test(options):
    seconds = options.baseline + options.seconds + 5
    tasks = []
    try:
        for role in ("online", "offline"):
            tasks.append(Task(role, getattr(options, role + "_pid"), getattr(options, role), seconds,
                              getattr(options, role + "_log"), agent=role == "online" or not options.no_agent))
        with Poc(limit_s=options.hold + 0.5) as poc:
            run = Run(poc, *tasks, options)
            signal.signal(signal.SIGINT, lambda *_: setattr(run, "interrupted", True))
            signal.signal(signal.SIGTERM, lambda *_: setattr(run, "interrupted", True))
            run.run()
        for task in tasks:
            # Wait for the last output of a task, unless the run was cut short.
            task.end(0 if run.interrupted or options.preemptions else seconds)
    finally:
        for task in tasks:
            task.end()
    facts = poc_report.figures(run)
    print(poc_report.text(facts), end="")
    failed = poc_report.save(run, facts, options.text, options.json, options.html)
    if failed:
        sys.exit("test_preemption.py: " + "; ".join(failed))
    if not run.suspends and not run.interrupted:
        sys.exit("test_preemption.py: the online task never had work, so nothing was preempted")


def main():
    options = parse(sys.argv[1:])
    check(options)
    if options.vgpu and not os.environ.get("GPREEMPT_VGPU"):
        enter_vgpu(sys.argv[1:])
    try:
        test(options)
    except PocError as error:
        sys.exit(f"test_preemption.py: {error.strerror or error}")


if __name__ == "__main__":
    main()
