# SPDX-License-Identifier: MIT
"""One server beside 1, 2, 4 and 8 of the same trainers, which pause and go on, so that every number is measured with the
same processes. A row is SERVER/CLOCK/ARRANGEMENT/NUMBER/ROUND; percentiles are of all rounds. The parts of the trainers
are their times on the GPU where gpreemptd reports them: of the long steps they make too few to compare. Rows that are
in the results file are not measured again."""
import json
import time

from common import figures
from field import Stage, with_product

NUMBERS = (1, 2, 4, 8)
ARRANGEMENTS = ("default", "gpreemptd")
SETTLE_S = 2
SET_S = 45  # to start and end the programs, at most


def rows(rounds, wanted):
    """In an order in which no number is always first."""
    for number in range(1, rounds + 1):
        order = NUMBERS if number % 2 else NUMBERS[::-1]
        yield "alone", 0, number
        yield from ((name, count, number) for name in wanted for count in order)


def settle(stage, count):
    """Trainers that are to pause end the step that they are in, which takes them a turn or two."""
    for i, trainer in enumerate(stage.trainers):
        trainer.go(i < count)
    time.sleep(SETTLE_S)


def on_the_gpu(stage):
    """Time on the GPU that gpreemptd reports, by pid."""
    return {job["pid"]: job["ran_ns"] for job in json.loads(stage.product.call("top", "--json").stdout)["jobs"]}


def measure_rows(stage, wanted, keep, end):
    stage.start()
    for done, (name, count, number) in enumerate(wanted):
        if time.time() + stage.seconds + 9 > end:
            return len(wanted) - done
        if name != "gpreemptd":
            stage.product.stop_daemon()
        elif not stage.product.daemon:
            stage.product.start_daemon(stage.pids())
        settle(stage, count)
        before = on_the_gpu(stage) if stage.product.daemon else {}
        row = stage.row(training=count)
        if before:
            after = on_the_gpu(stage)
            row["ran_ns"] = [(after[t.pid] or 0) - (before[t.pid] or 0) for t in stage.trainers[:count]]
        keep(f"{name}/{count}/{number}", row)
    return 0


def together(steps):
    """The rounds of a row as one: requests of all, steps per second of each trainer in each round."""
    found = {}
    for key, row in steps.items():
        found.setdefault(key.rsplit("/", 1)[0], []).append(row)
    return {key: {"us": [us for row in same for us in row["us"]], "lost": sum(row["lost"] for row in same),
                  "steps": [row["steps_per_s"] for row in same],
                  "parts": [row.get("ran_ns") or row["steps_per_s"] for row in same],
                  "mhz": same[-1]["sm_mhz"], "cpu": sum(row["cpu_part"] for row in same) / len(same)}
            for key, same in found.items()}


def show(steps):
    steps = together(steps)
    print(f"{'row':28} {'n':>5} {'p50':>6} {'p99':>6} {'/alone':>6} {'steps/s':>8} {'/default':>8} "
          f"{'furthest from the mean':>22} {'MHz':>5} {'core':>6} lost")
    for key, row in steps.items():
        start, name, count = key.rsplit("/", 2)
        own, alone = figures(row["us"]), figures(steps[start + "/alone/0"]["us"])
        rates = [sum(each) for each in row["steps"]]
        usual = steps.get(f"{start}/default/{count}")
        default = sum(map(sum, usual["steps"])) / len(usual["steps"]) if usual else 0
        off = max((abs(one / (sum(each) / len(each)) - 1) for each in row["parts"] if sum(each) for one in each), default=0)
        rate = sum(rates) / len(rates)
        print(f"{key:28} {own['n']:5} {own['p50']:6.0f} {own['p99']:6.0f} {own['p99'] / alone['p99']:6.3f} {rate:8.2f} "
              f"{rate / default if default else 0:8.3f} {off * 100:20.1f} % {row['mhz'] or 0:5.0f} "
              f"{row['cpu'] * 100:5.2f}% {row['lost']}", flush=True)


def measure(lab, results, options, product, clocks):
    end, left = time.time() + options.seconds, 0
    names = [name.strip() for name in options.arrangements.split(";")] if options.arrangements else ARRANGEMENTS
    if set(names) - set(ARRANGEMENTS):
        raise SystemExit(f"no such arrangements: {names}")
    for clock in options.clocks.split(","):
        for kind in (options.servers or "graph,http").split(","):
            start = f"{kind}/{clock}/"
            wanted = [row for row in rows(options.rounds, names) if not results.has(start + "/".join(map(str, row)))]
            if not wanted or time.time() + SET_S > end:
                left += len(wanted)
                continue
            clocks.set(clock)
            stage = Stage(lab, product, clocks, kind, max(NUMBERS), options.block)
            try:
                left += measure_rows(stage, wanted, lambda key, row: results.add(start + key, row), end - 15)
            finally:
                product.stop_daemon()
                stage.close()
    show(results.data["steps"])
    if left:
        print(f"{left} rows are left: the same command measures them")
    return 0


def run(lab, results, options):
    return with_product(lab, results, options, measure)
