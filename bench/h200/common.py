# SPDX-License-Identifier: MIT
"""What the experiments share: programs, workers, figures and the file they go to."""
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        return done.stdout.strip() if done.returncode == 0 else ""
    except (OSError, subprocess.TimeoutExpired):
        return ""


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))] if values else None


def figures(values):
    """Percentiles of a list, with how many there were."""
    return {"n": len(values), "p50": percentile(values, .5), "p90": percentile(values, .9),
            "p99": percentile(values, .99), "max": max(values) if values else None}


def thin(values, most=20000):
    """At most so many of them, evenly spread, to keep of a long run."""
    return values[::max(1, -(-len(values) // most))]


def median(values):
    return percentile(values, .5)


class Lab:
    """A built set of programs, on the machine's GPU or on the stand-in."""

    def __init__(self, build, fake):
        self.bin = pathlib.Path(build)
        self.fake = fake
        self.keeper = None
        self.preload = f":{self.bin / 'fake/preload.so'}" if fake else ""  # to be put behind another one
        self.environment = dict(os.environ)
        if not (self.bin / "nvwork").exists():
            subprocess.run([HERE / "build", self.bin] + (["--fake"] if fake else []), check=True)
        if fake:
            self.keeper = subprocess.Popen([self.bin / "fake/keeper"], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, text=True)
            self.environment["GPREEMPT_FAKE_NVIDIA"] = self.keeper.stdout.readline().strip()
            self.environment["LD_LIBRARY_PATH"] = str(self.bin / "fake")

    def close(self):
        if self.keeper:
            self.keeper.stdin.close()
            self.keeper.wait()

    def control_environment(self, extra=None):
        """For programs that contain the control: on the stand-in they need its devices."""
        result = dict(self.environment, **(extra or {}))
        if self.fake:
            result["LD_PRELOAD"] = self.preload.lstrip(":")
        return result

    def spawn(self, *command, extra=None):
        return subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True,
                                env=self.control_environment(extra))

    def machine(self):
        version = ""
        try:
            version = pathlib.Path("/proc/driver/nvidia/version").read_text().splitlines()[0]
        except OSError:
            pass
        model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
                 if line.startswith("model name")]
        return {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "gpu": "stand-in" if self.fake else
                   output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
            "driver": "stand-in" if self.fake else version,
            "kernel": platform.release(), "cpu": model[0] if model else "",
            "cores": os.cpu_count(),
            "commit": output_of("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        }


def xids():
    """Lines in which the driver reported a fault; None when they cannot be read."""
    if not shutil.which("dmesg"):
        return None
    text = subprocess.run(["dmesg"], capture_output=True, text=True)
    return text.stdout.count("NVRM: Xid") if text.returncode == 0 else None


class Control:
    """nvctl, a line at a time."""

    def __init__(self, lab):
        self.process = lab.spawn(lab.bin / "nvctl")

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"nvctl ended at '{text}'")
        return json.loads(line)

    def must(self, text):
        answer = self.say(text)
        if answer["error"] < 0:  # a share answers with the slice
            raise RuntimeError(f"nvctl: {text}: {os.strerror(-answer['error'])}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Worker:
    """A process that does blocks of work on request; see work_serve.c."""

    def __init__(self, lab, *command, extra=None):
        self.process = lab.spawn(*command, extra=extra)
        self.pid = self.process.pid

    def wait(self):
        """Until it can be given work."""
        self.answer()
        return self

    def start(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a worker ended early")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        last = [json.loads(line) for line in self.process.stdout]
        self.process.wait()
        return last[-1] if last else {}


class Watched:
    """An nvwork with kernels that write their progress to a page."""

    def __init__(self, lab, name, *mode, before=(), extra=None):
        self.page = pathlib.Path("/dev/shm") / f"gpbench.{os.getpid()}.{name}"
        self.process = lab.spawn(*before, lab.bin / "nvwork", mode[0], self.page.name, *mode[1:], extra=extra)
        self.pid = self.process.pid
        end = time.time() + 60
        while not self.word(128, 4) and time.time() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"nvwork {mode} ended: {self.process.returncode}")
            time.sleep(0.01)

    def word(self, at, size):
        try:
            with open(self.page, "rb") as file:
                file.seek(at)
                return int.from_bytes(file.read(size), "little")
        except OSError:
            return 0

    def progress(self):
        return self.word(0, 8)

    def copies(self):
        return self.word(136, 8)

    def end(self):
        """Stops the kernels; returns the result of the check of their state."""
        with open(self.page, "r+b") as file:
            file.seek(64)
            file.write((1).to_bytes(4, "little"))
        try:
            out, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return {"wrong": "it never ended"}
        lines = [line for line in out.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {"wrong": f"exit {self.process.returncode}"}


class Product:
    """gpreempt, gpreemptd and the holder as they are built, with their own socket directory.
    Libraries that the machine may lack can lie in deps/ beside bin/."""

    def __init__(self, lab, directory):
        self.lab, self.bin = lab, pathlib.Path(directory).resolve()
        self.place, self.daemon = tempfile.mkdtemp(prefix="gph-"), None
        self.libraries = lab.environment.get("LD_LIBRARY_PATH", "")
        deps = str(self.bin.parent / "deps")
        self.extra = {"GPREEMPT_DIR": self.place, "LC_ALL": "C.UTF-8",
                      "LD_LIBRARY_PATH": deps + (":" + self.libraries if self.libraries else "")}
        self.environment = lab.control_environment(self.extra)

    def under(self, job_class, *options):
        """The words before a command that runs under `gpreempt run`."""
        return [self.bin / "gpreempt", "run", "--class", job_class, *options, "--", "env",
                "LD_LIBRARY_PATH=" + self.libraries]

    def call(self, *arguments):
        return subprocess.run([self.bin / "gpreempt", *map(str, arguments)], env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=240)

    def popen(self, *arguments):
        return subprocess.Popen([self.bin / "gpreempt", *map(str, arguments)], env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def start_daemon(self, pids, more=""):
        """gpreemptd in mode act, once it knows these processes and their queues."""
        config = pathlib.Path(self.place) / "gpreemptd.conf"
        config.write_text("[daemon]\nmode = act\n" + more)
        with open(pathlib.Path(self.place) / "gpreemptd.log", "a") as log:
            self.daemon = subprocess.Popen([self.bin / "gpreemptd", "--config", config],
                                           env=self.environment, stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log)
        end = time.time() + 20
        while time.time() < end:
            top = self.call("top", "--json")
            jobs = json.loads(top.stdout)["jobs"] if top.returncode == 0 else []
            if set(pids) <= {job["pid"] for job in jobs if job["queues"]}:
                return
            time.sleep(0.02)
        raise RuntimeError("gpreemptd does not know the processes: " + self.call("top", "--once").stdout
                           + (pathlib.Path(self.place) / "gpreemptd.log").read_text())

    def stop_daemon(self):
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(30)
        self.daemon = None

    def holder(self):
        """Its pid, or 0."""
        try:
            pid = int((pathlib.Path(self.place) / "holder.lock").read_text() or 0)
            return pid if pid and pathlib.Path(f"/proc/{pid}/comm").read_text().startswith(
                "gpreempt-holder") else 0
        except (OSError, ValueError):
            return 0

    def lifelines(self):
        """pids of the lifelines of this directory's holder."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (process / "comm").read_text() == "gp-lifeline\n" and f"GPREEMPT_DIR={self.place}".encode() in (
                        process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue
        return found

    def cpu_ns(self):
        """Of the daemon, the holder and the lifelines."""
        total = 0
        for pid in [self.daemon.pid if self.daemon else 0, self.holder()] + self.lifelines():
            try:
                total += int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])
            except OSError:
                continue
        return total

    def close(self):
        self.stop_daemon()
        self.call("release", "--all")
        shutil.rmtree(self.place, ignore_errors=True)


class Results:
    """The file of one experiment; written after each step, so that a run that is cut short counts."""

    def __init__(self, path, name, lab, goes_on=False):
        """goes_on: with the steps of an earlier run in the same file."""
        self.path = pathlib.Path(path)
        self.data = {"experiment": name, "machine": lab.machine(), "xids_before": xids(),
                     "steps": {}}
        if goes_on and self.path.exists():
            earlier = json.loads(self.path.read_text())
            if earlier["experiment"] != name:
                raise SystemExit(f"{path} is of the experiment {earlier['experiment']}")
            self.data["steps"] = earlier["steps"]
            self.data["earlier"] = earlier.get("earlier", []) + [
                {key: earlier.get(key) for key in ("machine", "xids_before", "xids_after")}]

    def has(self, step):
        return step in self.data["steps"]

    def add(self, step, data):
        self.data["steps"][step] = data
        self.data["xids_after"] = xids()
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.data, separators=(",", ":")) + "\n")
        part.rename(self.path)
