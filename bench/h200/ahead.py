# SPDX-License-Identifier: MIT
"""An unchanged server under `gpreempt run --ahead auto` beside a trainer, with the clock locked.

A row is SERVER/ARRANGEMENT. Servers: a socket and a CUDA graph (graph), HTTP (http), a front end and an engine in two
processes (two). fading: requests first, from which the agent learns, then 10,000 messages per second on the same socket
that no launch follows. Arrangements: the server alone, beside the trainer by default, with gpreemptd, with gpreemptd and
the hint; chatty/...: the trainer's steps while a socket that no launch follows gets 10,000 messages per second. A row
is measured in as many rounds as --rounds says, each with new processes: where the scheduler of the host has put them
changes a median by 5 to 10 %. Rounds that are in the results file are not measured again."""
import json
import time

from common import figures
from field import Program, Stage, with_product

PLAIN, HINTED = ("alone", "default", "gpreemptd"), ("gpreemptd, auto", "alone, auto")
CHATTY = ("quiet", "chatter")
NOISY = ("chatty", "fading")
CHATTER = 10000  # messages per second
SET_S = 30       # to start and end the programs of a set, at most


class AheadStage(Stage):
    """One server, which may be two processes, and one trainer."""

    def __init__(self, lab, product, clocks, kind, seconds, auto):
        super().__init__(lab, product, clocks, kind, 1, seconds)
        self.auto, self.engine, self.noise = auto, None, None
        plain = product.under

        class Under:
            """The product, whose servers have the option."""
            def __getattr__(self, name):
                return getattr(product, name)

            def under(self, job_class):
                return plain(job_class, *(["--ahead", "auto"] if auto and job_class == "online" else []))
        self.product = Under()

    def start(self):
        super().start()
        # "PORT", "PORT PID" of the engine, or "PORT PORT" for messages that no launch follows
        words = self.server.said.split()
        self.server.said = words[0]
        if self.kind == "two":
            self.engine = int(words[1])
        elif self.kind in NOISY:
            self.noise = words[1]

    def pids(self):
        return [self.engine or self.server.pid] + [trainer.pid for trainer in self.trainers]

    def learned(self):
        """What the agent says of its hints."""
        answer = self.product.call("status", self.engine or self.server.pid, "--json")
        return json.loads(answer.stdout).get("ahead") if answer.returncode == 0 else answer.stderr

    def warm_up(self):
        """Requests from which the agent learns, not counted."""
        client = Program(self.lab, "client", "graph" if self.kind in NOISY else self.kind, self.server.said, 2).wait()
        client.end()

    def chat(self, name):
        """Steps of the trainer while nothing is requested."""
        talker = Program(self.lab, "chatter", self.noise, self.seconds + 4, CHATTER) if name == "chatter" else None
        row = self.row(requests=False)
        if talker:
            row["messages"] = int(talker.wait().said)
            talker.end()
        return row


def measure_rows(stage, names, keep):
    stage.start()
    for name in names:
        if name.startswith("gpreemptd") or stage.kind in NOISY:
            if not stage.product.daemon:
                stage.product.start_daemon(stage.pids())
        else:
            stage.product.stop_daemon()
        for trainer in stage.trainers:
            trainer.go(not name.startswith("alone"))
        if stage.auto and stage.kind != "chatty":
            stage.warm_up()
        before = stage.learned() if stage.auto else None
        row = stage.chat(name) if stage.kind in NOISY else stage.row(training=not name.startswith("alone"))
        if stage.auto:
            row["ahead"] = {"before": before, "after": stage.learned()}
        keep(name, row)
    stage.product.stop_daemon()


def together(steps):
    """The rounds of each row as one."""
    rows = {}
    for key, row in steps.items():
        rows.setdefault("/".join(key.split("/")[:2]), []).append(row)
    return {key: dict(rounds[-1], lost=sum(row.get("lost", 0) for row in rounds),
                      us=[us for row in rounds for us in row.get("us", [])],
                      gpu_us=[us for row in rounds for us in row.get("gpu_us", [])],
                      steps_per_s=[sum(sum(row["steps_per_s"]) for row in rounds) / len(rounds)])
            for key, rounds in rows.items()}


def part(mine, theirs):
    return f"{mine / theirs:.3f}" if mine and theirs else "-"


def show(steps):
    print(f"{'row':24} {'n':>4} {'p50':>6} {'/alone':>6} {'p99':>6} {'/alone':>6} {'GPU p99':>7} {'/alone':>6} "
          f"{'steps/s':>7} {'/default':>8} {'MHz':>5} {'W':>4} lost  hints (useful, wasted, GPU ns wasted, refused)")
    steps = together(steps)
    for key, row in steps.items():
        kind = key.split("/")[0]
        alone, default = steps.get(kind + "/alone", {}), steps.get(kind + ("/quiet" if kind in NOISY else "/default"), {})
        own, theirs = figures(row.get("us", [])), figures(alone.get("us", []))
        gpu, their_gpu = figures(row.get("gpu_us", [])), figures(alone.get("gpu_us", []))
        rate, usual = sum(row["steps_per_s"]), sum(default.get("steps_per_s", []))
        said = row.get("ahead", {}).get("after") or {}
        hints = [said.get(name) for name in ("hints", "useful", "wasted", "wasted_ns", "refused")] if isinstance(said, dict) else said
        print(f"{key:24} {own['n']:4} {own['p50'] or 0:6.0f} {part(own['p50'], theirs['p50']):>6} {own['p99'] or 0:6.0f} "
              f"{part(own['p99'], theirs['p99']):>6} {gpu['p99'] or 0:7.0f} {part(gpu['p99'], their_gpu['p99']):>6} "
              f"{rate:7.2f} {part(rate, usual):>8} {row['sm_mhz'] or 0:5.0f} {row['watts'] or 0:4.0f} {row.get('lost', 0):4}  "
              f"{hints if 'ahead' in row else ''}", flush=True)


def sets(options, results):
    for number in range(1, options.rounds + 1):
        for kind in (options.servers or "graph,http,two,chatty,fading").split(","):
            for names, auto in [(CHATTY, True)] if kind in NOISY else [(PLAIN, False), (HINTED, True)]:
                missing = [name for name in names if not results.has(f"{kind}/{name}/{number}")]
                if missing:
                    yield kind, number, missing, auto


def measure(lab, results, options, product, clocks):
    begin, left = time.time(), 0
    for kind, number, names, auto in sets(options, results):
        if time.time() - begin + SET_S + len(names) * (options.block + 6) > options.seconds:
            left += len(names)
            continue
        clocks.set("locked")
        stage = AheadStage(lab, product, clocks, kind, options.block, auto)
        try:
            measure_rows(stage, names, lambda name, row: results.add(f"{kind}/{name}/{number}", row))
        except (RuntimeError, ValueError) as error:
            print(f"{kind}/{names}: {error}", flush=True)
        finally:
            product.stop_daemon()
            stage.close()
    show(results.data["steps"])
    if left:
        print(f"{left} rows are left: the same command measures them")
    return 0


def run(lab, results, options):
    return with_product(lab, results, options, measure)
