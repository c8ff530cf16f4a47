# SPDX-License-Identifier: MIT
"""What the demonstrations share: the GPU, programs on it that leave nothing behind, and the files that they write."""
import contextlib
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("GP_DEMO_BUILD", ROOT / "build"))
BIN = BUILD / "bin"
EXAMPLES = BUILD / "examples"
OUT = pathlib.Path(os.environ.get("GP_DEMO_OUT", BUILD / "demo"))
START_LIMIT = 60    # until a program has compiled its kernels

CONFIG = """[daemon]
mode = act
stand_down = no
[device *]
policy = priority
"""


def say(text, end="\n"):
    print(text, end=end, flush=True)


def fail(text):
    print(f"demo: {text}", file=sys.stderr)
    sys.exit(1)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Machine:
    """The GPU that programs run on: a virtual machine, or the real one."""

    def __init__(self, work, speed, personality, compute=False):
        self.virtual = os.environ.get("DEVICE", "vgpu") != "kfd"
        self.speed = speed if self.virtual else 1.0
        self.name = f"demo-{os.getpid()}"
        self.work = work
        self.children = []
        self.env = dict(os.environ, GPREEMPT_DIR=str(work / "run"))
        (work / "run").mkdir(mode=0o700)
        if self.virtual:
            gpu = ["--gpu", os.environ["GP_DEMO_GPU"]] if os.environ.get("GP_DEMO_GPU") else []
            self.check("vgpu", "start", "--name", self.name, "--speed", str(speed), "--personality", personality,
                       "--compute", "on" if compute else "off", *gpu)

    def version(self):
        return self.check("--version").strip()

    def check(self, *arguments):
        run = subprocess.run([BIN / "gpreempt", *arguments], env=self.env, capture_output=True, text=True)
        if run.returncode:
            fail(f"gpreempt {' '.join(arguments)}: {run.stderr.strip()}")
        return run.stdout

    def start(self, command, log, inside=True):
        wrapper = [BIN / "gpreempt", "vgpu", "--name", self.name, "--"] if self.virtual and inside else []
        with open(self.work / log, "w") as output:
            child = subprocess.Popen([*map(str, wrapper), *map(str, command)], env=self.env,
                                     stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        self.children.append(child)
        return child

    def daemon(self):
        """gpreemptd, ready."""
        (self.work / "gpreemptd.conf").write_text(CONFIG)
        child = self.start([BIN / "gpreemptd", "--config", self.work / "gpreemptd.conf"], "gpreemptd.log")
        wait_for(lambda: (self.work / "run" / "gpreemptd.sock").exists(), child, "gpreemptd")
        return child

    def has_jobs(self, count=1):
        """Whether gpreemptd knows so many programs: on a busy host it hears of one later than its first steps."""
        return len(json.loads(self.check("top", "--json"))["jobs"]) >= count

    def end(self, child):
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if child in self.children:
            self.children.remove(child)

    def close(self):
        for child in list(self.children):
            self.end(child)
        subprocess.run([BIN / "gpreempt", "release", "--all"], env=self.env, capture_output=True)
        if self.virtual:
            subprocess.run([BIN / "gpreempt", "vgpu", "stop", "--name", self.name], env=self.env,
                           capture_output=True)


def rows(path):
    """The whole lines of a samples file, as numbers."""
    if not path.exists():
        return []
    lines = path.read_text().split("\n")[1:-1]
    return [[float(field) for field in line.split(",")] for line in lines]


def wait_for(condition, child, what):
    end = time.monotonic() + START_LIMIT
    while not condition():
        if child.poll() is not None:
            fail(f"{what} ended early (exit status {child.returncode})")
        if time.monotonic() > end:
            fail(f"{what} did not start within {START_LIMIT} s")
        time.sleep(0.05)


@contextlib.contextmanager
def session(speed, personality, compute=False):
    """A machine in a new directory; Ctrl-C and a closed terminal leave nothing behind either."""
    work, machine = pathlib.Path(tempfile.mkdtemp(prefix="gpreempt-demo-")), None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))
    try:
        machine = Machine(work, speed, personality, compute)
        yield machine
    finally:
        if machine:
            machine.close()
        if os.environ.get("GP_DEMO_KEEP"):
            say(f"kept: {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)


def host_before():
    """This host before the runs; says so if it is busy."""
    load, cores = os.getloadavg()[0], os.cpu_count()
    if load > cores / 2:
        say(f"(this host is busy, load {load:.1f} on {cores} cores: expect higher latencies)")
    return {"name": platform.node(), "cores": cores, "load_before": load}


def say_where():
    shown = pathlib.Path(os.environ.get("GP_DEMO_SHOWN", OUT))
    say(f"Open the page with 'xdg-open {shown / 'report.html'}', or copy the file to a machine with a browser: it needs "
        f"nothing else.\n{shown / 'report.json'} has every figure.")
