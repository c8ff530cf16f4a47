# SPDX-License-Identifier: MIT
"""The demonstration with a real server: llama-server of llama.cpp, unmodified, beside a training loop.

The virtual GPU executes every kernel of both (`--compute on`), so results can be compared: the tokens of each request with those that
llama-server makes alone and with those of its CPU backend, and the weights of the trainer after each step. The model is a small one with random
weights, made here. Requests come over HTTP on the loopback, at random times that are the same in every run, whether earlier ones are answered or
not. When a kernel starts and how long it takes is the model's decision; the processor of this host executes it, and where it needs longer
than the model says, the time is the host's.
"""
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "rocm"))
import demo_report  # noqa: E402
import tiny_model  # noqa: E402
from demo_machine import BIN, EXAMPLES, OUT, fail, host_before, percentile, rows, say, say_where, session, wait_for  # noqa: E402

PROGRAM = "llama-server"
NO_PROCESSOR = "this processor cannot execute kernels"
PACKAGES = "Debian sid: llama.cpp-tools and libggml0-backend-hip"
PERSONALITY = "compat"  # ggml of Debian has kernels for gfx90a, not for gfx942
SPEED = 1               # the time of this host to execute kernels is the larger part
SHAPE = tiny_model.Shape(width=64, heads=1, inner=128)
SEED = 1                # of arrivals and prompts
REQUESTS = 6
TOKENS = 8              # of an answer
GAP_S = 1.0             # between two arrivals, on average
ANSWER_LIMIT = 60      # seconds after the last arrival; a request that has no answer then counts with the time it has waited
TRAINER_SECONDS = 5     # alone
GPU, CPU = ("-ngl", "99"), ("-ngl", "0", "--device", "none")
NAMES = {"alone": "alone", "without": "both, no control", "with": "with gpreempt"}


# ---- which server ----

def has_backend(server, root="/"):
    """Whether llama.cpp finds a HIP backend: a plug-in of ggml, or one that it is linked with."""
    places = [pathlib.Path(root, "usr/lib"), pathlib.Path(root, "usr/local/lib"), server.resolve().parent, server.resolve().parent.parent / "lib"]
    if any(next(place.glob(pattern), None) for place in places if place.is_dir()
           for pattern in ("libggml-hip.so*", "*/libggml-hip.so*", "ggml*/**/libggml-hip.so*", "*/ggml*/**/libggml-hip.so*")):
        return True
    linked = subprocess.run(["ldd", server], capture_output=True, text=True, check=False).stdout if root == "/" else ""
    return "libggml-hip" in linked or "libamdhip64" in linked


def is_in(root):
    """Whether a chroot has it."""
    server = pathlib.Path(root, "usr/bin", PROGRAM)
    return server.exists() and has_backend(server, root)


def processor_problem():
    """Why this processor cannot execute kernels, also in a chroot, or None."""
    if os.environ.get("DEVICE", "vgpu") == "kfd":
        return None
    flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    missing = [name for name in ("avx2", "fma", "f16c") if name not in (flags[1].split() if flags else ())]
    return f"{NO_PROCESSOR}: it has no {', '.join(missing)}" if missing else None


def problem():
    """Why llama-server cannot be the server on this machine, or None."""
    if wrong := processor_problem():
        return wrong
    server = shutil.which(PROGRAM)
    if not server:
        return f"{PROGRAM} is not installed ({PACKAGES})"
    if not has_backend(pathlib.Path(server)):
        return f"{server} has no HIP backend ({PACKAGES})"
    return None


def choose(wanted, trouble, chroots):
    """The server, the chroot that it is in (None: this machine), and a line that says why. Server None: the line is an error."""
    if wanted == "example":
        return "example", None, "server: examples/online_server, as requested"
    if not trouble:
        return "llama", None, f"server: {shutil.which(PROGRAM) or PROGRAM} of llama.cpp with its HIP backend, unmodified"
    if chroots and not trouble.startswith(NO_PROCESSOR):
        return "llama", chroots[0], ""
    if wanted == "llama":
        return None, None, f"--server llama: {trouble}"
    return "example", None, f"server: examples/online_server ({trouble})"


# ---- requests ----

def make_requests():
    """Of each: when it arrives, in seconds from the beginning, and its prompt."""
    values, at, made = random.Random(SEED), 0.0, []
    for _ in range(REQUESTS):
        made.append((at, " ".join(f"w{values.randrange(200)}" for _ in range(values.randrange(3, 9)))))
        at += values.expovariate(1 / GAP_S)
    return made


def ask(port, method, path, body=None):
    """Status and body of an answer. Raises OSError, HTTPException or, of what is not JSON, ValueError."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2 * ANSWER_LIMIT)
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def complete(port, prompt):
    """The tokens that the server makes of a prompt: the most likely ones, so there is one right answer."""
    status, answer = ask(port, "POST", "/completion", {
        "prompt": prompt, "n_predict": TOKENS, "temperature": 0, "top_k": 1, "seed": 1, "cache_prompt": False, "ignore_eos": True,
        "return_tokens": True})
    if status != 200:
        raise ValueError(f"status {status}: {json.dumps(answer)[:200]}")
    return answer.get("tokens") or answer["content"]  # older servers give the text only


class Request(threading.Thread):
    """Sent at its time, whether earlier ones are answered or not."""

    def __init__(self, port, begin, arrival, prompt):
        super().__init__(daemon=True)
        self.port, self.arrival, self.prompt = port, begin + arrival, prompt
        self.done = self.tokens = self.error = None
        self.start()

    def run(self):
        time.sleep(max(0, self.arrival - time.monotonic()))
        try:
            tokens = complete(self.port, self.prompt)
            self.done, self.tokens = time.monotonic(), tokens
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            self.error = str(error) or type(error).__name__

    def latency(self, end):
        return (self.done or end) - self.arrival


# ---- runs ----

class Run:
    """llama-server, the trainer or both, with or without gpreempt."""

    def __init__(self, machine, key, online=True, offline=True, act=False):
        self.machine, self.key, self.online, self.offline, self.act = machine, key, online, offline, act
        self.requests, self.steps, self.begin, self.end = [], [], None, None
        self.stats = self.trace = None

    def command(self, job_class, *words):
        return [BIN / "gpreempt", "run", "--class", job_class, "--", *words] if self.act else words

    def serve(self, *device):
        """Starts llama-server and waits until it answers. Returns its process and its port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = f"{self.key}.{PROGRAM}.log"
        words = [PROGRAM, "-m", self.machine.work / "model.gguf", "--host", "127.0.0.1", "--port", port, "-c", "256", "-np", "1", "-t", "1",
                 "-fa", "off", "--no-warmup", *device]
        child = self.machine.start(self.command("online", *words) if device[:2] == GPU[:2] else words, log, inside=device[:2] == GPU[:2])

        def answers():
            try:
                return ask(port, "GET", "/health")[0] == 200
            except (OSError, http.client.HTTPException, ValueError):
                return False

        try:
            wait_for(answers, child, PROGRAM)
            complete(port, "w1")  # loads the kernels; not counted
        except (SystemExit, OSError, http.client.HTTPException, ValueError, KeyError) as error:
            lines = (self.machine.work / log).read_text(errors="replace").splitlines()
            fail(f"{PROGRAM} does not answer{'' if isinstance(error, SystemExit) else f' ({error})'}. Its last lines:\n  "
                 + "\n  ".join(lines[-12:]) + "\n'scripts/demo --server example' does without it.")
        return child, port

    def train(self):
        samples = self.machine.work / f"{self.key}.trainer.csv"
        words = [EXAMPLES / "offline_trainer", "--load", "learn", "--priority", "normal", "--seconds", "600", "--samples", samples]
        child = self.machine.start(self.command("offline", *words), f"{self.key}.trainer.log")
        wait_for(lambda: len(rows(samples)) >= 2, child, "offline_trainer")
        return child, samples

    def request(self, port):
        """All of them; those without an answer at the end have waited until then."""
        begin = time.monotonic()
        self.requests = [Request(port, begin, *request) for request in make_requests()]
        limit = self.requests[-1].arrival + ANSWER_LIMIT
        for request in self.requests:
            request.join(max(0, limit - time.monotonic()))
        self.begin, self.end = begin, time.monotonic()

    def on_cpu(self):
        """The same requests to the CPU backend, which knows nothing of a GPU."""
        server, port = self.serve(*CPU)
        self.request(port)
        self.machine.end(server)
        return self

    def run(self):
        machine, daemon, server, trainer = self.machine, None, None, None
        if self.act:
            daemon = machine.daemon()
        if self.online:
            server, port = self.serve(*GPU)
        if self.offline:
            trainer, samples = self.train()
        if daemon:
            wait_for(lambda: machine.has_jobs(2), daemon, "gpreemptd")
        if self.online:
            self.request(port)
            self.check_gpu(server)
        else:
            self.begin = time.monotonic()
            time.sleep(TRAINER_SECONDS)
            self.end = time.monotonic()
        if trainer:
            self.steps = rows(samples)
            machine.end(trainer)
        if daemon:
            self.stats = json.loads(machine.check("stats", "--json"))
            self.trace = json.loads(machine.check("log", "--perfetto", "-"))["traceEvents"]
        if server:
            machine.end(server)
        if daemon:
            machine.end(daemon)
        return self

    def check_gpu(self, server):
        """A server that fell back to the processor would show nothing."""
        if server.poll() is not None:
            fail(f"{PROGRAM} ended while it was asked (exit status {server.returncode})")
        if not self.machine.virtual:
            return
        status = json.loads(self.machine.check("vgpu", "status", "--name", self.machine.name, "--json"))
        if not any(PROGRAM in process.get("name", PROGRAM) and queue["completed"] for process in status["processes"] for queue in process["queues"]
                   if queue["type"] == "aql"):
            fail(f"{PROGRAM} did nothing on the GPU")

    def latencies_us(self):
        return [request.latency(self.end) * 1e6 for request in self.requests]

    def tokens(self):
        return [request.tokens for request in self.requests]

    def weights(self):
        return [int(step[1]) for step in self.steps]

    def steps_per_s(self):
        """While requests were under way, by the wall clock."""
        inside = [step[0] for step in self.steps if self.begin <= step[0] <= self.end]
        return len(inside) / (self.end - self.begin)

    def figures(self):
        us = self.latencies_us()
        return {"p50_us": percentile(us, .5), "max_us": max(us), "mean_us": sum(us) / len(us), "requests": len(us),
                "served": sum(request.done is not None for request in self.requests),
                "errors": [request.error for request in self.requests if request.error]}


# ---- what was computed ----

def token_differences(reference, tokens):
    """Requests that were answered with other tokens: number, expected, got. One without an answer has none."""
    return [(number, expected, got) for number, (expected, got) in enumerate(zip(reference, tokens)) if got is not None and got != expected]


def weight_differences(runs):
    """Steps after which the weights of two runs differ, with the runs; every run begins with the same weights."""
    longest = max(runs, key=lambda key: len(runs[key]))
    return [(key, step) for key, weights in runs.items() for step, weight in enumerate(weights) if weight != runs[longest][step]]


def compare(cpu, runs):
    """Everything that was computed more than once."""
    alone = runs["alone"].tokens()
    return {"tokens": {key: [list(row) for row in token_differences(alone, run.tokens())] for key, run in runs.items() if run.online},
            "cpu": [list(row) for row in token_differences(cpu.tokens(), alone)],
            "weights": [list(row) for row in weight_differences({key: run.weights() for key, run in runs.items() if run.offline})]}


def judge(report):
    """Each claim: met, missed, or busy, and the sentence."""
    online, differ = report["online"], report["differences"]
    answered = sum(row["served"] for row in online.values())
    wrong = sum(map(len, differ["tokens"].values()))
    verdicts = {"tokens": (not wrong and answered > 0, f"tokens are those made alone: {answered - wrong} of {answered} answers"),
                "cpu": (not differ["cpu"], f"tokens made alone are those of the CPU backend: {online['alone']['served'] - len(differ['cpu'])} of "
                        f"{online['alone']['served']} answers"),
                "weights": (not differ["weights"], f"weights of the trainer are the same after each step, suspended or not: {report['steps']} steps"),
                "answered": (all(row["served"] == row["requests"] for row in online.values()), "every request is answered"),
                "sooner": (online["with"]["mean_us"] < online["without"]["mean_us"], "answers come sooner with gpreempt than without: "
                           f"{online['without']['mean_us'] / online['with']['mean_us']:.1f} times on average")}
    soft = ("answered", "sooner")
    return {key: {"verdict": "met" if met else "busy" if key in soft and report["host"]["busy"] else "missed", "text": text}
            for key, (met, text) in verdicts.items()}


def collect(cpu, runs, machine, host, seconds):
    host = host | {"load_after": os.getloadavg()[0]}
    host["busy"] = host["load_before"] > host["cores"] / 2
    report = {"server": PROGRAM, "virtual": machine.virtual, "device": "virtual MI308X (modelled times, executed kernels)" if machine.virtual else "AMD GPU",
              "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "version": machine.version(), "llama": llama_version(), "seed": SEED,
              "mechanism": "kfd-agent", "machine": machine.name, "speed": machine.speed, "seconds": seconds, "host": host, "tokens_per_answer": TOKENS,
              "online": {key: runs[key].figures() for key in NAMES},
              "offline": {key: {"items_per_s": runs[key].steps_per_s(), "steps": len(runs[key].steps)} for key in ("offline", "without", "with")},
              "steps": sum(len(run.steps) for run in runs.values()), "differences": compare(cpu, runs),
              "preemptions": demo_report.count(runs["with"].stats, "preemptions", "suspends"),
              "declined": demo_report.count(runs["with"].stats, "declined")}
    report["targets"] = judge(report)
    return report


def llama_version():
    done = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version: *(.*)", done.stdout + done.stderr)
    return found[1] if found else "unknown"


def headline(report):
    online, offline = report["online"], report["offline"]
    before, after = online["without"]["mean_us"], online["with"]["mean_us"]
    return (f"{before / after:.1f} x faster answers",
            f"Beside training, llama-server answers in {after / 1e6:.2f} s on average instead of {before / 1e6:.2f} s ({online['alone']['mean_us'] / 1e6:.2f} s "
            f"with the GPU to itself). Training keeps {100 * offline['with']['items_per_s'] / offline['offline']['items_per_s']:.0f} % of the speed it has "
            f"alone. {'Every token is the same.' if report['targets']['tokens']['verdict'] == 'met' else 'TOKENS DIFFER.'}")


TIMES = ("Times are wall-clock times. The model of the virtual GPU decides when a kernel starts and how long it takes; the processor of this host "
         "executes it and may need longer. Compare the rows with each other, not with hardware.")


def cells(report, key):
    row = report["online"][key]
    rate = report["offline"].get(key)
    return (NAMES[key], f"{row['served']} of {row['requests']}", row["p50_us"] / 1e3, row["mean_us"] / 1e3, row["max_us"] / 1e3,
            "reference" if key == "alone" else f"{row['served'] - len(report['differences']['tokens'][key])} equal",
            rate and rate["items_per_s"])


def text(report):
    lines = ["", *textwrap.wrap(": ".join(headline(report)), 118), "",
             f"{'':20}{'answered':>12}{'p50':>10}{'mean':>10}{'max':>10}{'tokens':>12}{'training':>12}",
             f"{'':20}{'':12}{'ms':>10}{'ms':>10}{'ms':>10}{'':12}{'steps/s':>12}"]
    for key in NAMES:
        name, answered, p50, mean, most, same, rate = cells(report, key)
        lines.append(f"{name:20}{answered:>12}{p50:>10.0f}{mean:>10.0f}{most:>10.0f}{same:>12}{'' if rate is None else f'{rate:.2f}':>12}")
    lines.append(f"{'training alone':20}{'':54}{report['offline']['offline']['items_per_s']:>12.2f}")
    lines += ["", f"preemptions {report['preemptions']}, declined {report['declined']}; mechanism: {report['mechanism']}; device: {report['device']}",
              *(textwrap.wrap(TIMES, 118) if report["virtual"] else ()), ""]
    lines += [f"{demo_report.VERDICTS[target['verdict']]} {target['text']}" for target in report["targets"].values()]
    lines += [f"       {line}" for line in differences(report)]
    if report["host"]["busy"]:
        lines.append(f"       (this host was busy: load {report['host']['load_before']:.1f} before, on {report['host']['cores']} cores)")
    return "\n".join(lines) + "\n"


def differences(report):
    """The first of each kind, in words."""
    differ, lines = report["differences"], []
    for key, found in (*differ["tokens"].items(), ("CPU backend", differ["cpu"])):
        if found:
            number, expected, got = found[0]
            lines.append(f"{NAMES.get(key, key)}, request {number}: {got} instead of {expected}")
    lines += [f"{NAMES.get(key, key)}: weights differ after step {step}" for key, step in differ["weights"][:1]]
    lines += [f"{NAMES[key]}: {row['errors'][0]}" for key, row in report["online"].items() if row["errors"]]
    return lines


def document(report, runs):
    """The page, as the document that gpreempt-page writes."""
    figure, sentence = headline(report)
    colours, host = {"met": "green", "busy": "yellow", "missed": "red"}, report["host"]
    table = [[name, answered, demo_report.ms(p50 * 1e3), demo_report.ms(mean * 1e3), demo_report.ms(most * 1e3), same, {"rate": rate} if rate else ""]
             for name, answered, p50, mean, most, same, rate in (cells(report, key) for key in NAMES)]
    facts = (("server", f"{PROGRAM} of llama.cpp, version {report['llama']}, unmodified"), ("device", report["device"]),
             ("mechanism", report["mechanism"]), ("date", report["date"]), ("version", report["version"]),
             ("host", f"{host['name']}, {host['cores']} cores, load {host['load_before']:.1f} before and {host['load_after']:.1f} after"),
             ("seed", report["seed"]), ("preemptions", f"{report['preemptions']}, declined {report['declined']}"))
    return {"title": "gpreempt demo", "blocks": [
        {"headline": figure, "text": sentence},
        {"section": "Before and after"},
        {"chart": "llama-server: mean time to an answer, wall clock (shorter is better)",
         "of": [[name, demo_report.ms(report["online"][key]["mean_us"])] for key, name in NAMES.items()]},
        {"chart": "Training: steps per second of wall clock (longer is better)",
         "of": [[NAMES.get(key, "alone (no server)"), {"rate": row["items_per_s"]}] for key, row in report["offline"].items()]},
        *([{"line": TIMES}] if report["virtual"] else []),
        {"section": "The GPU over time"},
        {"line": "llama-server answers one request after the other; a request is drawn as running from the moment its turn has come until it is "
         "answered. Without control its kernels wait for those of the trainer; with gpreempt the trainer is suspended for them, in the middle of its kernel."},
        lanes("With gpreempt", runs["with"]), lanes("Both, no control", runs["without"]),
        {"section": "Results"},
        {"table": None, "columns": ["RUN", "ANSWERED", "P50", "MEAN", "MAX", "TOKENS", "TRAINING STEPS"], "rows": table},
        {"table": None, "columns": ["", "CLAIM"], "rows": [[{"text": demo_report.VERDICTS[target["verdict"]].strip(), "colour": colours[target["verdict"]]},
                                                            target["text"]] for target in report["targets"].values()]},
        *({"line": line} for line in differences(report)),
        {"section": "This run"}, *({"fact": name, "value": value} for name, value in facts)]}


def lanes(title, run):
    """Requests and the trainer over the whole run."""
    def ns(at):
        return round((min(max(at, run.begin), run.end) - run.begin) * 1e9)

    def put(first, last, kind):
        return [ns(first), ns(last), kind]

    rows_of, ends, turn = [], [], run.begin
    for request in run.requests:
        row = next((i for i, at in enumerate(ends) if at <= request.arrival), len(ends))
        if row == len(ends):
            if row == 6:
                continue
            ends.append(0)
            rows_of.append([])
        ends[row], turn = request.done or run.end, max(turn, request.arrival)
        rows_of[row] += [put(request.arrival, turn, "waits")] * (turn > request.arrival) + [put(turn, ends[row], "runs")]
        turn = max(turn, ends[row])
    held = [span for span in demo_report.held_spans(run) if span[1] > run.begin and span[0] < run.end]
    trainer = [put(*span, "suspended") for span in held] + [put(*span, "runs") for span in demo_report.gaps(held, run.begin, run.end)]
    return {"lanes": title, "from_ns": 0, "to_ns": round((run.end - run.begin) * 1e9),
            "of": [["" if i else "requests", row] for i, row in enumerate(rows_of)] + [["trainer", trainer]]}


def run():
    """Returns the exit status: 1 if something was computed that should not have been."""
    begin, host = time.monotonic(), host_before()
    with session(SPEED, PERSONALITY, compute=True) as machine:
        tiny_model.write(machine.work / "model.gguf", SHAPE)
        say(f"{REQUESTS} requests of {TOKENS} tokens to a model with random weights; the virtual GPU executes every kernel")
        plans = (("cpu", f"{PROGRAM} on its CPU backend, for comparison", {}), ("alone", f"{PROGRAM} alone", {"offline": False}),
                 ("offline", "the trainer alone", {"online": False}), ("without", "both, no control", {}),
                 ("with", "both, with gpreempt", {"act": True}))
        runs = {}
        for number, (key, words, options) in enumerate(plans, 1):
            say(f"[{number}/{len(plans)}] {words} ...", end="")
            started, one = time.monotonic(), Run(machine, key, **options)
            runs[key] = one.on_cpu() if key == "cpu" else one.run()
            say(f" {time.monotonic() - started:.0f} s")
        cpu = runs.pop("cpu")
        report = collect(cpu, runs, machine, host, time.monotonic() - begin)
        demo_report.write(report, document(report, runs), OUT, BIN / "gpreempt-page")
        say(text(report))
        say_where()
    return 1 if any(report["targets"][key]["verdict"] == "missed" for key in ("tokens", "cpu", "weights")) else 0
