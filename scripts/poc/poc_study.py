# SPDX-License-Identifier: MIT
"""The multi-process study: N processes x compute units, requests per second relative to one process.

run_multiprocess_study.sh runs it. Every point starts N copies of one command, lets them measure the same seconds, and
samples the driver's queues, runlist and hardware slots meanwhile. A point is one row of study.csv, written when it is
complete; a run that was interrupted continues with the points that are missing.
"""
import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import poc_study_report
from poc_library import HERE, find, quoted
from poc_tasks import gpreempt, torch_missing

NAME = "run_multiprocess_study.sh"
COLUMNS = ["processes", "cus", "round", "seconds", "rate", "slowest", "fastest", "relative_to_one", "queues", "runlist_processes",
           "runlist_queues", "oversubscribed", "active_slots", "samples", "late"]
RATE = r"([0-9]+(?:\.[0-9]+)?) (?:images|requests|sequences|samples|tokens|steps)/s"
READY_MIN_S = 2.0
SAMPLE_S = 0.5
END_S = 60


class StudyError(Exception):
    """A sentence for the user."""


def default_command():
    missing = torch_missing()
    if missing is None:
        return [sys.executable, os.path.join(HERE, "case_a_cnn.py"), "--seconds", "{seconds}", "--begin", "{begin}"]
    example = find("case_a_cnn", "../../build/examples")
    if example:
        return [example, "--seconds", "{seconds}", "--begin", "{begin}", "--batch", "1"]
    raise StudyError(f"nothing to run: {missing}, and the examples are not built (they need libamdhip64-dev). "
                     "Name a command: run_multiprocess_study.sh -- COMMAND --seconds {seconds}")


def numbers(text):
    values = [int(word) for word in text.split(",")]
    if not values or min(values) < 1:
        raise ValueError
    return values


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog=NAME, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures how many requests per second N processes complete together, relative to one process.",
        epilog="COMMAND is one process; {seconds} and {begin} are replaced by its run time and by the time on the\n"
               "monotonic clock at which it starts measuring. It prints its rate, such as '118.7 requests/s'.\n"
               "Without COMMAND: the PyTorch CNN on a real GPU, the C example otherwise.\n"
               "With --vgpu as the first option everything runs on a virtual GPU.\n\n"
               "Exit status: 0 complete, 1 failed or interrupted, 2 bad usage.")
    parser.add_argument("--processes", type=numbers, default=[1, 2, 4, 6], metavar="N,...",
                        help="numbers of processes (default 1,2,4,6); 1 is always measured")
    parser.add_argument("--cus", type=numbers, default=None, metavar="N,...",
                        help="compute units that every process is limited to (default: all, 7/8 and 3/4 of them)")
    parser.add_argument("--seconds", type=float, default=10, help="length of a point (default 10)")
    parser.add_argument("--rounds", type=int, default=1, help="measurements per point (default 1)")
    parser.add_argument("--out", default="log/multiprocess_study", metavar="DIR",
                        help="directory for study.csv and the reports; an incomplete study there is continued "
                             "(default log/multiprocess_study)")
    parser.add_argument("--rate", default=RATE, metavar="REGEX",
                        help="finds the rate in the output of COMMAND: its first group is the number")
    parser.add_argument("--target", type=float, default=95, metavar="PERCENT",
                        help="goal for several processes, relative to one (default 95)")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.seconds <= 0 or given.rounds < 1:
        parser.error("--seconds and --rounds must be positive")
    try:
        if re.compile(given.rate).groups < 1:
            parser.error("--rate needs a group around the number, such as '([0-9.]+) req/s'")
    except re.error as error:
        parser.error(f"--rate: {error}")
    return given


# ---- the machine ----

def ask(*words):
    """The answer of a gpreempt command as data, or None."""
    try:
        done = subprocess.run([gpreempt(), *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None


def compute_units():
    """Of the first AMD GPU that the driver lists."""
    nodes = "/sys/class/kfd/kfd/topology/nodes"
    try:
        listed = sorted(os.listdir(nodes), key=int)
    except (OSError, ValueError):
        raise StudyError("this machine has no AMD GPU (no /sys/class/kfd); use --vgpu to run on a virtual GPU") from None
    for node in listed:
        with open(os.path.join(nodes, node, "properties")) as file:
            facts = dict(line.split() for line in file if len(line.split()) == 2)
        if int(facts.get("simd_count", 0)) and int(facts.get("simd_per_cu", 0)):
            return int(facts["simd_count"]) // int(facts["simd_per_cu"])
    raise StudyError("the AMD driver lists no GPU")


def look(pids):
    """One sample: what the driver holds of these processes. A reading that is not available is missing."""
    seen = {}
    listed = ask("ps")
    if listed:
        seen["queues"] = sum(len(process["queues"]) for process in listed["processes"] if process["pid"] in pids)
    runlist = ask("runlist")
    if runlist and runlist.get("gpus"):
        active = [gpu for gpu in runlist["gpus"] if gpu.get("active")]
        seen["runlist_processes"] = sum(len(gpu["processes"]) for gpu in active)
        seen["runlist_queues"] = sum(len(process["queues"]) for gpu in active for process in gpu["processes"])
        seen["oversubscribed"] = int(any(gpu["oversubscribed"] for gpu in active))
    slots = ask("hqd")
    if slots:
        seen["active_slots"] = slots["counts"]["active"]
    return seen


# ---- one point ----

def cut(words, seconds, begin):
    return [word.replace("{seconds}", f"{seconds:g}").replace("{begin}", f"{begin:.3f}") for word in words]


class Point:
    """N copies of the command at once. `end()` leaves none of them."""

    def __init__(self, given, processes, cus, all_cus, ready):
        begin = time.monotonic() + ready
        environment = dict(os.environ)
        if cus < all_cus:
            environment["HSA_CU_MASK"] = f"0:0-{cus - 1}"
        self.seconds, self.begin, self.children, self.logs = given.seconds, begin, [], []
        try:
            for _ in range(processes):
                log = tempfile.TemporaryFile()
                self.logs.append(log)
                self.children.append(subprocess.Popen(cut(given.command, given.seconds, begin), stdout=log, stderr=subprocess.STDOUT,
                                                      stdin=subprocess.DEVNULL, env=environment, start_new_session=True))
        except OSError as error:
            self.end()
            raise StudyError(f"cannot run {given.command[0]}: {error.strerror}") from None
        self.samples, self.over = [], threading.Event()
        self.sampler = threading.Thread(target=self.sample)
        self.sampler.start()

    def sample(self):
        pids = {child.pid for child in self.children}
        while not self.over.wait(SAMPLE_S):
            if not self.measuring():
                continue
            sample = look(pids)
            if self.measuring():  # all of it is of this time
                self.samples.append(sample)

    def measuring(self):
        return self.begin <= time.monotonic() < self.begin + self.seconds

    def wait(self):
        """For the end of every process."""
        limit = self.begin + self.seconds + END_S
        for child in self.children:
            try:
                child.wait(max(0.1, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise StudyError(f"process {child.pid} still runs {END_S} s after its time; does the command know "
                                 "{seconds}?") from None

    def end(self):
        if hasattr(self, "over"):
            self.over.set()
            self.sampler.join()
        for child in self.children:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()

    def outputs(self):
        for child, log in zip(self.children, self.logs):
            log.seek(0)
            yield child, log.read().decode(errors="replace")


def mean(values):
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def rates_of(given, point):
    rates, late = [], 0
    for child, text in point.outputs():
        if child.returncode:
            last = text.strip().splitlines()[-1:] or ["no output"]
            raise StudyError(f"'{quoted(given.command)}' ended with status {child.returncode}: {last[0]}")
        found = re.search(given.rate, text)
        if not found:
            raise StudyError(f"no rate in the output of '{quoted(given.command)}' (see --rate): {text.strip()[-200:]!r}")
        rates.append(float(found.group(1)))
        late += "after the time of --begin" in text
    return rates, late


def measure(given, processes, cus, all_cus, ready):
    point = Point(given, processes, cus, all_cus, ready)
    try:
        point.wait()
    finally:
        point.end()
    rates, late = rates_of(given, point)
    row = {"processes": processes, "cus": cus, "seconds": given.seconds, "rate": sum(rates), "slowest": min(rates),
           "fastest": max(rates), "samples": len(point.samples), "late": late}
    for key in ("queues", "runlist_processes", "runlist_queues", "oversubscribed", "active_slots"):
        row[key] = mean([sample.get(key) for sample in point.samples])
    return row


def measure_ready(given, processes, cus, all_cus, ready):
    """Again with more time to start where a process was not ready at the common time."""
    while True:
        row = measure(given, processes, cus, all_cus, ready)
        if not row["late"] or "{begin}" not in " ".join(given.command) or ready > 30:
            return row, ready
        ready *= 2


# ---- the whole study ----

def load(path):
    try:
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        return []
    return [row for row in rows if row.get("late") not in (None, "")]  # without a line that was cut short


def settle(given, all_cus):
    """The directory belongs to one study: its parameters are compared with what lies there."""
    facts = {"command": given.command, "seconds": given.seconds, "compute_units": all_cus,
             "virtual_gpu": bool(os.environ.get("GPREEMPT_VGPU"))}
    path = os.path.join(given.out, "study.json")
    os.makedirs(given.out, exist_ok=True)
    try:
        with open(path) as file:
            before = json.load(file)
    except FileNotFoundError:
        before = None
    if before is not None and {key: before.get(key) for key in facts} != facts:
        raise StudyError(f"{path} belongs to another study (command, seconds, GPU or compute units differ); choose another --out")
    if before is None:
        with open(path, "w") as file:
            json.dump(dict(facts, started=time.strftime("%Y-%m-%d %H:%M:%S"), kernel=os.uname().release), file, indent=2)
    return facts


def relative(rows):
    """Rate of every row over the mean rate of one process with the same compute units."""
    for row in rows:
        one = mean([float(other["rate"]) for other in rows
                    if int(other["processes"]) == 1 and int(other["cus"]) == int(row["cus"])])
        row["relative_to_one"] = float(row["rate"]) / one if one else ""


def save(path, rows):
    relative(rows)
    with open(path + ".new", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            writer.writerow({key: "" if row.get(key) is None else row[key] for key in COLUMNS})
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def points(given, all_cus):
    cus = given.cus or sorted({all_cus, all_cus * 7 // 8, all_cus * 3 // 4}, reverse=True)
    if max(cus) > all_cus:
        raise StudyError(f"--cus {max(cus)}: the GPU has {all_cus} compute units")
    return [(processes, limit, turn) for limit in cus for processes in sorted({1, *given.processes})
            for turn in range(1, given.rounds + 1)]


def study(given):
    given.command = given.command or default_command()
    all_cus = compute_units()
    wanted = points(given, all_cus)
    facts = settle(given, all_cus)
    path = os.path.join(given.out, "study.csv")
    rows = load(path)
    done = {(int(row["processes"]), int(row["cus"]), int(row["round"])) for row in rows}
    left = [point for point in wanted if point not in done]
    if rows:
        print(f"continuing {path}: {len(wanted) - len(left)} of {len(wanted)} points are there", flush=True)
    ready, start = READY_MIN_S, time.monotonic()
    for index, (processes, cus, turn) in enumerate(left):
        row, ready = measure_ready(given, processes, cus, all_cus, ready)
        rows.append(dict(row, round=turn))
        save(path, rows)
        spent = time.monotonic() - start
        print(f"[{len(wanted) - len(left) + index + 1}/{len(wanted)}] {processes} x {cus} CUs: {row['rate']:.1f}/s; about "
              f"{spent / (index + 1) * (len(left) - index - 1):.0f} s left", flush=True)
    print()
    print(poc_study_report.write(given, facts, rows), end="")
    return 0


def main():
    given = parse(sys.argv[1:])
    try:
        return study(given)
    except StudyError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{NAME}: {error.filename or given.out}: {error.strerror}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"\n{NAME}: interrupted; the same command continues with the points that are missing", file=sys.stderr)
    return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    sys.exit(main())
