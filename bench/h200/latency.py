# SPDX-License-Identifier: MIT
"""Stop and resume latency against kernel length, and state after many suspensions."""
import json
import subprocess

from common import Watched, figures

LENGTHS = [("10 us", "short", "10"), ("100 us", "short", "100"), ("1 ms", "short", "1000"),
           ("10 ms", "short", "10000"), ("100 ms", "short", "100000"), ("endless", "endless")]
HAMMERED = [("endless", "endless"), ("100 us", "short", "100")]
TRIALS, SUSPENSIONS = 1000, 10000


def measure(lab, worker, trials, seconds, *quick):
    done = subprocess.run([lab.bin / "nvlatency", str(worker.process.pid), worker.page.name,
                           str(trials), str(seconds), *quick], stdout=subprocess.PIPE, text=True,
                          env=lab.control_environment())
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.returncode}


def run(lab, results, options):
    wrong = 0
    # A worker's start takes a second or two on real hardware; a slot is 1,000 trials or 5,000
    # suspensions, some 5 s.
    slot = max(0.5, (options.seconds - 2 * len(LENGTHS + HAMMERED)) / (len(LENGTHS) + 4))
    print(f"{'kernel':10} {'trials':>6} {'stopped':>7} {'stop p50':>9} {'p90':>7} {'p99':>7} "
          f"{'resume p50':>10} {'p99':>7} {'call p50':>9}  us")
    for name, *mode in LENGTHS:
        worker = Watched(lab, "latency", *mode)
        step = measure(lab, worker, TRIALS, slot)
        step["check"] = worker.end()
        for field in ("stop_us", "suspend_us", "start_us", "resume_us"):
            step[field + "_figures"] = figures(step.get(field, []))
        wrong += bool(step["check"]["wrong"]) + bool(step.get("error"))
        wrong += step.get("moving", 0) + step.get("failed", 0) + step.get("stuck", 0)
        results.add(name, step)
        if not step.get("error") and step["trials"]:
            stop, start = step["stop_us_figures"], step["start_us_figures"]
            print(f"{name:10} {step['trials']:6} {step['stopped']:7} {stop['p50']:9.0f} "
                  f"{stop['p90']:7.0f} {stop['p99']:7.0f} {start['p50']:10.0f} "
                  f"{start['p99']:7.0f} {step['suspend_us_figures']['p50']:9.0f}  attach "
                  f"{step['attach_ms']:.1f} ms, {step['attach_calls']} calls, wrong "
                  f"{step['check']['wrong']}", flush=True)
    for name, *mode in HAMMERED:
        worker = Watched(lab, "hammer", *mode)
        step = measure(lab, worker, SUSPENSIONS, 2 * slot, "quick")
        step["check"] = worker.end()
        wrong += bool(step["check"]["wrong"]) + step.get("failed", 1) + step.get("stuck", 1)
        results.add("state after many, " + name, step)
        print(f"{name}: {step.get('suspensions')} suspensions, failed {step.get('failed')}, stuck "
              f"{step.get('stuck')}, check {step['check']}", flush=True)
    print("wrong:", wrong, " Xids before and after:", results.data["xids_before"],
          results.data["xids_after"])
    return 1 if wrong else 0
