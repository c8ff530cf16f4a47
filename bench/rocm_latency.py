#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers of ROCm 7.2 and 6.4 beside a HIP training loop on the virtual GPU: alone, with gpreemptd in mode observe, in mode act.

Two servers: online_server of examples/ with 7.2 in `native`, and the unmodified llama-server of Debian with 6.4 in `compat` (its
ggml has no gfx942). "attached": neither program was started with `gpreempt run`; rules of gpreemptd name both. The machine runs at a
fifth of its speed; latencies are of this host's clock and contain the model's durations, so only ratios say something.
Exits with status 1 if the mean latency in mode act is not below that in mode observe.

Needs root and the chroots of `make rocm-test`; takes about three minutes.

usage: bench/rocm_latency.py BUILD-DIRECTORY [SECONDS]
"""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(SOURCE / "bench"), str(SOURCE / "tests" / "rocm")]
import daemon_stage  # noqa: E402
import stage as stages  # noqa: E402

SPEED = "0.2"
RATE = 5     # requests per second of online_server
PAUSE = 0.2  # seconds between an answer of llama-server and the next request
WARM = 2     # requests to llama-server that do not count: the first loads its kernels
PORT = 18080
CONFIG = "[daemon]\nmode = {}\n[device *]\npolicy = priority\n"
RULES = "".join(f"[rule {name}]\nexecutable = {name}\nclass = {kind}\nattach = yes\n"
                for name, kind in (("offline_trainer", "offline"), ("online_server", "online")))
# Version of ROCm, personality, server, and its rows.
PARTS = (("7.2", "native", "online_server", ("alone", "observe", "act", "attached")),
         ("6.4", "compat", "llama-server", ("alone", "observe", "act")))


def lines(path):
    """The whole lines of a samples file, as numbers."""
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [[float(field) for field in line.split(",")] for line in file.read().split("\n")[1:-1]]


class Row:
    """One arrangement, on a new machine."""

    def __init__(self, stage, mode, seconds):
        self.stage, self.mode, self.seconds = stage, mode, seconds
        self.steps = os.path.join(stage.place, "steps")
        if mode != "alone":
            self.start_daemon()
            self.begin("offline", stage.program("examples", "offline_trainer"), "--load", "spin", "--seconds", "3600",
                       "--samples", self.steps)
            stage.until(lambda: len(lines(self.steps)) > 10, "the trainer does not work")

    def start_daemon(self):
        path = os.path.join(self.stage.place, "gpreemptd.conf")
        with open(path, "w") as file:
            file.write(CONFIG.format("observe" if self.mode == "observe" else "act") + (RULES if self.mode == "attached" else ""))
        self.stage.begin(self.stage.gpreemptd, "--config", path)
        self.stage.until(lambda: "pid" in self.stage.top(), "gpreemptd does not start")

    def begin(self, kind, *command):
        agent = self.mode in ("observe", "act")
        return self.stage.begin(*((self.stage.gpreempt, "run", "--class", kind, "--") if agent else ()), *command)

    def online_server(self):
        samples = os.path.join(self.stage.place, "samples")
        server = self.begin("online", self.stage.program("examples", "online_server"), "--load", "spin", "--rate", str(RATE),
                            "--seconds", str(self.seconds), "--samples", samples)
        try:
            status = server.wait(daemon_stage.LIMIT)
        except subprocess.TimeoutExpired:
            for what in (("log", "--all", "--lines", "100"), ("status",), ("vgpu", "status")):
                print(self.stage.quietly(*what).stdout.decode(), file=sys.stderr)
            status = "none, it does not end"
        if status:
            raise SystemExit(f"online_server: status {status}")
        return [(row[2] - row[0]) * 1e3 for row in lines(samples)]

    def llama_server(self):
        model = os.path.join(self.stage.place, "tiny.gguf")
        subprocess.run([sys.executable, SOURCE / "tests" / "rocm" / "tiny_model.py", model], check=True)
        self.begin("online", "llama-server", "-m", model, "-ngl", "99", "--host", "127.0.0.1", "--port", str(PORT), "-c", "256",
                   "--no-warmup")
        self.stage.until(lambda: self.ask("GET", "/health") == 200, "llama-server does not start")
        taken = []
        end = None
        while end is None or time.monotonic() < end:
            began = time.monotonic()
            status = self.ask("POST", "/completion", json.dumps({"prompt": "w1 w2", "n_predict": 2}))
            if status != 200:
                raise SystemExit(f"llama-server: status {status}")
            taken.append((time.monotonic() - began) * 1e3)
            if len(taken) == WARM:
                end = time.monotonic() + self.seconds
            time.sleep(PAUSE)
        return taken[WARM:]

    @staticmethod
    def ask(method, path, body=None):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=daemon_stage.LIMIT)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            return connection.getresponse().status
        except OSError:
            return None

    def measure(self, server):
        began = time.monotonic()
        latencies = self.online_server() if server == "online_server" else self.llama_server()
        took = time.monotonic() - began
        if not latencies:
            raise SystemExit(f"{server}: no request was answered")
        row = {"mode": self.mode, "requests": len(latencies), "mean": sum(latencies) / len(latencies),
               "p50": percentile(latencies, .5), "p99": percentile(latencies, .99)}
        if self.mode != "alone":
            stats = json.loads(self.stage.quietly("stats", "--json").stdout)
            row.update(steps=sum(line[0] >= began for line in lines(self.steps)) / took, preempted=stats["preemptions"],
                       failed=stats["failures"])
        return row


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def inside(personality, server, seconds, *modes):
    """In a chroot: one line of JSON per row."""
    for mode in modes:
        with daemon_stage.Stage(server, "/gp", "--personality", personality, "--speed", SPEED) as stage:
            print(json.dumps(Row(stage, mode, float(seconds)).measure(server)), flush=True)


def print_row(server, version, row):
    def text(name, form):
        return format(row[name], form) if name in row else "-"

    print(f"{server:14}{version:>5}  {row['mode']:9}{row['requests']:>9}{row['mean']:>10.1f}{row['p50']:>10.1f}{row['p99']:>10.1f}"
          f"{text('steps', '.1f'):>9}{text('preempted', ''):>11}{text('failed', ''):>8}", flush=True)


def main():
    if sys.argv[1:2] == ["--inside"]:
        return inside(*sys.argv[2:])
    build, seconds = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2] if len(sys.argv) > 2 else "10"
    if os.geteuid() or not all(stages.is_ready(part[0]) for part in PARTS):
        raise SystemExit("rocm_latency: needs root and the chroots that make rocm-test builds")
    good = True
    print(f"{'server':14}{'ROCm':>5}  {'mode':9}{'requests':>9}{'mean ms':>10}{'p50':>10}{'p99':>10}{'steps/s':>9}{'preempted':>11}"
          f"{'failed':>8}")
    for version, personality, server, modes in PARTS:
        stage = stages.Stage(version, build)
        errors = [f"{name}: {error}" for name, error in stage.compile() if error and name.startswith("examples/")]
        if errors:
            raise SystemExit("\n".join(errors))
        words = stage.command(["python3", "/src/bench/rocm_latency.py", "--inside", personality, server, seconds, *modes])
        rows = {}
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                row = json.loads(line)
                rows[row["mode"]] = row
                print_row(server, version, row)
        if child.returncode or len(rows) < len(modes):
            raise SystemExit(f"rocm_latency: {server}: status {child.returncode}")
        good &= all(rows[mode]["mean"] < rows["observe"]["mean"] for mode in modes if mode != "observe")
    print(f"host load {os.getloadavg()[0]:.1f}; {'ok' if good else 'MISSED: mode act does not shorten the mean'}")
    return 0 if good else 1


sys.exit(main())
