# SPDX-License-Identifier: MIT
"""Judges a timeline by the Chrome trace event format, as ui.perfetto.dev reads it."""
import collections
import json
import sys

PHASES = set("XBEiMCbestf")


def load(path):
    with open(path) as file:
        return json.load(file)["traceEvents"]


def ns(event, key="ts"):
    """In nanoseconds, exactly: the file has microseconds with three digits."""
    return round(event[key] * 1000)


def overlaps(slices):
    """Pairs of (begin, end) that neither nest nor follow each other."""
    found, stack = [], []
    for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1][1] <= begin:
            stack.pop()
        if stack and end > stack[-1][1]:
            found.append((stack[-1], (begin, end)))
        stack.append((begin, end))
    return found


def check_marks(events, errors):
    """'B' and 'E' of a track: in order, and never an end without a begin."""
    depth, last = collections.Counter(), {}
    for event in events:
        if event["ph"] not in "BE":
            continue
        track = (event["pid"], event["tid"])
        if ns(event) < last.get(track, 0):
            errors.append(f"goes back in time: {event}")
        last[track] = ns(event)
        depth[track] += 1 if event["ph"] == "B" else -1
        if depth[track] < 0:
            errors.append(f"an end without a begin: {event}")
            depth[track] = 0


def check_spans(events, errors):
    """Every 'b' has one 'e', not before it."""
    spans = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "be":
            spans[event["pid"], event["cat"], event["id"]].append((event["ph"], ns(event)))
    for key, pair in spans.items():
        if [phase for phase, _ in pair] != ["b", "e"] or pair[0][1] > pair[1][1]:
            errors.append(f"not a pair: {key} {pair}")


def check_counters(events, errors):
    """A counter has numbers, not below 0, in the order of time."""
    last = {}
    for event in events:
        if event["ph"] != "C":
            continue
        key, values = (event["pid"], event.get("name")), event.get("args", {"": ""}).values()
        if not all(isinstance(value, (int, float)) and value >= 0 for value in values):
            errors.append(f"a counter without a number: {event}")
        if ns(event) < last.get(key, 0):
            errors.append(f"a counter goes back in time: {event}")
        last[key] = ns(event)


def counters(events):
    """{name: [value]}"""
    found = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            found[event["name"]] += event["args"].values()
    return found


def check_flows(events, slices, errors):
    """A flow begins before it goes on, and each step stands on a slice of its track."""
    begun = {(e["cat"], e["id"]) for e in events if e["ph"] == "s"}
    marks = {(e["pid"], e["tid"]) for e in events if e["ph"] in "BE"}
    for event in events:
        if event["ph"] not in "stf":
            continue
        track = (event["pid"], event["tid"])
        if event["ph"] != "s" and (event["cat"], event["id"]) not in begun:
            errors.append(f"a flow without a begin: {event}")
        if track not in marks and not any(a <= ns(event) <= b for a, b in slices[track]):
            errors.append(f"a flow on no slice: {event}")


def check(events):
    """Everything that is wrong with it, as sentences."""
    errors = [f"unknown phase: {e}" for e in events if e["ph"] not in PHASES]
    processes = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"]}
    tracks = {(e["pid"], e["tid"]) for e in events
              if e["ph"] == "M" and e["name"] == "thread_name" and e["args"]["name"]}
    slices = collections.defaultdict(list)
    for event in events:
        phase = event["ph"]
        if phase != "M" and event["pid"] not in processes:
            errors.append(f"a process without a name: {event}")
        if phase in "XBEistf" and (event["pid"], event.get("tid")) not in tracks:
            errors.append(f"a track without a name: {event}")
        if phase in "XBiCb" and not event.get("name"):
            errors.append(f"without a name: {event}")
        if phase == "X" and event["dur"] < 0:
            errors.append(f"ends before it begins: {event}")
        elif phase == "X":
            slices[event["pid"], event["tid"]].append((ns(event), ns(event) + ns(event, "dur")))
    for track, found in slices.items():
        errors += [f"slices of {track} overlap: {pair}" for pair in overlaps(found)]
    check_counters(events, errors)
    check_marks(events, errors)
    check_spans(events, errors)
    check_flows(events, slices, errors)
    return errors


if __name__ == "__main__":
    for path in sys.argv[1:]:
        wrong = check(load(path))
        print(path, len(wrong), *wrong[:5], sep="\n  ")
