# SPDX-License-Identifier: MIT
"""What gpreemptd reads of the use of the GPU: its cost, its effect on the programs, and whether it agrees with times
that are known otherwise.

A row is one set of programs with `activity = yes` or `no`. Rows that are in the results file are not measured again."""
import json
import subprocess
import time

from common import Product, figures
from field import Clocks, Program, Stage

SETS = {"1 trainer": (1, 0), "2 trainers": (2, 0), "2 trainers, 1 idle": (2, 1)}  # busy, idle


def probe_idle(lab, place):
    """Whether a process that becomes idle loses the GPU: the driver's records while a trainer works, rests, works."""
    trainer = place.trainers[0]
    probe = subprocess.Popen([lab.bin / "nvfecs", "6"], stdout=subprocess.PIPE, text=True,
                             env=lab.control_environment())
    begin, marks = time.time(), []
    for on in (True, False, True, False):
        trainer.go(on)
        marks.append([on, time.time() - begin])
        time.sleep(1.3)
    out, _ = probe.communicate(timeout=60)
    return {"marks": marks, "began": begin, "lines": [json.loads(line) for line in out.splitlines()]}


def job_of(top, pid):
    return next((job for job in top["jobs"] if job["pid"] == pid), None)


def measure(stage, product, activity, idle):
    """One row: figures of the programs, and what gpreemptd says about the same time."""
    product.start_daemon(stage.pids(), f"activity = {activity}\n")
    busy = stage.trainers[:len(stage.trainers) - idle]
    for trainer in stage.trainers:
        trainer.go(trainer in busy)
    time.sleep(1.5)
    look = lambda: json.loads(product.call("top", "--json").stdout)  # noqa: E731
    cpu, before, steps, begin = product.cpu_ns(), look(), [t.steps() for t in busy], time.time()
    client = Program(stage.lab, "client", stage.kind, stage.server.said, stage.seconds).wait()
    row = json.loads(client.said)
    client.end()
    took, after = time.time() - begin, look()
    row.update(seconds=took, cpu_part=(product.cpu_ns() - cpu) / 1e9 / took,
               steps_per_s=[(t.steps() - s) / took for t, s in zip(busy, steps)],
               devices=after["devices"], jobs=[])
    for pid in stage.pids():
        old, new = job_of(before, pid), job_of(after, pid)
        row["jobs"].append({key: new[key] - (old[key] or 0) if new and old and new[key] is not None else None
                            for key in ("ran_ns", "switches", "switched_out", "lost_ns", "suspends", "held_ns")})
    product.stop_daemon()
    return row


def show(steps):
    print(f"{'row':30} {'p50':>6} {'p99':>6} {'steps/s':>22} {'cpu %':>6} {'server ran':>10} {'GPU part':>9} "
          f"{'trainers ran':>20} {'switches':>8} preempted lost")
    for name, row in steps.items():
        if "jobs" not in row:
            continue
        own, jobs = figures(row["us"]), row["jobs"]

        def ms(value):
            return "-" if value is None else f"{value / 1e6:.0f}"
        print(f"{name:30} {own['p50']:6.0f} {own['p99']:6.0f} {' '.join(f'{r:.2f}' for r in row['steps_per_s']):>22} "
              f"{row['cpu_part'] * 100:6.2f} {ms(jobs[0]['ran_ns']):>10} {sum(row['gpu_us']) / 1e3:9.0f} "
              f"{' '.join(ms(job['ran_ns']) for job in jobs[1:]):>20} {jobs[0]['switches'] or 0:8} "
              f"{[job['switched_out'] for job in jobs]} {[ms(job['lost_ns']) for job in jobs]}, of "
              f"{row['seconds'] * 1e3:.0f} ms", flush=True)


def run(lab, results, options):
    if not options.product:
        raise SystemExit("activity needs --product")
    clocks, product, begin = Clocks(options.fake), Product(lab, options.product), time.time()
    try:
        for name, (busy, idle) in SETS.items():
            wanted = [a for a in ("yes", "no", "yes again", "no again") if not results.has(f"{name}/{a}")]
            if not wanted or time.time() - begin + 25 + len(wanted) * (options.block + 4) > options.seconds:
                continue
            stage = Stage(lab, product, clocks, "graph", busy + idle, options.block)
            try:
                stage.start()
                if not results.has("idle") and not idle and busy == 1:
                    results.add("idle", probe_idle(lab, stage))
                for activity in wanted:
                    results.add(f"{name}/{activity}", measure(stage, product, activity.split()[0], idle))
            finally:
                product.stop_daemon()
                stage.close()
        show(results.data["steps"])
        return 0
    finally:
        clocks.close()
        product.close()
