#!/usr/bin/env python3
"""amdlog_naive.py FILE: the straightforward way to count packets per queue, to be compared with.

Prints "pid address dispatches barriers" for each queue, in order of appearance.
"""
import re
import sys

LINE = re.compile(
    r"^:(\d):(.{25}):(\d+) *: (\d+) us: \[pid:(\d+) +tid: ?0x([0-9a-f]+)\] (.*)$")
CREATED = re.compile(r"^Created SWq=0x([0-9a-f]+) to map on HWq=0x([0-9a-f]+) with size (\d+)")
PACKET = re.compile(
    r"^SWq=0x([0-9a-f]+), HWq=0x([0-9a-f]+), id=(\d+), (Dispatch|Barrier\w*) Header"
    r".* rptr=(\d+), wptr=(\d+)$")


def main(path):
    queues = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        for text in log:
            line = LINE.match(text)
            if not line:
                continue
            message = line.group(7)
            created = CREATED.match(message)
            if created:
                queues.setdefault((int(line.group(5)), int(created.group(2), 16)), [0, 0])
                continue
            packet = PACKET.match(message)
            if packet:
                counts = queues.setdefault((int(line.group(5)), int(packet.group(2), 16)), [0, 0])
                counts[0 if packet.group(4) == "Dispatch" else 1] += 1
    for (pid, address), (dispatches, barriers) in queues.items():
        print(f"{pid} {address:#x} {dispatches} {barriers}")


if __name__ == "__main__":
    main(sys.argv[1])
