#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The grid of `gpreempt sim --grid` as the Markdown table of docs/reference/simulator.md. usage: grid_table.py [BUILD]"""
import json
import os
import subprocess
import sys

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
points = json.loads(subprocess.check_output([os.path.join(BUILD, "bin", "gpreempt"), "sim", "--grid", "--json"]))["points"]
batch = sorted({point["batch_jobs"] for point in points})


def cell(point):
    ratio = point["p99_ratio"]
    return f"{point['oracle_ratio']:.2f}, {ratio:.2f} ×" if ratio < 10 else f"{point['oracle_ratio']:.2f}, {ratio:.0f} ×"


print("| servers, load | " + " | ".join(f"{count} batch" for count in batch) + " |")
print("|---" * (len(batch) + 1) + "|")
for servers in sorted({point["servers"] for point in points}):
    for load in sorted({point["load_percent"] for point in points}):
        row = {point["batch_jobs"]: point for point in points if (point["servers"], point["load_percent"]) == (servers, load)}
        mark = "*" if row[batch[0]]["rotates"] else ""
        print(f"| {servers}{mark}, {load:.0f} % | " + " | ".join(cell(row[count]) for count in batch) + " |")
for rotates, words in ((False, "fit on the GPU"), (True, "beyond its VMIDs (*)")):
    part = [point for point in points if point["rotates"] == rotates]
    good = sum(point["oracle_ratio"] >= 0.8 for point in part)
    print(f"\n{words}: {good} of {len(part)} points at 0.80 or more, least {min(p['oracle_ratio'] for p in part):.2f}; p99 at most "
          f"{max(p['p99_ratio'] for p in part):.2f} × alone; least share {min(p['least_share'] for p in part):.2f}")
