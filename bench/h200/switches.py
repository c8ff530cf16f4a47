# SPDX-License-Identifier: MIT
"""Whether the driver reports context switches (FECS events), and what it reports of a server beside a trainer."""
import json
import subprocess
import tempfile

from field import Program, Trainer


def probe(lab, seconds, *words):
    done = subprocess.run([lab.bin / "nvfecs", str(seconds), *words], capture_output=True, text=True, timeout=120,
                          env=lab.control_environment())
    for line in done.stdout.splitlines():
        print(line, flush=True)
    return {"exit": done.returncode, "stderr": done.stderr,
            "lines": [json.loads(line) for line in done.stdout.splitlines()]}


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
        server.end(), trainer.end()
    return 0
