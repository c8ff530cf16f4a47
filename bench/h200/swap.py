# SPDX-License-Identifier: MIT
"""gpreempt suspend --swap: a trainer in deterministic mode whose loss curve must be the same, bit by bit, with and without
being swapped out; cycles, kills at random points, refusals.

A run is a number of cycles on a new trainer. Runs that are in the results file are not measured again."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import Product, Worker, figures

CYCLES, RUNS, KILLS, RULE = 20, 5, 20, 5
STEPS = 6  # at least, between two cycles
TRAINER = r"""
import os, sys, struct
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
import torch
torch.use_deterministic_algorithms(True)
torch.manual_seed(17)
layers = [m for _ in range(6) for m in (torch.nn.Linear(2048, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 2048))]
model = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
ballast = torch.full((int(sys.argv[2]) << 20,), 7, dtype=torch.uint8, device="cuda")
generator = torch.Generator(device="cuda").manual_seed(5)
file = open(sys.argv[1], "wb", buffering=0)
print("ready", flush=True)
while True:
    x = torch.randn(256, 2048, device="cuda", generator=generator)
    optimizer.zero_grad(set_to_none=True)
    loss = (model(x) - x).pow(2).mean()
    loss.backward()
    optimizer.step()
    assert ballast[::1 << 20].min().item() == 7 and ballast[::1 << 20].max().item() == 7
    file.write(struct.pack("<f", loss.item()))
"""
MANAGED = r"""
import ctypes, time
cuda, context, at = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuMemAllocManaged(ctypes.byref(at), 1 << 26, 1) == 0
ctypes.memset(at.value, 1, 1 << 26)
print("ready", flush=True)
time.sleep(600)
"""
ENDLESS = r"""
import torch, time
torch.cuda._sleep(1000)
torch.cuda.synchronize()
print("ready", flush=True)
torch.cuda._sleep(int(1.7e9 * 15))
torch.cuda.synchronize()
print("over", flush=True)
time.sleep(600)
"""


class Trainer:
    def __init__(self, lab, place, megabytes):
        self.path = os.path.join(place, "losses")
        self.process = subprocess.Popen([sys.executable, "-c", TRAINER, self.path, str(megabytes)],
                                        stdout=subprocess.PIPE, text=True, env=lab.environment)
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError("the trainer did not start")
        self.pid = self.process.pid

    def steps(self):
        return os.path.getsize(self.path) // 4

    def advance(self, count, limit=60):
        """Until it has made so many steps more. False: it does not run."""
        wanted, end = self.steps() + count, time.time() + limit
        while self.steps() < wanted and time.time() < end and self.process.poll() is None:
            time.sleep(0.005)
        return self.steps() >= wanted

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with open(self.path, "rb") as file:
            return file.read()


def same(reference, losses):
    """How many steps both have, and whether they agree bit by bit."""
    length = min(len(reference), len(losses)) // 4 * 4
    return {"steps": length // 4, "identical": reference[:length] == losses[:length]}


def events_of(process):
    out, said = process.communicate(timeout=300)
    return [json.loads(line) for line in out.splitlines()], said


def cycle(product, trainer):
    """Out, a moment, back. The events, and whether it goes on."""
    keeper = product.popen("suspend", trainer.pid, "--swap-after", "0", "--json")
    lines = []
    while (line := keeper.stdout.readline()):
        lines.append(json.loads(line))
        if lines[-1]["event"] in ("swapped_out", "swap_failed"):
            break
    held = trainer.steps()
    time.sleep(0.2)
    stood_still = trainer.steps() == held
    back = product.call("resume", trainer.pid)
    more, said = events_of(keeper)
    return {"events": [(e["event"], e.get("took_ms")) for e in lines + more], "bytes": lines[-1].get("bytes"),
            "stood_still": stood_still, "resumed": back.returncode, "exit": keeper.returncode, "said": said,
            "goes_on": trainer.advance(STEPS)}


def kill_once(product, trainer, dice):
    """The command, its helper or both are killed at a random moment of a cycle; then `gpreempt release`."""
    keeper = product.popen("suspend", trainer.pid, "--swap-after", "0", "--json")
    after = dice.uniform(0, 3.5)
    resumes = dice.random() < 0.5
    time.sleep(after)
    if resumes:  # somewhere on the way back
        keeper.send_signal(signal.SIGINT)
        time.sleep(dice.uniform(0, 1.2))
    whom = dice.choice(("command", "helper", "both"))
    if whom != "helper":
        keeper.kill()
    killed = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/comm") as comm, open(f"/proc/{name}/environ", "rb") as environ:
                ours = comm.read() == "gp-swap\n" and f"GPREEMPT_DIR={product.place}".encode() in environ.read().split(b"\0")
            if ours and whom != "command":
                os.kill(int(name), signal.SIGKILL)
                killed += 1
        except OSError:
            continue
    if whom == "helper":
        keeper.send_signal(signal.SIGINT)
    lines, _ = events_of(keeper)
    released = product.call("release", trainer.pid)
    return {"after_s": after, "resumes": resumes, "killed": whom, "helpers": killed, "exit": keeper.returncode,
            "events": [e["event"] for e in lines], "released": released.returncode, "said": released.stderr,
            "goes_on": trainer.advance(STEPS)}


def refusal(lab, product, program):
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=lab.environment)
    process.stdout.readline()
    done = product.call("suspend", process.pid, "--swap-after", "0", "--for", "8s", "--json")
    over = program is not ENDLESS or process.stdout.readline().strip() == "over"
    process.kill()
    process.wait()
    process.stdout.close()
    return {"exit": done.returncode, "events": [json.loads(line)["event"] for line in done.stdout.splitlines()],
            "said": done.stderr, "work_was_done": over}


def by_rule(lab, product, trainer, cycles):
    """Out while a strict server is there, and back when it ends: what gpreemptd makes of `swap = after 1s`."""
    server_file, rows = lab.bin / "nvserver", []
    shutil.copy(lab.bin / "nvwork", server_file)
    product.start_daemon([trainer.pid], f"[rule server]\nexecutable = {server_file}\nclass = online\nattach = yes\n"
                         "strict = always\n[rule rest]\nexecutable = python*\nclass = offline\nattach = yes\nswap = after 1s\n")

    def job():
        answer = product.call("top", "--json")
        jobs = json.loads(answer.stdout)["jobs"] if answer.returncode == 0 else []
        return next((job for job in jobs if job["pid"] == trainer.pid), {})

    def wait(condition, limit=60):
        begin = time.time()
        while not condition() and time.time() < begin + limit:
            time.sleep(0.02)
        return time.time() - begin
    for _ in range(cycles):
        server = Worker(lab, *product.under("online"), server_file, "serve", extra=product.extra).wait()
        out = wait(lambda: job().get("swapped_bytes"))
        seen, held = job(), trainer.steps()
        time.sleep(0.5)
        row = {"out_s": out, "bytes": seen.get("swapped_bytes"), "away": seen.get("away"),
               "stood_still": trainer.steps() == held}
        server.end()
        row["back_s"] = wait(lambda: trainer.steps() > held)
        row["goes_on"] = trainer.advance(STEPS)
        row["why"] = product.call("why", trainer.pid).stdout[:1500]
        rows.append(row)
    log = (pathlib.Path(product.place) / "gpreemptd.log").read_text()
    product.stop_daemon()
    return rows, log[-3000:]


def show(steps):
    for name, row in steps.items():
        if "cycles" in row:
            took = {key: figures([ms for c in row["cycles"] for event, ms in c["events"] if event == key])
                    for key in ("swapped_out", "swapped_in")}
            print(f"{name}: {len(row['cycles'])} cycles, {sum(c['goes_on'] and c['stood_still'] for c in row['cycles'])} "
                  f"as expected, out ms {took['swapped_out']}, in ms {took['swapped_in']}, {row['same']}", flush=True)
        elif "kills" in row:
            print(f"{name}: {len(row['kills'])} kills, {sum(k['goes_on'] for k in row['kills'])} run on, {row['same']}",
                  flush=True)
        elif "by_rule" in row:
            print(f"{name}: {len(row['by_rule'])} cycles of gpreemptd, "
                  f"{sum(c['goes_on'] and c['stood_still'] and bool(c['bytes']) for c in row['by_rule'])} as expected, out s "
                  f"{figures([c['out_s'] for c in row['by_rule']])}, back s {figures([c['back_s'] for c in row['by_rule']])}, "
                  f"{row['same']}", flush=True)
        elif "said" in row:
            print(f"{name}: {row['exit']} {row['events']} {row['said'].strip()}", flush=True)


def measure(lab, results, options, product, begin, megabytes):
    def left():
        return options.seconds - (time.time() - begin)
    dice = random.Random(int(begin))
    with tempfile.TemporaryDirectory(prefix="gpswap-", dir="/dev/shm") as place:
        for name, program in (("managed memory", MANAGED), ("endless kernel", ENDLESS)):
            if not results.has(name) and left() > 40:
                results.add(name, refusal(lab, product, program))
        trainer = Trainer(lab, place, megabytes)
        trainer.advance(options.reference, 120)
        reference = trainer.end()
        results.add(f"reference of {int(begin)}", {"steps": len(reference) // 4, "megabytes": megabytes})
        if not results.has("rule") and left() > 60:
            trainer = Trainer(lab, place, megabytes)
            rows, log = by_rule(lab, product, trainer, RULE)
            results.add("rule", {"by_rule": rows, "log": log, "same": same(reference, trainer.end())})
        for run in ("run 1", "kills", *(f"run {i}" for i in range(2, RUNS + 1))):
            if results.has(run) or left() < 80:
                continue
            trainer, rows = Trainer(lab, place, megabytes), []
            for _ in range(KILLS if run == "kills" else CYCLES):
                if left() < 25:
                    break
                rows.append(kill_once(product, trainer, dice) if run == "kills" else cycle(product, trainer))
            results.add(run, {"kills" if run == "kills" else "cycles": rows, "same": same(reference, trainer.end())})
    show(results.data["steps"])
    return 0


def run(lab, results, options):
    if not options.product:
        raise SystemExit("swap needs --product")
    product = Product(lab, options.product)
    product.extra["LD_LIBRARY_PATH"] = product.environment["LD_LIBRARY_PATH"]
    try:
        return measure(lab, results, options, product, time.time(), options.megabytes)
    finally:
        product.close()
