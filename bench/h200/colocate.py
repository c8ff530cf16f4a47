"""An online and an offline process on one GPU, under several arrangements.

The arrangements take turns in short blocks, ROUNDS times over, so that a drift of the machine meets
all of them. Figures are per block; the table shows the median over the rounds and the spread."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from common import HERE, Control, Worker, figures, median

PAIRS = ("transformer", "decoder", "synthetic")
ROUNDS = 3
# name: timeslice of offline, timeslice of online (us; None: as it is), suspend offline for requests
# ("ahead": each is announced, and counts from when offline stands still)
ARRANGEMENTS = {
    "alone": None,
    "default": (None, None, False),
    "slice 1000": (1000, None, False),
    "slice 300": (300, None, False),
    "slice 100": (100, None, False),
    "slice 50": (50, None, False),
    "slice 50, online 20000": (50, 20000, False),
    "slice 20, online 20000": (20, 20000, False),
    "suspend": (None, None, True),
    "suspend ahead": (None, None, "ahead"),
    "slice 50 and suspend": (50, None, True),
}
ONLINE = "15 20 25"  # gap in ms, kernels, us each (of the synthetic pair)


def worker(lab, pair, role, extra=None):
    if pair == "synthetic":
        return Worker(lab, lab.bin / "nvwork", "serve", extra=extra)
    return Worker(lab, sys.executable, HERE / "torch_pair.py", f"{pair}-{role}",
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


def both(online, offline, seconds, stop_pid, ahead=0):
    offline.start(f"offline {seconds} 2000")
    online.start(f"online {seconds} {ONLINE} {stop_pid} {ahead}")
    return online.answer(), offline.answer()


def block(control, online, offline, name, seconds):
    if name == "alone":
        online.start(f"online {seconds} {ONLINE} 0 0")
        first = online.answer()
        offline.start(f"offline {seconds / 2} 2000")
        return first, offline.answer()
    offline_us, online_us, suspend = ARRANGEMENTS[name]
    for process, us in ((offline, offline_us), (online, online_us)):
        if us:
            control.must(f"slice {process.pid} {us}")
    try:
        return both(online, offline, seconds, offline.pid if suspend else 0,
                    1 if suspend == "ahead" else 0)
    finally:
        for process, us in ((offline, offline_us), (online, online_us)):
            if us:
                control.must(f"share {process.pid} 1000")


def summary(blocks):
    online = [figures(b["online_us"]) for b in blocks]
    rates = [b["offline_per_s"] for b in blocks]
    return {"p50": median([f["p50"] for f in online]), "p90": median([f["p90"] for f in online]),
            "p99": median([f["p99"] for f in online]),
            "p99_spread": [min(f["p99"] for f in online), max(f["p99"] for f in online)],
            "max": max(f["max"] for f in online), "offline_per_s": median(rates),
            "offline_spread": [min(rates), max(rates)],
            "requests": sum(f["n"] for f in online)}


def show(table):
    alone, default = table["alone"], table["default"]
    print(f"{'arrangement':24} {'p50':>8} {'p90':>8} {'p99':>8} {'(spread)':>16} {'max':>9} {'/alone':>7} "
          f"{'offline/s':>10} {'/default':>8}")
    for name, t in table.items():
        low, high = t["p99_spread"]
        print(f"{name:24} {t['p50']:8.0f} {t['p90']:8.0f} {t['p99']:8.0f} {f'{low:.0f}-{high:.0f}':>16} "
              f"{t['max']:9.0f} {t['p99'] / alone['p99']:7.2f} {t['offline_per_s']:10.2f} "
              f"{t['offline_per_s'] / default['offline_per_s']:8.3f}", flush=True)


def run(lab, results, options):
    mps = Mps()
    try:
        return compare(lab, results, options, mps)
    finally:
        mps.close()


def chosen(options):
    """The arrangements asked for; alone and default always, for the ratios."""
    names = list(ARRANGEMENTS) + ["mps", "mps, priority"]
    if not options.arrangements:
        return names
    asked = {name.strip() for name in options.arrangements.split(";")} | {"alone", "default"}
    if asked - set(names):
        raise SystemExit(f"no such arrangements: {sorted(asked - set(names))}")
    return [name for name in names if name in asked]


def serve_mps(lab, pair, mps, names):
    """The pairs under MPS; none where it does not work."""
    served = {}
    try:
        for name in names:
            online, offline = (("0", "1") if name == "mps, priority" else ("0", "0"))
            served[name] = [
                worker(lab, pair, role, dict(mps.extra, CUDA_MPS_CLIENT_PRIORITY=priority))
                for role, priority in (("online", online), ("offline", offline))]
        for pairs in served.values():
            for w in pairs:
                w.wait()
    except RuntimeError as error:
        print("no MPS here:", error, flush=True)
        return {}
    return served


def compare(lab, results, options, mps):
    pair, begin = options.pair, time.time()
    names = chosen(options)
    control = Control(lab)
    online, offline = worker(lab, pair, "online"), worker(lab, pair, "offline")
    served = serve_mps(lab, pair, mps, [n for n in names if n not in ARRANGEMENTS]) if mps.up else {}
    online.wait(), offline.wait()
    names = [name for name in names if name in ARRANGEMENTS or name in served]
    attach = [control.must(f"attach {w.pid}") for w in (online, offline)]
    results.add("attach", {"pair": pair, "answers": attach, "groups": control.must(
        f"describe {offline.pid}")["groups"]})
    if served:
        refusal = control.say(f"attach {next(iter(served.values()))[0].pid}")
        results.add("mps refusal", refusal)
        print("attaching to a client of MPS:", os.strerror(-refusal["error"]))
    # Each block takes a little longer than it is told; "alone" half as long again.
    seconds = max(0.4, (options.seconds - (time.time() - begin) - 3) /
                  (ROUNDS * (len(names) + 0.5)) - 0.3)
    results.add("block seconds", seconds)
    print(f"started after {time.time() - begin:.1f} s, blocks of {seconds:.2f} s", flush=True)
    blocks = {name: [] for name in names}
    for turn in range(ROUNDS):
        for name in names:
            if name in ARRANGEMENTS:
                first, second = block(control, online, offline, name, seconds)
            else:
                first, second = both(*served[name], seconds, 0)
            if first.get("failed"):
                print(f"{name}: {first['failed']} calls failed")
            blocks[name].append({"online_us": first["us"], "offline_steps": second["steps"],
                                 "failed": first.get("failed", 0),
                                 "offline_per_s": second["steps"] / second["seconds"]})
        results.add("blocks", blocks)
        table = {name: summary(list_of) for name, list_of in blocks.items()}
        results.add("summary", table)
        print(f"round {turn + 1} of {ROUNDS} done after {time.time() - begin:.1f} s", flush=True)
    show(table)
    for w in [online, offline] + sum(served.values(), []):
        w.end()
    control.close()
    return 0
