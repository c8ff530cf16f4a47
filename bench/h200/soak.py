# SPDX-License-Identifier: MIT
"""Random suspend, resume and share over four processes; nothing may be lost or stay stopped."""
import random
import time

from common import Control, Watched, figures, thin

WORKERS = [("endless1", "endless"), ("endless2", "endless"), ("short50", "short", "50"),
           ("short2000", "short", "2000")]
HOLD_S = 1.0


def act(control, worker, state, now, rng, counts):
    """One random operation; a process is never held longer than HOLD_S."""
    pid = worker.process.pid
    if state["since"] and now - state["since"] > HOLD_S * state["part"]:
        word = f"resume {pid}"
    else:
        word = rng.choice([f"suspend {pid}", f"resume {pid}", f"share {pid} {rng.randint(1, 999)}",
                           f"share {pid} 1000"])
    answer = control.say(word)
    kind = word.split()[0]
    counts.setdefault(kind, {"n": 0, "failed": 0, "us": []})
    counts[kind]["n"] += 1
    counts[kind]["failed"] += answer["error"] < 0
    counts[kind]["us"].append(answer["total_ns"] / 1e3)
    if kind == "suspend" and not state["since"]:
        state["since"], state["part"] = now, rng.random()
    elif kind == "resume":
        state["since"] = 0


def run(lab, results, options):
    rng, begin = random.Random(1), time.time()
    control = Control(lab)
    workers = [Watched(lab, name, *mode) for name, *mode in WORKERS]
    states = [{"since": 0, "part": 0} for _ in workers]
    counts, stuck = {}, 0
    attach = [control.must(f"attach {w.process.pid}") for w in workers]
    end = max(time.time() + 2, begin + options.seconds - 8)  # the checks at the end take a while
    report = time.time() + 30
    while time.time() < end:
        i = rng.randrange(len(workers))
        act(control, workers[i], states[i], time.time(), rng, counts)
        if rng.random() < 0.2:
            time.sleep(rng.random() * 0.01)
        if time.time() > report:
            report += 30
            print({kind: c["n"] for kind, c in counts.items()}, flush=True)
    for worker in workers:
        control.must(f"resume {worker.process.pid}")
        control.must(f"share {worker.process.pid} 1000")
    before = [worker.progress() for worker in workers]
    limit = time.time() + 20
    while any(w.progress() == b for w, b in zip(workers, before)) and time.time() < limit:
        time.sleep(0.05)
    stuck = sum(w.progress() == b for w, b in zip(workers, before))
    described = [control.must(f"describe {w.process.pid}")["groups"] for w in workers]
    control.close()
    checks = [worker.end() for worker in workers]
    for c in counts.values():
        c["us_figures"] = figures(c["us"])
        c["us"] = thin([round(us, 1) for us in c["us"]])
    results.add("soak", {"seconds": round(time.time() - begin, 1), "attach": attach, "operations": counts, "stuck": stuck, "checks": checks,
                         "groups": described})
    wrong = stuck + sum(bool(c["wrong"]) for c in checks) + sum(
        c["failed"] for c in counts.values())
    for kind, c in counts.items():
        print(f"{kind:8} {c['n']:7} failed {c['failed']}  p50 {c['us_figures']['p50']:.0f} us "
              f"p99 {c['us_figures']['p99']:.0f} max {c['us_figures']['max']:.0f}")
    print("stuck:", stuck, " checks:", [c["wrong"] for c in checks], " Xids before and after:",
          results.data["xids_before"], results.data["xids_after"])
    new = (results.data["xids_after"] or 0) - (results.data["xids_before"] or 0)
    return 1 if wrong or new else 0
