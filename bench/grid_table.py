#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The grid of `gpreempt sim --grid`, mean of several seeds, as the Markdown table of docs/reference/simulator.md.
usage: grid_table.py [BUILD [SEED...]]"""
import json
import os
import subprocess
import sys

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
SEEDS = (11, 12, 13)


def grid(build, seeds=SEEDS):
    """The points, each with its means over the seeds; oracle_ratio_least is the least of them."""
    program = os.path.join(build, "bin", "gpreempt")
    runs = [json.loads(subprocess.check_output([program, "sim", "--grid", "--json", "--seed", str(seed)]))["points"] for seed in seeds]
    points = []
    for same in zip(*runs):
        point = dict(same[0])
        for key in ("oracle_ratio", "p99_ratio", "least_share"):
            point[key] = sum(each[key] for each in same) / len(same)
        point["oracle_ratio_least"] = min(each["oracle_ratio"] for each in same)
        points.append(point)
    return points


def cell(point):
    ratio = point["p99_ratio"]
    return f"{point['oracle_ratio']:.2f}, {ratio:.2f} ×" if ratio < 10 else f"{point['oracle_ratio']:.2f}, {ratio:.0f} ×"


def main():
    points = grid(BUILD, sys.argv[2:] or SEEDS)
    batch = sorted({point["batch_jobs"] for point in points})
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
        print(f"\n{words}: {good} of {len(part)} points at 0.80 or more on average, least {min(p['oracle_ratio'] for p in part):.3f}, of a single seed "
              f"{min(p['oracle_ratio_least'] for p in part):.2f}; p99 at most "
              f"{max(p['p99_ratio'] for p in part):.2f} × alone; least share {min(p['least_share'] for p in part):.2f}")


if __name__ == "__main__":
    main()
