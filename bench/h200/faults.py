# SPDX-License-Identifier: MIT
"""The holder and its lifelines killed and stopped at random points: every suspended process must run.

Suspensions are made with `gpreempt suspend`, so through the library, the holder and gpu/nvrm. Each
trial suspends one of two processes, waits at random (also not at all: then the fault meets the
suspension under way), does one thing, and measures how long the process stands still after it."""
import os
import random
import signal
import time

from common import Product, Watched, figures

LEASE_MS = 200
LIMIT_S = 10.0
FAULTS = ("holder killed", "holder stopped", "client killed", "client stopped", "lifeline killed, then holder",
          "lifeline stopped, then holder killed", "both killed, then release")


def send(pid, number):
    try:
        if pid:
            os.kill(pid, number)
    except ProcessLookupError:
        pass


def inflict(product, fault, client):
    """Does it; pids that must be killed in the end, because they are stopped."""
    holder, lifelines = product.holder(), product.lifelines()
    if fault == "holder killed":
        send(holder, signal.SIGKILL)
    elif fault == "holder stopped":
        send(holder, signal.SIGSTOP)
        return [holder]
    elif fault == "client killed":
        client.kill()
    elif fault == "client stopped":
        send(client.pid, signal.SIGSTOP)
    elif fault == "lifeline killed, then holder":
        for pid in lifelines:
            send(pid, signal.SIGKILL)
        # It is noticed and replaced; another trial kills both at once.
        end = time.time() + 2
        while time.time() < end and not set(product.lifelines()) - set(lifelines):
            time.sleep(0.001)
        time.sleep(0.02)
        send(holder, signal.SIGKILL)
    elif fault == "lifeline stopped, then holder killed":
        for pid in lifelines:
            send(pid, signal.SIGSTOP)
        send(holder, signal.SIGKILL)
        time.sleep(0.02)
        for pid in lifelines:
            send(pid, signal.SIGCONT)
    else:
        for pid in lifelines:
            send(pid, signal.SIGSTOP)
        send(holder, signal.SIGKILL)
        for pid in lifelines:
            send(pid, signal.SIGKILL)
    return []


def await_progress(worker, since):
    """Milliseconds until the process goes on, or None."""
    before = worker.progress()
    while time.time() < since + LIMIT_S:
        if worker.progress() != before:
            return (time.time() - since) * 1e3
        time.sleep(0.0005)
    return None


def standing(worker):
    """Whether it stood still for a moment."""
    before = worker.progress()
    time.sleep(0.02)
    return worker.progress() == before


def trial(product, worker, fault, rng):
    client = product.popen("suspend", worker.process.pid, "--json", "--lease", f"{LEASE_MS}ms", "--for",
                           "30s")
    early = rng.random() < 0.3
    if early:
        time.sleep(rng.random() * 0.05)
    else:
        client.stdout.readline()
        time.sleep(rng.random() * 0.1)
    stood = not early and standing(worker)
    at = time.time()
    stopped = inflict(product, fault, client)
    if fault.startswith("both"):
        client.kill()
        released = product.call("release", "--all")
        if released.returncode:
            print(released.stderr)
    elif fault.startswith("lifeline") or (early and fault != "client stopped"):
        # There may have been no holder to kill yet, and one that comes would be asked anew.
        client.kill()
    took = await_progress(worker, at)
    for pid in stopped:
        send(pid, signal.SIGKILL)
    client.kill()
    client.communicate()
    if took is None:
        product.call("release", "--all")
    return {"fault": fault, "early": early, "stood": stood, "ms": took}


def run(lab, results, options):
    if not options.product:
        raise SystemExit("faults needs --product")
    product, rng, begin = Product(lab, options.product), random.Random(1), time.time()
    workers = [Watched(lab, "fault0", "endless"), Watched(lab, "fault1", "short", "100")]
    trials, end = [], begin + options.seconds - 12
    try:
        while time.time() < end or len(trials) < len(FAULTS):
            trials.append(trial(product, workers[rng.randrange(2)], FAULTS[len(trials) % len(FAULTS)], rng))
        results.add("trials", trials)
    finally:
        product.close()
        checks = [worker.end() for worker in workers]
    stuck = sum(t["ms"] is None for t in trials)
    for fault in FAULTS:
        ms = [t["ms"] for t in trials if t["fault"] == fault and t["ms"] is not None and t["stood"]]
        f = figures(ms)
        if ms:
            print(f"{fault:38} {f['n']:4} while suspended: runs after p50 {f['p50']:.1f} p90 {f['p90']:.1f} max {f['max']:.1f} ms")
    results.add("summary", {"trials": len(trials), "stuck": stuck, "checks": checks, "lease_ms": LEASE_MS,
                            "stood": sum(t["stood"] for t in trials)})
    print(f"{len(trials)} trials, {sum(t['stood'] for t in trials)} of them on a process that stood still; "
          f"stuck {stuck}, checks {[c['wrong'] for c in checks]}, Xids {results.data['xids_before']} {results.data['xids_after']}")
    new = (results.data["xids_after"] or 0) - (results.data["xids_before"] or 0)
    return 1 if stuck or new or any(c["wrong"] for c in checks) else 0
