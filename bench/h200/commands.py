# SPDX-License-Identifier: MIT
"""What the commands say of CUDA processes: gpreemptd in mode act, a trainer and a server under `gpreempt run`
and a process that was started plainly, looked at with doctor, ps, top, status, why, log and stats while they
run, are suspended, reniced and resumed; then `gpreempt selftest`, and requests announced from two contexts.
Each answer is kept and checked."""
import json
import os
import time

from common import Product, Watched, Worker, figures


class Checks:
    def __init__(self):
        self.list = []

    def that(self, what, true, seen=""):
        self.list.append({"what": what, "true": bool(true), "seen": "" if true else str(seen)[-2000:]})
        print("yes " if true else "NO  ", what, flush=True)


def ask(product, said, *arguments):
    begin = time.time()
    done = product.call(*arguments)
    said.append({"command": " ".join(["gpreempt", *map(str, arguments)]), "code": done.returncode,
                 "ms": round((time.time() - begin) * 1e3, 1), "stdout": done.stdout, "stderr": done.stderr})
    print(f"$ gpreempt {' '.join(map(str, arguments))}  [{done.returncode}]\n{done.stdout}{done.stderr}", flush=True)
    return done


def look(product, said, check, trainer, server, plain):
    text = ask(product, said, "doctor").stdout
    check.that("doctor: nv-timeslice and nv-suspend are usable", all(
        any(line.split()[:2] == [name, "usable"] for line in text.splitlines()) for name in ("nv-timeslice", "nv-suspend")),
        text)
    text = ask(product, said, "ps").stdout
    rows = [line.split() for line in text.splitlines()]
    check.that("ps: all three processes, on nvidia0, with their queues",
               all(any(row[0] == str(pid) and "nvidia0" in row for row in rows if row) for pid in (trainer, server, plain)),
               text)
    check.that("ps: no process of gpreempt itself", "holder" not in text, text)
    text = ask(product, said, "top", "--once").stdout
    check.that("top: server before trainer", 0 < text.find(f"{server} ") < text.find(f"{trainer} "), text)
    jobs = {job["pid"]: job for job in json.loads(ask(product, said, "top", "--json").stdout)["jobs"]}
    check.that("top: their classes", [jobs.get(pid, {}).get("class") for pid in (trainer, server)] ==
               ["offline", "online"], jobs)
    for pid, priority in ((trainer, 500), (server, 2000), (plain, 1000)):
        status = json.loads(ask(product, said, "status", pid, "--json").stdout or "{}")
        check.that(f"status {pid}: by nv-suspend, priority {priority}", status.get("mechanism") == "nv-suspend" and
                   status.get("priority") == priority, status)
    ask(product, said, "status", trainer)
    ask(product, said, "status", server)
    for pid in (trainer, server):
        text = ask(product, said, "why", pid).stdout
        check.that(f"why {pid}: its slices are set by its priority", "time slices" in text, text)
    ask(product, said, "log", "--all")
    ask(product, said, "stats")


def act(product, said, check, trainer, plain, page):
    held = product.popen("suspend", trainer, "--json", "--lease", "30s")
    try:
        line = held.stdout.readline()
        check.that("suspend: the trainer", "suspended" in line, line)
        text = ask(product, said, "status", trainer).stdout
        check.that("status: suspended", "suspended" in text, text)
        text = ask(product, said, "top", "--once").stdout
        check.that("top: suspended by hand", "by hand" in text, text)
        text = ask(product, said, "why", trainer).stdout
        check.that("why: suspended, and by which process", "suspended by" in text, text)
        check.that("resume", ask(product, said, "resume", trainer).returncode == 0)
    finally:
        held.terminate()
        held.communicate(timeout=30)
    held = product.popen("suspend", plain, "--json", "--lease", "30s")
    try:
        held.stdout.readline()
        before = page.progress()
        time.sleep(0.2)
        check.that("suspend: a process without preload stands still", page.progress() == before)
        check.that("release --all", ask(product, said, "release", "--all").returncode == 0)
        time.sleep(0.2)
        check.that("and runs again", page.progress() != before)
    finally:
        held.terminate()
        held.communicate(timeout=30)
    check.that("renice", ask(product, said, "renice", "online", trainer).returncode == 0)
    text = ask(product, said, "why", trainer).stdout
    check.that("why: its new priority", "priority 2000" in text, text)
    ask(product, said, "renice", "offline", trainer)


def selftest(product, said, check):
    path = os.path.join(product.place, "selftest.json")
    done = ask(product, said, "selftest", "--cycles", 200, "--json", path)
    check.that("selftest: exit 0", done.returncode == 0, done.stdout + done.stderr)
    try:
        with open(path) as file:
            found = json.load(file)
    except OSError:
        found = {"mechanisms": []}
    for mechanism in found["mechanisms"]:
        check.that(f"selftest: {mechanism['name']} with 1, 2 and 4 contexts",
                   mechanism["works"] and len(mechanism["measured"]) == 3, mechanism)
    return found


def contexts(product, check, lab):
    worker = lab.spawn(*product.under("online", "--ahead", "600us"), lab.bin / "nvcontexts", extra=product.extra)
    out = worker.communicate(timeout=120)[0]
    if worker.returncode:
        check.that("two contexts in turn", False, out)
        return {}
    found = json.loads(out.splitlines()[-1])
    took = figures(found["begin_us"][2:])
    print("announcing from two contexts in turn:", took, {k: v for k, v in found.items() if k != "begin_us"}, flush=True)
    check.that("each context is prepared once", took["max"] < max(found["begin_us"][:2]) / 2, found["begin_us"][:8])
    check.that("nothing is left on the GPU", found["memory_less"] < 1 << 22, found["memory_less"])
    check.that("contexts that come and go are served like the first", found["churn_kept"] == found["churn"], found)
    check.that("an announcement keeps the GPU until it ends", found["busy_us"] > 400 > found["busy_ended_us"], found)
    return found


def run(lab, results, options):
    product = Product(lab, options.product)
    said, check = [], Checks()
    page = Watched(lab, "plain", "endless")
    try:
        trainer, server = (Worker(lab, *product.under(kind), lab.bin / "nvwork", "serve", extra=product.extra).wait()
                           for kind in ("offline", "online"))
        product.start_daemon([trainer.pid, server.pid])
        trainer.start("offline 20 2000")
        time.sleep(1)
        look(product, said, check, trainer.pid, server.pid, page.process.pid)
        act(product, said, check, trainer.pid, page.process.pid, page)
        results.add("commands", said)
        trainer.answer()
        check.that("the trainer's launches ran once each", not trainer.end().get("wrong"))
        check.that("the launches of the server also", not server.end().get("wrong"))
        check.that("the plain process's registers and shared memory are right", not page.end().get("wrong"))
        product.stop_daemon()
        if not lab.fake:  # its libcuda has only what nvwork uses
            results.add("selftest", selftest(product, said, check))
            results.add("contexts", contexts(product, check, lab))
    finally:
        results.add("commands", said)
        results.add("checks", check.list)
        product.close()
    bad = [entry["what"] for entry in check.list if not entry["true"]]
    print(f"{len(check.list) - len(bad)} of {len(check.list)} as expected", *bad, sep="\n  ")
    return 1 if bad else 0
