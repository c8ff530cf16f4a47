#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many programs on one virtual GPU: `mode = act` beside `mode = observe`, in the same run with the same programs.

Servers with random arrivals (10 % of the GPU, all together) beside batch programs that always have work, up to 12 and 36.
Prints, per mode: latency of the requests and steps of the batch programs in GPU time (the model's, not a result), batch
programs without any step, preemptions, and the load of this host, which is what many programs cost.
usage: field_grid.py BUILD [SECONDS [SERVERS,BATCH ...]]"""
import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import daemon_stage  # noqa: E402

SPEED = 0.2
REQUEST_S = 0.002   # of GPU time
LOAD = 0.1
POINTS = ((1, 1), (4, 4), (4, 12), (12, 12), (12, 36))
daemon_stage.LIMIT = 600  # 48 programs start slowly on a busy host
CONFIG = "[daemon]\nmode = {}\n[device *]\npolicy = priority\n"


def rows(path):
    """The whole lines of a samples file, as numbers."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        lines = file.read().split("\n")[1:-1]
    return [[float(field) for field in line.split(",")] for line in lines]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None


def start_daemon(stage, mode):
    config = os.path.join(stage.place, "gpreemptd.conf")
    with open(config, "w") as file:
        file.write(CONFIG.format(mode))
    daemon = stage.begin(stage.gpreemptd, "--config", config)
    stage.until(lambda: "pid" in stage.top(), "gpreemptd did not start")
    return daemon


def phase(stage, daemon, mode, seconds, servers, batch):
    """What happens in so many seconds under this daemon, in the second half, when all has settled; then ends it."""
    stage.until(lambda: len(stage.top()["jobs"]) == len(servers) + len(batch), "gpreemptd did not find every program")
    pid = stage.top()["pid"]
    time.sleep(seconds / 2)
    used = daemon_stage.run_time(pid)[0]
    begin = time.monotonic()
    time.sleep(seconds / 2)
    end = time.monotonic()
    used = daemon_stage.run_time(pid)[0] - used
    stats = json.loads(stage.quietly("stats", "--json").stdout or "{}")
    stage.end(daemon)
    latency = [(row[2] - row[0]) * SPEED * 1e3 for path in servers for row in rows(path)
               if row[2] >= 0 and begin <= row[2] <= end]
    steps = [sum(begin <= row[0] <= end for row in rows(path)) for path in batch]
    return {"mode": mode, "requests": len(latency), "p50_ms": percentile(latency, .5), "p99_ms": percentile(latency, .99),
            "mean_ms": sum(latency) / len(latency) if latency else None,
            "steps_per_s": sum(steps) / (end - begin) / SPEED, "without_progress": sum(not count for count in steps),
            "preemptions": stats.get("preemptions"), "daemon_cpu": used / 1e9 / (end - begin),
            "load": os.getloadavg()[0]}


def milliseconds(value):
    return "-" if value is None else f"{value:.1f} ms"


def point(build, seconds, servers, batch):
    with daemon_stage.Stage("many programs", build, "--speed", str(SPEED)) as stage:
        server, trainer = stage.example("online_server"), stage.example("offline_trainer")
        if not server or not trainer:
            return None
        # First `act`, as a service that runs before the programs: without control requests pile up, and those of `act`
        # would wait behind them.
        daemon = start_daemon(stage, "act")
        rate = max(1, round(LOAD * SPEED / REQUEST_S / servers))
        online, offline = [], []
        for number in range(batch):
            offline.append(os.path.join(stage.place, f"batch{number}.csv"))
            stage.begin(stage.gpreempt, "run", "--class", "offline", "--", trainer, "--load", "spin", "--seconds", "3600",
                        "--samples", offline[-1])
        for number in range(servers):
            online.append(os.path.join(stage.place, f"server{number}.csv"))
            stage.begin(stage.gpreempt, "run", "--class", "online", "--", server, "--load", "spin", "--poisson", "--cut",
                        "--seed", str(number + 1), "--rate", str(rate), "--seconds", "3600", "--samples", online[-1])
        stage.until(lambda: all(rows(path) for path in online + offline), "a program did not begin to work")
        acting = phase(stage, daemon, "act", seconds, online, offline)
        return [acting, phase(stage, start_daemon(stage, "observe"), "observe", seconds, online, offline)]


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 16
    points = [tuple(map(int, text.split(","))) for text in sys.argv[3:]] or POINTS
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"{'servers':>8}{'batch':>6}  {'mode':8}{'requests':>9}{'p50':>10}{'p99':>10}{'mean':>10}{'steps/s':>9}"
          f"{'no step':>9}{'preempted':>11}{'daemon':>9}{'load':>7}")
    for servers, batch in points:
        for row in point(build, seconds, servers, batch) or []:
            print(f"{servers:>8}{batch:>6}  {row['mode']:8}{row['requests']:>9}{milliseconds(row['p50_ms']):>10}"
                  f"{milliseconds(row['p99_ms']):>10}{milliseconds(row['mean_ms']):>10}{row['steps_per_s']:>9.1f}"
                  f"{row['without_progress']:>9}{'-' if row['preemptions'] is None else row['preemptions']:>11}{row['daemon_cpu'] * 100:>7.1f} %{row['load']:>7.1f}", flush=True)


main()
