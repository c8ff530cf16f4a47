#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""amdlog_naive.py FILE: what `gpreempt find` reports of the queues of a log, computed in the straightforward way.

One regular expression for the prefix and one for each message that names a queue. Prints a JSON list
of the facts per queue, so that the benchmark can check that both say the same.
"""
import json
import re
import sys

LINE = re.compile(
    r"^:(\d):(.{25}):(\d+) *: (\d+) us: \[pid:(\d+) +tid: ?0x([0-9a-f]+)\] (.*)$")
CREATED = re.compile(r"^Created SWq=0x([0-9a-f]+) to map on HWq=0x([0-9a-f]+) with size (\d+) "
                     r"with priority (\d)")
STREAMS = re.compile(r"^(?:Selected queue|acquireQueue|releaseQueue) refCount: ?0x([0-9a-f]+) \((\d+)\)")
DELETED = re.compile(r"^Deleting hardware queue 0x([0-9a-f]+) with refCount 0")
PACKET = re.compile(
    r"^SWq=0x([0-9a-f]+), HWq=0x([0-9a-f]+), id=(\d+), (Dispatch|Barrier\w*) Header"
    r".*, rptr=(\d+), wptr=(\d+)$")


class Queue:
    def __init__(self):
        self.object = self.hsa_id = self.size = self.priority = self.streams = None
        self.dispatches = self.barriers = 0
        self.first_ns = self.last_ns = self.rptr = self.wptr = None
        self.active = True

    def packet(self, match, time_ns):
        self.object = int(match.group(1), 16)
        self.hsa_id = int(match.group(3))
        if match.group(4) == "Dispatch":
            self.dispatches += 1
        else:
            self.barriers += 1
        if self.first_ns is None or time_ns < self.first_ns:
            self.first_ns = time_ns
        if self.last_ns is None or time_ns > self.last_ns:
            self.last_ns = time_ns
        self.rptr, self.wptr = int(match.group(5)), int(match.group(6))


def main(path):
    queues = {}

    def queue(pid, address):
        return queues.setdefault((int(pid), int(address, 16)), Queue())

    with open(path, encoding="utf-8", errors="replace") as log:
        for text in log:
            line = LINE.match(text)
            if not line:
                continue
            pid, message = line.group(5), line.group(7)
            if match := PACKET.match(message):
                queue(pid, match.group(2)).packet(match, int(line.group(4)) * 1000)
            elif match := CREATED.match(message):
                new = queue(pid, match.group(2))
                new.object, new.size = int(match.group(1), 16), int(match.group(3)) * 64
                new.priority = ("low", "normal", "high")[int(match.group(4))]
            elif match := STREAMS.match(message):
                queue(pid, match.group(1)).streams = int(match.group(2))
            elif match := DELETED.match(message):
                queue(pid, match.group(1)).active = False
    print(json.dumps([dict(vars(q), pid=pid, ring=address)
                      for (pid, address), q in queues.items()]))


if __name__ == "__main__":
    main(sys.argv[1])
