# SPDX-License-Identifier: MIT
"""An online and an offline process on one GPU, under several arrangements.

The arrangements take turns in short blocks, ROUNDS times over, so that a drift of the machine meets
all of them. Figures are per block; the table shows the median over the rounds and the spread."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from common import HERE, Control, Product, Worker, figures, median

PAIRS = ("transformer", "decoder", "synthetic", "light")
ROUNDS = 3
PLAIN, SUSPEND, SUSPEND_AHEAD, ANNOUNCE, ANNOUNCE_ASIDE, AHEAD, HOOK, HOOK_ONE, KEEP, HOOK_C = range(10)
# name: timeslice of offline, timeslice of online (us; None: as it is), what the online process does
ARRANGEMENTS = {
    "alone": None,
    "default": (None, None, PLAIN),
    "slice 1000": (1000, None, PLAIN),
    "slice 300": (300, None, PLAIN),
    "slice 100": (100, None, PLAIN),
    "slice 50": (50, None, PLAIN),
    "slice 50, online 20000": (50, 20000, PLAIN),
    "slice 20, online 20000": (20, 20000, PLAIN),
    "slice 2, online 126000": (2, 126000, PLAIN),
    "slice 2, online 126000, hook in C": (2, 126000, HOOK_C),
    "suspend": (None, None, SUSPEND),
    "suspend ahead": (None, None, SUSPEND_AHEAD),
    "slice 50 and suspend": (50, None, SUSPEND),
}
# gpreemptd decides; in the others each request is announced to the hardware: by the benchmark
# (torch_pair.py, Waker), or with the product's hint (gpreempt run --ahead)
AUTOMATIC = {"automatic": PLAIN, "automatic, announced": ANNOUNCE,
             "automatic, announced aside": ANNOUNCE_ASIDE, "automatic, ahead": AHEAD,
             "automatic, hook": HOOK, "automatic, hook one": HOOK_ONE, "automatic, keep": KEEP,
             "automatic, hook in C": HOOK_C, "automatic, ahead, strict": AHEAD}
# and those below the server are stopped from announcement to end
STRICT = "[rule strict]\nexecutable = *\nstrict = requests\n"
# Separate pairs, started with an environment or a setting
POLICY = "driver policy short"
OTHERS = ("mps", "mps, priority", POLICY)
STREAMS = "streams in one process"
# Mean of the random time between arrivals, ms. The decoder's needs 23 ms alone and 51 beside a trainer.
GAPS = {"transformer": 15, "decoder": 60, "synthetic": 15, "light": 15}
SYNTHETIC = "20 25"  # kernels, us each


def worker(lab, pair, role, extra=None, before=()):
    if pair == "light":  # the transformer beside kernels of 128 threads a multiprocessor, without shared memory
        pair = "transformer" if role == "online" else "synthetic"
    if pair == "synthetic":
        return Worker(lab, *before, lab.bin / "nvwork", "serve", extra=extra)
    return Worker(lab, *before, sys.executable, HERE / "torch_pair.py", f"{pair}-{role}",
                  lab.bin / "libnvctl.so", extra=extra)


class Mps:
    """A control daemon of our own, beside whatever else there is."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="gpmps-")
        self.extra = {"CUDA_MPS_PIPE_DIRECTORY": self.directory,
                      "CUDA_MPS_LOG_DIRECTORY": self.directory}
        self.up = bool(shutil.which("nvidia-cuda-mps-control")) and subprocess.run(
            ["nvidia-cuda-mps-control", "-d"], env=dict(os.environ, **self.extra)).returncode == 0

    def close(self):
        if self.up:
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True,
                           env=dict(os.environ, **self.extra), timeout=60)
        shutil.rmtree(self.directory, ignore_errors=True)


def online_line(pair, seconds, stop_pid=0, how=PLAIN):
    return f"online {seconds} {GAPS[pair]} {SYNTHETIC} {stop_pid} {how}"


def both(pair, online, offline, seconds, how=PLAIN):
    offline.start(f"offline {seconds} 2000")
    online.start(online_line(pair, seconds, offline.pid if how in (SUSPEND, SUSPEND_AHEAD) else 0, how))
    return online.answer(), offline.answer()


def block(control, pair, online, offline, name, seconds):
    if name == "alone":
        online.start(online_line(pair, seconds))
        first = online.answer()
        offline.start(f"offline {seconds / 2} 2000")
        return first, offline.answer()
    offline_us, online_us, how = ARRANGEMENTS[name]
    for process, us in ((offline, offline_us), (online, online_us)):
        if us:
            control.must(f"slice {process.pid} {us}")
    try:
        return both(pair, online, offline, seconds, how)
    finally:
        for process, us in ((offline, offline_us), (online, online_us)):
            if us:
                control.must(f"share {process.pid} 1000")


def automatic_block(product, control, pair, online, offline, name, seconds, notes):
    """As block(), with gpreemptd in charge; it is started for it and ended."""
    product.start_daemon([online.pid, offline.pid], STRICT if name.endswith("strict") else "")
    try:
        before, begin = product.cpu_ns(), time.time()
        answers = both(pair, online, offline, seconds, AUTOMATIC[name])
        notes.append({"name": name, "cpu_part": (product.cpu_ns() - before) / 1e9 / (time.time() - begin),
                      "slices": [max(g["timeslice_us"] for g in control.must(f"describe {w.pid}")["groups"]
                                     if g["compute_mode"] >= 0) for w in (online, offline)]})
        return answers
    finally:
        product.stop_daemon()


def switches(control, workers):
    """How often each process's context was saved so far, and in the middle of a kernel."""
    counts = []
    for w in workers:
        groups = [g for g in control.must(f"describe {w.pid}")["groups"] if g["compute_mode"] >= 0]
        counts.append([sum(g.get(key, 0) for g in groups) for key in ("saves", "cilp_saves")])
    return counts


def summary(blocks):
    online = [figures(b["online_us"]) for b in blocks]
    rates = [b["offline_per_s"] for b in blocks]
    pooled = figures(sum((b["online_us"] for b in blocks), []))
    arrival = figures(sum((b["arrival_us"] for b in blocks), []))
    return {"p50": pooled["p50"], "p90": pooled["p90"], "p99": pooled["p99"], "max": pooled["max"],
            "p99_spread": [min(f["p99"] for f in online), max(f["p99"] for f in online)],
            "arrival_p50": arrival["p50"], "arrival_p99": arrival["p99"],
            "offline_per_s": median(rates), "offline_spread": [min(rates), max(rates)],
            "requests": pooled["n"], "dropped": sum(b["dropped"] for b in blocks)}


def show(table):
    """Latencies in us: of serving a request, all rounds together; from its arrival, so with waiting."""
    alone, default = table["alone"], table["default"]
    print(f"{'arrangement':34} {'n':>5} {'p50':>7} {'p90':>7} {'p99':>7} {'(rounds)':>15} {'max':>8} "
          f"{'/alone':>6} {'better':>6} {'arr p50':>8} {'arr p99':>8} {'/alone':>6} {'better':>6} "
          f"{'offl/s':>7} {'/default':>8} {'lost':>4}")
    for name, t in table.items():
        low, high = t["p99_spread"]
        print(f"{name:34} {t['requests']:5} {t['p50']:7.0f} {t['p90']:7.0f} {t['p99']:7.0f} "
              f"{f'{low:.0f}-{high:.0f}':>15} {t['max']:8.0f} {t['p99'] / alone['p99']:6.2f} "
              f"{default['p99'] / t['p99']:6.2f} {t['arrival_p50']:8.0f} {t['arrival_p99']:8.0f} "
              f"{t['arrival_p99'] / alone['arrival_p99']:6.2f} "
              f"{default['arrival_p99'] / t['arrival_p99']:6.2f} {t['offline_per_s']:7.2f} "
              f"{t['offline_per_s'] / default['offline_per_s']:8.3f} {t['dropped']:4}", flush=True)


def run(lab, results, options):
    mps, product = Mps(), Product(lab, options.product) if options.product else None
    try:
        return compare(lab, results, options, mps, product)
    finally:
        mps.close()
        if product:
            product.close()


def chosen(options, mps, product):
    """The requested arrangements that are available; always alone and default, for the ratios."""
    names = list(ARRANGEMENTS)
    names += list(AUTOMATIC) if product else []
    names += ["mps", "mps, priority"] if mps.up else []
    if options.pair in ("synthetic", "light"):
        names = [name for name in names if options.pair == "light" or not name.startswith("automatic, ")]
    if not options.arrangements:
        names = [name for name in names if not any(word in name for word in ("hook", "keep", "strict"))]
    else:
        names += [STREAMS] + ([POLICY] if shutil.which("nvidia-smi") else [])
    if not options.arrangements:
        return names
    asked = {name.strip() for name in options.arrangements.split(";")} | {"alone", "default"}
    unknown = asked - set(list(ARRANGEMENTS) + list(AUTOMATIC) + list(OTHERS) + [STREAMS])
    if unknown:
        raise SystemExit(f"no such arrangements: {sorted(unknown)}")
    return [name for name in names if name in asked]


def set_policy(number):
    """The driver's own timeslice setting: 0 default, 1 short. Contexts made later have it."""
    done = subprocess.run(["nvidia-smi", "compute-policy", f"--set-timeslice={number}"],
                          capture_output=True, text=True)
    if done.returncode:
        print("nvidia-smi compute-policy:", done.stdout, done.stderr, flush=True)
    return done.returncode == 0


def start_others(lab, pair, mps, names):
    """Pairs that must be started differently, by name; a single process for streams."""
    started = {}
    for name in names:
        if name == STREAMS:
            started[name] = [worker(lab, pair, "both")]
        elif name == POLICY:
            if set_policy(1):
                started[name] = [worker(lab, pair, role) for role in ("online", "offline")]
        elif name in OTHERS:
            priorities = ("0", "1") if name == "mps, priority" else ("0", "0")
            started[name] = [worker(lab, pair, role, dict(mps.extra, CUDA_MPS_CLIENT_PRIORITY=priority))
                             for role, priority in zip(("online", "offline"), priorities)]
    return started


def await_others(started):
    """Those that came up."""
    ready = {}
    for name, workers in started.items():
        try:
            for w in workers:
                w.wait()
            ready[name] = workers
        except RuntimeError as error:
            print(f"{name}: {error}", flush=True)
    return ready


def other_block(pair, workers, seconds):
    if len(workers) == 2:
        return both(pair, *workers, seconds)
    workers[0].start(online_line(pair, seconds).replace("online", "both", 1))
    answer = workers[0].answer()
    return answer["online"], answer["offline"]


def compare(lab, results, options, mps, product):
    pair, begin = options.pair, time.time()
    names = chosen(options, mps, product)
    control, notes = Control(lab), []
    extra = dict(product.extra) if product else {}
    if any("hook in C" in name for name in names):
        extra["LD_PRELOAD"] = str(lab.bin / "libnvhook.so")
    online, offline = (worker(lab, pair, role, extra or None,
                              product.under(role, *(["--ahead", "600us"] if role == "online" else []))
                              if product else ()) for role in ("online", "offline"))
    online.wait(), offline.wait()
    others = await_others(start_others(lab, pair, mps, [n for n in names if n != POLICY]))
    if POLICY in names:  # alone, so that no other context has it
        others.update(await_others(start_others(lab, pair, mps, [POLICY])))
        set_policy(0)
    names = [name for name in names if name in ARRANGEMENTS or name in AUTOMATIC or name in others]
    attach = [control.must(f"attach {w.pid}") for w in (online, offline)]
    results.add("attach", {"pair": pair, "answers": attach, "groups": control.must(
        f"describe {offline.pid}")["groups"]})
    if "mps" in others:
        refusal = control.say(f"attach {others['mps'][0].pid}")
        results.add("mps refusal", refusal)
        print("attaching to a client of MPS:", os.strerror(-refusal["error"]))
    # Each block takes a little longer than requested; "alone" half as long again.
    seconds = max(0.4, (options.seconds - (time.time() - begin) - 5) /
                  (ROUNDS * (len(names) + 0.5)) - 0.5)
    results.add("block seconds", seconds)
    print(f"started after {time.time() - begin:.1f} s, {len(names)} arrangements, blocks of {seconds:.2f} s", flush=True)
    blocks = {name: [] for name in names}
    for turn in range(ROUNDS):
        for name in names:
            before = switches(control, (online, offline))
            if name in AUTOMATIC:
                first, second = automatic_block(product, control, pair, online, offline, name, seconds, notes)
            elif name in ARRANGEMENTS:
                first, second = block(control, pair, online, offline, name, seconds)
            else:
                first, second = other_block(pair, others[name], seconds)
            if first.get("failed"):
                print(f"{name}: {first['failed']} calls failed")
            blocks[name].append({"online_us": first["us"], "arrival_us": first.get("arrival_us", first["us"]),
                                 "dropped": first.get("dropped", 0), "offline_steps": second["steps"],
                                 "failed": first.get("failed", 0), "handed_us": first.get("handed_us", []),
                                 "switches": [[b - a for a, b in zip(*pair)] for pair in
                                              zip(before, switches(control, (online, offline)))],
                                 "offline_per_s": second["steps"] / second["seconds"]})
        results.add("blocks", blocks)
        results.add("daemon", notes)
        table = {name: summary(list_of) for name, list_of in blocks.items()}
        results.add("summary", table)
        print(f"round {turn + 1} of {ROUNDS} done after {time.time() - begin:.1f} s", flush=True)
    show(table)
    for note in notes:
        print(f"{note['name']}: gpreemptd, holder and lifelines {note['cpu_part'] * 100:.3f} % of a core; slices {note['slices']} us")
    for w in [online, offline] + sum(others.values(), []):
        w.end()
    control.close()
    return 0
