# SPDX-License-Identifier: MIT
"""The parts that a suspension stops (kernels only, or also copies), and strict holds of gpreemptd.

copies: one process runs kernels and copies at once. `gpreempt suspend` without and with --copy-engines, one
inside the other, and the holder killed: which parts stop, which go on, the time until they run again. strict:
a server announces requests; a rule has the trainer below it stopped for each of them, or as long as the
server is there. Data, launches and registers are checked in the end."""
import json
import os
import re
import shutil
import signal
import time

from commands import Checks
from common import Product, Watched, Worker, figures

TRIALS = 50
LOOK_S = 0.05  # both do something many times in it
SETTLE_S = 0.02  # a copy under way ends by itself
LIMIT_S = 20


def moving(worker, seconds=LOOK_S):
    """Whether kernels, and copies, went on during that time."""
    kernels, copies = worker.progress(), worker.copies()
    time.sleep(seconds)
    return worker.progress() != kernels, worker.copies() != copies


def await_moving(worker, what=(True, True)):
    """Seconds until it is so, or None."""
    begin = time.time()
    first = worker.progress(), worker.copies()
    while time.time() < begin + LIMIT_S:
        if all(not wanted or now != was for wanted, now, was in zip(what, (worker.progress(), worker.copies()), first)):
            return time.time() - begin
        time.sleep(0.0002)
    return None


def hold(product, worker, *options):
    """A `gpreempt suspend` that stays, once it has."""
    client = product.popen("suspend", worker.pid, "--json", "--lease", "30s", "--verbose", *options)
    line = client.stdout.readline()
    if "suspended" not in line:
        raise RuntimeError(line + client.communicate(timeout=30)[1])
    return client


def let_go(client):
    """Ends it; returns the times that it reported, us."""
    client.send_signal(signal.SIGINT)
    text = client.communicate(timeout=30)[1]
    return [float(number) for number in re.findall(r"([0-9.]+) us", text)]


def trial(product, worker, *options):
    client = hold(product, worker, *options)
    time.sleep(SETTLE_S)
    seen = moving(worker)
    took = let_go(client)
    return {"moving": seen, "again_ms": (await_moving(worker) or LIMIT_S) * 1e3, "took_us": took}


def nested(product, worker, check):
    first, second = hold(product, worker), hold(product, worker, "--copy-engines")
    time.sleep(SETTLE_S)
    check.that("both hold: nothing moves", moving(worker) == (False, False))
    status = product.call("status", worker.pid, "--json").stdout
    check.that("status says so", json.loads(status or "{}").get("copy_engines") is True, status)
    check.that("status lists it", "all, with copies" in product.call("status").stdout)
    let_go(second)
    check.that("the copy engines' holder let go: copies move, kernels do not",
               await_moving(worker, (False, True)) is not None and moving(worker) == (False, True))
    let_go(first)
    check.that("both let go: both move", await_moving(worker) is not None)


def killed(product, worker, check, times):
    took = []
    for _ in range(times):
        client = hold(product, worker, "--copy-engines")
        time.sleep(SETTLE_S)
        still = moving(worker, 0.02) == (False, False)
        begin = time.time()
        os.kill(product.holder(), signal.SIGKILL)
        again = await_moving(worker)
        took.append({"stood": still, "ms": (time.time() - begin) * 1e3 if again is not None else None})
        client.kill()
        client.communicate(timeout=30)
    check.that("holder killed: kernels and copies run again, each time",
               all(t["stood"] and t["ms"] is not None for t in took), took)
    return took


def copies(lab, product, check, trials):
    worker, found = Watched(lab, "copier", "copy", "100"), {}
    try:
        check.that("before: both move", moving(worker) == (True, True))
        for name, options, want in (("kernels only", (), (False, True)), ("copy engines", ("--copy-engines",), (False, False))):
            found[name] = [trial(product, worker, *options) for _ in range(trials)]
            check.that(f"{name}: kernels stand, copies {'move' if want[1] else 'stand'}, in {trials} of {trials}",
                       all(t["moving"] == want for t in found[name]), found[name])
            check.that(f"{name}: both run again after it", all(t["again_ms"] < LIMIT_S * 1e3 for t in found[name]))
            print(name, "us: call", figures([t["took_us"][0] for t in found[name] if t["took_us"]]), "in the driver",
                  figures([t["took_us"][2] for t in found[name] if len(t["took_us"]) > 2]), flush=True)
        nested(product, worker, check)
        found["holder killed"] = killed(product, worker, check, max(2, trials // 3))
        print("holder killed, ms:", figures([t["ms"] for t in found["holder killed"] if t["ms"]]), flush=True)
    finally:
        found["end"] = worker.end()
    check.that("every launch ran once and every pattern came back", found["end"].get("wrong") == 0, found["end"])
    print(found["end"], flush=True)
    return found


def announced(server, word):
    server.start(word)
    return server.answer()["at_ns"]


def stand_ns(worker, since_ns):
    """From a moment until its kernels' last progress, once there was none for LOOK_S; None: they never stop."""
    last, at = worker.progress(), time.monotonic_ns()
    while time.monotonic_ns() < since_ns + LIMIT_S * 1e9:
        now = worker.progress()
        if now != last:
            last, at = now, time.monotonic_ns()
        elif time.monotonic_ns() > at + LOOK_S * 1e9:
            return max(0, at - since_ns)
    return None


def strict_requests(lab, product, check, trainer, server, trials):
    product.start_daemon([trainer.pid, server.pid],
                         f"[rule server]\nexecutable = {lab.bin / 'nvserver'}\nstrict = requests\n")
    found = []
    for i in range(trials):
        begin = announced(server, "begin")
        stood = stand_ns(trainer, begin)
        if i == 0:
            check.that("strict: the trainer is held", "held" in product.call("top", "--once").stdout)
            text = product.call("why", trainer.pid).stdout
            check.that("why names the server", f"to make room for pid {server.pid}" in text, text)
        end = announced(server, "end")
        again = await_moving(trainer, (True, False))
        found.append({"stop_us": None if stood is None else stood / 1e3,
                      "again_us": None if again is None else (time.monotonic_ns() - end) / 1e3})
    check.that(f"strict = requests: it stands for each of {trials} requests and runs after it",
               all(t["stop_us"] is not None and t["again_us"] is not None for t in found), found)
    print("from the announcement to the last progress, us:", figures([t["stop_us"] for t in found if t["stop_us"] is not None]))
    print("from the end to progress, us:", figures([t["again_us"] for t in found if t["again_us"]]), flush=True)
    text = product.call("log", "--all").stdout
    product.stop_daemon()
    return {"trials": found, "log": text[-4000:]}


def strict_always(lab, product, check, trainer, server):
    product.start_daemon([trainer.pid, server.pid], "max_suspend = 600s\n[device *]\nage_step = 0\ncopies = yes\n"
                         f"[rule server]\nexecutable = {lab.bin / 'nvserver'}\nstrict = always\n")
    end = time.time() + LIMIT_S
    while moving(trainer) != (False, False) and time.time() < end:
        pass
    check.that("strict = always, copies = yes: the trainer stands, for a second", moving(trainer, 1) == (False, False))
    product.daemon.kill()
    product.daemon.wait(30)
    product.daemon = None
    check.that("gpreemptd killed: it runs", await_moving(trainer) is not None)


def strict(lab, product, check, trials):
    shutil.copy(lab.bin / "nvwork", lab.bin / "nvserver")
    trainer = Watched(lab, "trainer", "copy", "100", before=product.under("offline"), extra=product.extra)
    server = Worker(lab, *product.under("online"), lab.bin / "nvserver", "serve", extra=product.extra).wait()
    try:
        found = strict_requests(lab, product, check, trainer, server, trials)
        strict_always(lab, product, check, trainer, server)
    finally:
        product.stop_daemon()
        ends = [trainer.end(), server.end()]
    check.that("strict: nothing was lost", all(end.get("wrong") == 0 for end in ends), ends)
    return dict(found, ends=ends)


def run(lab, results, options):
    product, check = Product(lab, options.product), Checks()
    trials = 4 if lab.fake else TRIALS
    try:
        results.add("copies", copies(lab, product, check, trials))
        results.add("strict", strict(lab, product, check, trials))
    finally:
        results.add("checks", check.list)
        product.close()
    bad = [entry["what"] for entry in check.list if not entry["true"]]
    print(f"{len(check.list) - len(bad)} of {len(check.list)} as expected", *bad, sep="\n  ")
    return 1 if bad else 0
