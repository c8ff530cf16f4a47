# SPDX-License-Identifier: MIT
"""Whether the driver reports context switches (FECS events), and what it reports of a server beside a trainer."""
import json
import subprocess
import tempfile
import time

from common import Control
from field import Program, Trainer


def probe(lab, seconds, *words):
    done = subprocess.run([lab.bin / "nvfecs", str(seconds), *words], capture_output=True, text=True, timeout=120,
                          env=lab.control_environment())
    for line in done.stdout.splitlines():
        print(line, flush=True)
    return {"exit": done.returncode, "stderr": done.stderr,
            "lines": [json.loads(line) for line in done.stdout.splitlines()]}


def sample(control, pids, count=20):
    """[saves, restores] of each process's context, every 50 ms: whether they show that it runs, rests or is idle."""
    rows = []
    for _ in range(count):
        row = []
        for pid in pids:
            groups = [g for g in control.must(f"describe {pid}")["groups"] if g["compute_mode"] >= 0]
            row.append([sum(g[key] for g in groups) for key in ("saves", "restores")])
        rows.append(row)
        time.sleep(0.05)
    return rows


def count_switches(lab, results, trainers):
    """Of two trainers: both idle, one busy, both busy, one of them stopped, one idle again."""
    control, pids = Control(lab), [trainer.pid for trainer in trainers]
    for pid in pids:
        control.must(f"attach {pid}")
    for name, busy, stopped in (("both idle", (0, 0), ()), ("first busy", (1, 0), ()), ("both busy", (1, 1), ()),
                                ("second stopped", (1, 1), (1,)), ("second idle", (1, 0), ()),
                                ("second idle, first stopped", (1, 0), (0,)), ("both idle again", (0, 0), ())):
        for trainer, on in zip(trainers, busy):
            trainer.go(bool(on))
        for i in stopped:
            control.must(f"suspend {pids[i]}")
        rows = sample(control, pids)
        for i in stopped:
            control.must(f"resume {pids[i]}")
        results.add(name, rows)
        print(f"{name}: first {rows[0]} last {rows[-1]}, changes "
              f"{[sum(a[i] != b[i] for a, b in zip(rows, rows[1:])) for i in (0, 1)]} of {len(rows) - 1}", flush=True)
    control.close()


def run(lab, results, options):
    with tempfile.TemporaryDirectory(prefix="gpfecs-") as place:
        server, trainer = Program(lab, "server", "graph"), Trainer(lab, place, 0)
        server.wait(), trainer.wait()
        print(f"server {server.pid}, trainer {trainer.pid}", flush=True)
        results.add("pids", {"server": server.pid, "trainer": trainer.pid})
        results.add("idle", probe(lab, 2))
        trainer.go(True)
        for name, words in (("without the probe", None), ("all users", ()), ("own user", ("own",))):
            before, client = trainer.steps(), Program(lab, "client", "graph", server.said, 5)
            seen = probe(lab, 4, *words) if words is not None else {}
            client.wait()
            results.add(name, dict(seen, client=json.loads(client.said), steps=trainer.steps() - before))
            client.end()
            print(f"{name}: {results.data['steps'][name]['steps']} steps", flush=True)
        server.end()
        second = Trainer(lab, place, 1).wait()
        count_switches(lab, results, [trainer, second])
        trainer.end(), second.end()
    return 0
