# SPDX-License-Identifier: MIT
"""Runs GoogleTest programs so that a test which crashes or hangs costs only itself.

A program runs its tests in one process. The test that was running when the process ended or stood still is recorded as
`crash` or `hang`, and a new process runs the rest.
"""
import os
import re
import selectors
import subprocess
import time

LINE = re.compile(r"\[ *(RUN|OK|FAILED|SKIPPED|DISABLED) *\] ?([^\s(,]+\.[^\s(,]+)")
RESULTS = {"OK": "pass", "FAILED": "fail", "SKIPPED": "skip"}
FILTER_LENGTH = 60000  # of an argument, less than half of what Linux allows
NOT_ONE_STARTED = 3    # processes in a row that ran no test


def parse_list(text):
    """The names of --gtest_list_tests."""
    suite, names = "", []
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if re.fullmatch(r"[\w/]+\.", line):
            suite = line
        elif suite and re.fullmatch(r"  [\w/.\-]+", line):
            names.append(suite + line.strip())
        else:
            suite = ""
    return names


def take(names, length=FILTER_LENGTH):
    """As many names as fit into a filter."""
    taken, total = [], 0
    for name in names:
        total += len(name) + 1
        if total > length:
            break
        taken.append(name)
    return taken


class Follower:
    """The results of one process, from its output."""

    def __init__(self):
        self.results, self.running, self.rest, self.tail = {}, None, b"", []

    def feed(self, data):
        """Returns whether a test began or ended."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        moved = False
        for line in lines:
            line = line.decode(errors="replace")
            self.tail = self.tail[-30:] + [line]
            for word, name in LINE.findall(line):
                if word == "RUN":
                    self.running, self.tail = name, []
                elif name == self.running and word in RESULTS:
                    self.results[name] = (word == "OK" and self.skipped()) or (RESULTS[word], self.reason())
                    self.running = None
                moved = True
        return moved

    def skipped(self):
        """Old versions of GoogleTest cannot skip: the test says so and passes."""
        for line in self.tail:
            found = re.search(r"Skipping test: *(.*)", line)
            if found:
                return "skip", found[1][:160]
        return None

    def reason(self):
        for line in self.tail:
            if re.search(r"error|fail|Expected|expected|fault", line) and "[ RUN" not in line:
                return line.strip()[:160]
        return ""


def run_process(command, log, limit, deadline):
    """Results by name; the name of the test that did not end, or None; and why."""
    follower = Follower()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    os.set_blocking(child.stdout.fileno(), False)
    waiting = selectors.DefaultSelector()
    waiting.register(child.stdout, selectors.EVENT_READ)
    moved = time.monotonic()
    how = None
    try:
        while True:
            now = time.monotonic()
            if now > moved + limit or now > deadline:
                how = "hang" if now > moved + limit else "late"
                break
            if not waiting.select(min(moved + limit, deadline) - now):
                continue
            data = child.stdout.read()
            if not data:
                break
            log.write(data)
            if follower.feed(data):
                moved = time.monotonic()
    finally:
        if how:
            child.kill()
        child.stdout.close()
        waiting.close()
        status = child.wait()
    return follower, how or ("crash" if follower.running else None), status


def run(names, command_for, log, limit, deadline, alone=False):
    """Runs `names`; yields (name, result, reason). Result: pass, fail, skip, crash, hang, or late (out of time).

    command_for(names): the command that runs these. alone: one process per test.
    """
    names, empty = list(names), 0
    while names:
        if time.monotonic() > deadline:
            yield from ((name, "late", "") for name in names)
            return
        part = names[:1] if alone else take(names)
        follower, how, status = run_process(command_for(part), log, limit, deadline)
        done = dict(follower.results)
        if how and follower.running:
            done[follower.running] = how, follower.reason() or ("no end" if how == "hang" else f"status {status}")
        elif done and (status < 0 or status > 128):
            done[list(done)[-1]] = "crash", f"status {status} after it"
        done = {name: result for name, result in done.items() if name in names}
        if not done:
            empty += 1
            if alone or empty == NOT_ONE_STARTED:  # it does not even begin
                failed = part if alone else names
                yield from ((name, how or "crash", f"no test ran, status {status}: {' '.join(follower.tail[-1:])}"[:160])
                            for name in failed)
                names = names[len(failed):]
                empty = 0
            continue
        empty = 0
        yield from ((name, *result) for name, result in done.items())
        names = [name for name in names if name not in done]
