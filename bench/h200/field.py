# SPDX-License-Identifier: MIT
"""An unchanged server beside unchanged trainers, started in any order and number.

A row is one arrangement of one set of programs: SERVER/TRAINERS/CLOCK/ARRANGEMENT. Rows that are in the results
file are not measured again, so that a matrix can be measured in pieces: the same command goes on where it ended."""
import json
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from colocate import Mps
from common import HERE, Control, Product, figures

PROGRAMS = HERE / "field_programs.py"
LOCKED_MHZ = 1305
# One set of programs has the first five; the others need separate programs.
TOGETHER = ("alone", "trainers alone", "default", "last", "restarted")
MPS = {"mps, priority": None, "mps, priority, 90 %": 90, "mps, priority, 75 %": 75}
APART = ("first", *MPS)
SET_S = 25  # to start and end the programs of a set, at most


class Clocks:
    """The SM clock: free, or locked until this ends, however that may be."""

    def __init__(self, fake):
        self.smi = None if fake else shutil.which("nvidia-smi")
        self.locked = False
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *unused: sys.exit(1))

    def set(self, how):
        if how == "free":
            self.close()
        elif self.smi and not self.locked:
            self.locked = True
            subprocess.run([self.smi, "-lgc", f"{LOCKED_MHZ},{LOCKED_MHZ}"], check=True, stdout=subprocess.DEVNULL)

    def close(self):
        if self.locked:
            subprocess.run([self.smi, "-rgc"], stdout=subprocess.DEVNULL)
        self.locked = False

    def watch(self):
        """Samples of SM clock and power, until stopped."""
        return self.smi and subprocess.Popen(
            [self.smi, "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits", "-lms", "100"],
            stdout=subprocess.PIPE, text=True)

    def seen(self, watching):
        if not watching:
            return {"sm_mhz": None, "watts": None}
        watching.terminate()
        rows = [line.split(",") for line in watching.communicate()[0].splitlines() if line.count(",") == 1]
        numbers = [(float(a), float(b)) for a, b in rows if a.strip().replace(".", "").isdigit()]
        return {"sm_mhz": statistics.median(a for a, _ in numbers) if numbers else None,
                "watts": round(statistics.mean(b for _, b in numbers), 1) if numbers else None}


class Program:
    """One of field_programs.py; `said` is the word it prints when it can be used."""

    def __init__(self, lab, *words, before=(), extra=None):
        self.process = subprocess.Popen([str(word) for word in (*before, sys.executable, PROGRAMS, *words)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=lab.control_environment(extra))
        self.pid = self.process.pid

    def wait(self):
        self.said = self.process.stdout.readline().strip()
        if not self.said:
            raise RuntimeError(f"a program ended early: {self.process.args}")
        return self

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Trainer(Program):
    def __init__(self, lab, place, number, **more):
        self.file = pathlib.Path(place) / f"trainer{number}"
        self.file.write_bytes(bytes(16))
        super().__init__(lab, "trainer", self.file, **more)

    def go(self, on):
        with open(self.file, "r+b") as file:
            file.seek(8)
            file.write(bytes([on]))

    def steps(self):
        return struct.unpack("<Q", self.file.read_bytes()[:8])[0]


class Stage:
    """The programs of one set, and what starts and stops around them."""

    def __init__(self, lab, product, clocks, kind, count, seconds):
        self.lab, self.product, self.clocks, self.kind = lab, product, clocks, kind
        self.count, self.seconds = count, seconds
        self.place = tempfile.mkdtemp(prefix="gpfield-", dir="/dev/shm")
        self.server, self.trainers, self.mps = None, [], None

    def start(self, mps_limit=0):
        """mps_limit: 0: without MPS; None: with it and priorities; a number: and with so many % of the SMs."""
        options = [{}, {}]
        before = [self.product.under("online"), self.product.under("offline")]
        if mps_limit != 0:
            self.mps = Mps()
            if not self.mps.up:
                raise RuntimeError("MPS does not start")
            options = [dict(self.mps.extra, CUDA_MPS_CLIENT_PRIORITY=priority) for priority in "01"]
            before = [(), ()]
            if mps_limit:
                options[1]["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = str(mps_limit)
        else:
            options = [self.product.extra] * 2
        self.server = Program(self.lab, "server", self.kind, before=before[0], extra=options[0])
        self.trainers = [Trainer(self.lab, self.place, i, before=before[1], extra=options[1])
                         for i in range(self.count)]
        for program in [self.server] + self.trainers:
            program.wait()

    def pids(self):
        return [program.pid for program in [self.server] + self.trainers]

    def slices(self):
        """Of each program's groups with kernels, as the driver says."""
        control, found = Control(self.lab), []
        try:
            for pid in self.pids():
                if control.say(f"attach {pid}")["error"]:
                    found.append(None)
                    continue
                found.append([g["timeslice_us"] for g in control.must(f"describe {pid}")["groups"]
                              if g["compute_mode"] >= 0])
                control.say(f"detach {pid}")
        finally:
            control.close()
        return found

    def row(self, requests=True, training=True):
        """training: all trainers, or so many of them; the others pause."""
        count = len(self.trainers) if training is True else int(training)
        for i, trainer in enumerate(self.trainers):
            trainer.go(i < count)
        time.sleep(1.0)
        watching, before, begin = self.clocks.watch(), [t.steps() for t in self.trainers], time.time()
        cpu = self.product.cpu_ns()
        result = {}
        if requests:
            client = Program(self.lab, "client", self.kind, self.server.said, self.seconds).wait()
            result = json.loads(client.said)
            client.end()
        else:
            time.sleep(self.seconds)
        took = time.time() - begin
        after = [t.steps() for t in self.trainers]
        result["steps_per_s"] = [(b - a) / took for a, b in zip(before, after)][:count]
        result["cpu_part"] = (self.product.cpu_ns() - cpu) / 1e9 / took
        result.update(self.clocks.seen(watching), seconds=took)
        if self.product.daemon:
            result["slices"] = self.slices()
            result["top"] = json.loads(self.product.call("top", "--json").stdout)["jobs"]
        return result

    def close(self):
        for program in [self.server] + self.trainers:
            if program:
                program.end()
        if self.mps:
            self.mps.close()
        shutil.rmtree(self.place, ignore_errors=True)


def libcuda_calls(lab):
    """When libcuda sets the slice of a group, and what else it does with groups, while a context is made."""
    with tempfile.NamedTemporaryFile(prefix="gpcalls-") as file:
        program = Program(lab, "server", "graph", extra={"GPBENCH_CALLS": file.name},
                          before=("env", f"LD_PRELOAD={lab.bin / 'libnvcalls.so'}" + lab.preload))
        program.wait()
        program.end()
        return pathlib.Path(file.name).read_text().splitlines()


def measure_together(stage, wanted, keep):
    stage.start()
    for name in wanted:
        if name in ("last", "restarted"):
            for _ in range(2 if name == "restarted" else 1):
                stage.product.stop_daemon()
                stage.product.start_daemon(stage.pids())
        else:
            stage.product.stop_daemon()
        keep(name, stage.row(name != "trainers alone", name != "alone"))
    stage.product.stop_daemon()


def measure_apart(stage, name, keep):
    if name == "first":
        stage.product.start_daemon([])
        stage.start()
    else:
        stage.start(MPS[name])
    keep(name, stage.row())
    stage.product.stop_daemon()


def show(steps):
    print(f"{'row':42} {'n':>5} {'p50':>7} {'p99':>8} {'/alone':>6} {'GPU p99':>8} {'/alone':>6} {'steps/s':>8} "
          f"{'/default':>8} {'each':22} {'MHz':>5} {'W':>5} lost")
    for key, row in steps.items():
        if "steps_per_s" not in row:
            continue
        start = key.rsplit("/", 1)[0]
        alone, default = steps.get(start + "/alone"), steps.get(start + "/default")
        own, gpu = figures(row.get("us", [])), figures(row.get("gpu_us", []))
        rate, usual = sum(row["steps_per_s"]), sum(default["steps_per_s"]) if default else 0

        def part(mine, whose, which):
            theirs = figures(whose[which])["p99"] if whose else None
            return f"{mine / theirs:.2f}" if mine and theirs else "-"
        print(f"{key:42} {own['n']:5} {own['p50'] or 0:7.0f} {own['p99'] or 0:8.0f} {part(own['p99'], alone, 'us'):>6} "
              f"{gpu['p99'] or 0:8.0f} {part(gpu['p99'], alone, 'gpu_us'):>6} {rate:8.2f} "
              f"{rate / usual if usual else 0:8.3f} {' '.join(f'{r:.2f}' for r in row['steps_per_s']):22} "
              f"{row['sm_mhz'] or 0:5.0f} {row['watts'] or 0:5.0f} {row.get('lost', 0)}", flush=True)
        if row.get("slices"):
            print(f"{'':42} slices {row['slices']} us, gpreempt {row['cpu_part'] * 100:.2f} % of a core")


def sets(options, results):
    """What is still to be measured: server, trainers, clock and the rows of one set of programs."""
    wanted = [name.strip() for name in options.arrangements.split(";")] if options.arrangements else TOGETHER + APART
    unknown = set(wanted) - set(TOGETHER + APART)
    if unknown:
        raise SystemExit(f"no such arrangements: {sorted(unknown)}")
    for clock in options.clocks.split(","):
        for kind in (options.servers or "graph,eager,http").split(","):
            for count in map(int, options.trainers.split(",")):
                start = f"{kind}/{count}/{clock}/"
                missing = [name for name in wanted if not results.has(start + name)]
                groups = [[name for name in missing if name in TOGETHER]] + [[n] for n in missing if n in APART]
                yield from ((kind, count, clock, names) for names in groups if names)


def measure(lab, results, options, product, clocks):
    begin, left = time.time(), 0
    if not results.has("libcuda"):
        results.add("libcuda", libcuda_calls(lab))
        print("\n".join(results.data["steps"]["libcuda"]), flush=True)
    for kind, count, clock, names in sets(options, results):
        if time.time() - begin + SET_S + len(names) * (options.block + 3) > options.seconds:
            left += len(names)
            continue
        clocks.set(clock)
        stage = Stage(lab, product, clocks, kind, count, options.block)

        def keep(name, row):
            results.add(f"{kind}/{count}/{clock}/{name}", row)
        try:
            if names[0] in APART:
                measure_apart(stage, names[0], keep)
            else:
                measure_together(stage, names, keep)
        except RuntimeError as error:
            print(f"{kind}/{count}/{clock}/{names}: {error}", flush=True)
        finally:
            product.stop_daemon()
            stage.close()
    show(results.data["steps"])
    if left:
        print(f"{left} rows are left: the same command measures them")
    return 0


def with_product(lab, results, options, experiment):
    """Measures with the product and the clocks, and leaves neither behind."""
    if not options.product:
        raise SystemExit(f"{options.experiment} needs --product")
    clocks, product = Clocks(options.fake), Product(lab, options.product)
    try:
        return experiment(lab, results, options, product, clocks)
    finally:
        clocks.close()
        product.close()


def run(lab, results, options):
    return with_product(lab, results, options, measure)
