# SPDX-License-Identifier: MIT
"""The online and the offline task: finding what stands for them here, starting, following and ending them."""
import csv
import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from poc_library import HERE, find

WAIT_S = 10
REQUESTS_PER_S = 10


def gpreempt():
    """The program, or None."""
    return os.environ.get("GPREEMPT") or find("gpreempt", "../../build/bin", "../../bin", "../../../../bin") or \
        shutil.which("gpreempt")


def torch_missing():
    """Why the PyTorch cases cannot run here, or None."""
    if importlib.util.find_spec("torch") is None:
        return "PyTorch is not installed"
    if os.environ.get("GPREEMPT_VGPU"):
        return "PyTorch does not run on the virtual GPU"
    return None if os.path.exists("/dev/kfd") else "there is no /dev/kfd"


def default_command(role):
    """The online or the offline task: PyTorch on a real GPU, the C examples otherwise.

    The offline task leaves the GPU no idle time, and the online one has pauses between its requests: only then can
    preemption change anything. The examples use kernels of a fixed duration, because the networks leave the virtual
    GPU half idle.
    """
    missing = torch_missing()
    rate = f" --rate {REQUESTS_PER_S} --samples {{samples}}" if role == "online" else ""
    if missing is None:
        case = "case_a_cnn.py" if role == "online" else "case_b_transformer.py"
        return f"{shlex.quote(sys.executable)} {shlex.quote(os.path.join(HERE, case))}{rate} --seconds {{seconds}}"
    example = find("online_server" if role == "online" else "offline_trainer", "../../build/examples")
    if example:
        return f"{shlex.quote(example)} --load spin{rate} --seconds {{seconds}}"
    raise SystemExit(f"test_preemption.py: no {role} task: {missing}, and the examples are not built (they need the HIP "
                     f"headers and library: libamdhip64-dev). Specify one with --{role} COMMAND or --{role}-pid PID.")


class Task:
    """A process that was started here, or one that runs already."""

    def __init__(self, role, pid=None, command=None, seconds=0, log=None, agent=True):
        self.role, self.process, self.log, self.samples = role, None, log, None
        self.pid = pid
        if pid is not None:
            self.command = f"process {pid}"
            return
        words = shlex.split((command or default_command(role)).replace("{seconds}", str(seconds)))
        if "{samples}" in words:
            self.samples = tempfile.NamedTemporaryFile(prefix="gpreempt-poc-")
            words = [self.samples.name if word == "{samples}" else word for word in words]
        self.command = " ".join(words)
        program = gpreempt()
        if agent and program:
            # The agent in the program reports when the task has work, and stops it without a debugger.
            words = [program, "run", "--class", role, "--"] + words
        # The last line of its output goes into the report, or says why it ended.
        out = open(log, "wb") if log else tempfile.NamedTemporaryFile(prefix="gpreempt-poc-")
        self.kept, self.log = out, out.name
        try:
            self.process = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            start_new_session=True)
        except OSError as error:
            raise SystemExit(f"test_preemption.py: cannot start the {role} task '{self.command}': {error.strerror}")
        finally:
            if log:
                out.close()  # the other is removed then
        self.pid = self.process.pid

    def runs(self):
        if self.process:
            return self.process.poll() is None
        try:
            with open(f"/proc/{self.pid}/stat", errors="replace") as file:
                return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
        except (OSError, IndexError):
            return False

    def end(self, patience=0):
        """Waits for a task that was started here, then ends it and what it started."""
        if not self.process:
            return
        for how in (None, signal.SIGTERM, signal.SIGKILL):
            if how is not None:
                try:
                    os.killpg(self.process.pid, how)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(patience if how is None else WAIT_S)
                break
            except subprocess.TimeoutExpired:
                continue

    def requests(self):
        """(arrival, end) of every request that the task recorded, in seconds of the monotonic clock; None: no record."""
        if not self.samples:
            return None
        with open(self.samples.name) as file:
            rows = list(csv.DictReader(file))
        try:
            return [(float(row["arrival_s"]), float(row["done_s"])) for row in rows if float(row["done_s"]) > 0]
        except (KeyError, TypeError, ValueError):
            return None

    def last_lines(self, count=3):
        """The last line of its output."""
        try:
            with open(self.log, errors="replace") as file:
                return [line.rstrip() for line in file.readlines()[-count:]]
        except (OSError, TypeError):
            return []
