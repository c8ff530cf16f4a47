# SPDX-License-Identifier: MIT
"""The proof of concept end to end on a virtual GPU: scripts, package and commands over the real holder."""
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser

BIN = os.environ["GP_BIN"]
BUILD = os.path.dirname(BIN)
SOURCE = os.path.dirname(os.path.dirname(os.environ["GP_FIXTURES"]))
GPREEMPT = os.path.join(BIN, "gpreempt")
SCRIPTS = os.path.join(SOURCE, "scripts", "poc")
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 240
# Everything of it is one thing, which can be called, counted with and asked for more of.
FAKE_TORCH = """
import os, sys
class Thing:
    def __getattr__(self, name): return Thing()
    def __call__(self, *arguments, **options): return Thing()
    def __mul__(self, other): return self
    def __matmul__(self, other): return self
    def __eq__(self, other): return self
    def __bool__(self): return True
    def __enter__(self): return self
    def __exit__(self, *failure): return False
    def is_available(self): return not os.environ.get("FAKE_TORCH_NO_GPU")
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return Thing()
"""

# Streams keep the priority that they were created with, and the work of one of -5 takes half as long.
FAKE_STREAMS = """
import os, types
__version__ = "2.0"
version = types.SimpleNamespace(hip=os.environ.get("FAKE_TORCH_HIP"), cuda="13.0")
class Stream:
    current = None
    def __init__(self, device, priority): self.priority = priority
    def synchronize(self): pass
    @staticmethod
    def priority_range(): return (0, -5)
    def __enter__(self): Stream.current = self
    def __exit__(self, *failure): return False
class Event:
    def __init__(self, enable_timing=False): pass
    def record(self, stream): self.priority = stream.priority
    def synchronize(self): pass
    def elapsed_time(self, other): return 2.0 if self.priority == 0 else 1.0
cuda = types.SimpleNamespace(Stream=Stream, Event=Event, stream=lambda stream: stream, synchronize=lambda: None,
                             is_available=lambda: True, get_device_name=lambda device: "a GPU")
device = randn = ones = mm = lambda *arguments, **options: None
"""


class Poc(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(os.path.join(BUILD, "examples", "online_server")):
            self.skipTest("HIP is not installed: there are no example programs")
        self.place = tempfile.mkdtemp(prefix="gpo")
        sockets = os.path.join(self.place, "s")
        os.mkdir(sockets, 0o700)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, GPREEMPT_DIR=sockets,
                        GPREEMPT=GPREEMPT, PYTHONDONTWRITEBYTECODE="1",
                        GPREEMPT_LIBRARY=os.path.join(BUILD, "lib", "libgpreempt.so.0"),
                        GPREEMPT_POC_LIBRARY=os.path.join(BUILD, "lib", "libgpreempt_poc.so"))
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)

    def tearDown(self):
        if not hasattr(self, "place"):
            return
        try:
            with open(os.path.join(self.place, "s", "holder.lock")) as file:
                holder = os.pidfd_open(int(file.read()))
            signal.pidfd_send_signal(holder, signal.SIGTERM)
            ended = select.select([holder], [], [], LIMIT)[0]
            os.close(holder)
            self.assertTrue(ended, "the holder did not end")
        except (FileNotFoundError, ProcessLookupError):
            pass
        shutil.rmtree(self.place)

    def vgpu(self, *command):
        return subprocess.run([GPREEMPT, "vgpu", "--runtime-enable", "--", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.place, timeout=LIMIT)

    def test_package_commands_and_the_simple_script_on_a_program(self):
        done = self.vgpu(sys.executable, "-B", os.path.join(HERE, "live.py"))
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)

    def test_the_offline_task_is_preempted_when_the_online_one_has_work(self):
        files = {name: os.path.join(self.place, "report." + name) for name in ("text", "json", "html")}
        examples = os.path.join(BUILD, "examples")
        done = self.vgpu(sys.executable, os.path.join(SCRIPTS, "test_preemption.py"), "--baseline", "0.05", "--seconds",
                         "600", "--preemptions", "3", "--online", os.path.join(examples, "online_server") +
                         " --seconds {seconds}", "--offline", os.path.join(examples, "offline_trainer") +
                         " --seconds {seconds}", *[word for name in files for word in ("--" + name, files[name])])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(files["json"]) as file:
            facts = json.load(file)
        self.assertGreaterEqual(facts["preemptions"], 3)
        self.assertGreaterEqual(facts["queues_stopped"], 1)
        self.assertEqual(facts["suspend_ms"]["count"], facts["resume_ms"]["count"])
        self.assertTrue(facts["machine"]["virtual_gpu"])
        self.assertTrue(facts["tasks"]["online"]["queues"])
        with open(files["text"]) as file:
            self.assertEqual(file.read(), done.stdout)
        with open(files["html"]) as file:
            page = file.read()
        HTMLParser().feed(page)
        self.assertEqual(page.count("<svg"), page.count("</svg>"))
        self.assertIn("offline suspended", page)

    def test_the_report_shows_the_requests_of_the_examples(self):
        report = os.path.join(self.place, "report.json")
        self.env["OUT"] = self.place
        done = subprocess.run([os.path.join(SCRIPTS, "run_poc_test.sh"), "--vgpu", "1"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.env, cwd=self.place, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(report) as file:
            times = json.load(file)["online_ms"]
        self.assertEqual(times["of"], "requests")
        self.assertGreater(times["baseline"]["count"], 0)
        self.assertGreater(times["preempt"]["count"], 0)
        self.assertIn("online requests, with preemption", done.stdout)

    def test_stream_priorities_reach_the_queues(self):
        """By HIP's own log: a queue of each priority."""
        log = os.path.join(self.place, "amd.log")
        with open(log, "w") as file:  # not read as text: HIP logs names with whatever bytes they have
            done = subprocess.run([GPREEMPT, "vgpu", "--", os.path.join(BUILD, "examples", "stream_priority"), "--seconds",
                                   "0", "--size", "256"], stdout=subprocess.PIPE, stderr=file, text=True, timeout=LIMIT,
                                  env=dict(self.env, AMD_LOG_LEVEL="3"), cwd=self.place)
        self.assertEqual(done.returncode, 0)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("requests")],
                         ["requests normal, batch normal", "requests high, batch low"])
        found = subprocess.run([GPREEMPT, "find", "--no-live", "--all", "--json", log], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=self.env, timeout=LIMIT)
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual({queue["priority"] for process in json.loads(found.stdout) for queue in process["queues"]},
                         {"low", "normal", "high"})

    def test_matrix_products_with_ftrace(self):
        script = os.path.join(SCRIPTS, "run_gemm_with_ftrace.sh")
        gemm = os.path.join(BUILD, "examples", "gemm_mini") + " --seconds 0.05"
        self.env["GEMM"] = gemm
        done = self.vgpu(script)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (name,) = os.listdir(os.path.join(self.place, "log"))
        self.assertRegex(name, r"^gemm_ftrace_\d{8}_\d{6}$")
        out = os.path.join(self.place, "log", name)
        self.assertEqual(sorted(os.listdir(out)), ["analyze.sh", "clocks.json", "ftrace.txt", "gemm_amd_log.txt"])
        again = subprocess.run([os.path.join(out, "analyze.sh"), "--json"], stdout=subprocess.PIPE, text=True,
                               env=self.env, timeout=LIMIT)
        self.assertEqual(again.returncode, 0)
        answers = {row["item"]: row["answer"] for row in json.loads(again.stdout)["creation"]["answers"]}
        self.assertGreaterEqual(answers["runtime"], 1)


class Missing(unittest.TestCase):
    def test_the_cases_say_what_is_missing(self):
        for name in ("case_a_cnn.py", "case_b_transformer.py", "test_gemm_mini.py", "test_stream_priority.py"):
            # -S: no site packages, so that PyTorch is missing wherever this runs.
            done = subprocess.run([sys.executable, "-B", "-S", os.path.join(SCRIPTS, name)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{name}: PyTorch is not installed", done.stderr)

    def test_the_cases_do_their_work_with_a_torch(self):
        """With one of a few lines, as none is here: what the scripts themselves do, not what PyTorch does."""
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "torch.py"), "w") as file:
                file.write(FAKE_TORCH)
            for name, unit in (("case_a_cnn.py", "images"), ("case_b_transformer.py", "sequences"),
                               ("test_gemm_mini.py", "products")):
                done = subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, name), "--seconds", "0", "--batch", "3",
                                       "--rate", "50"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      timeout=LIMIT, env=dict(os.environ, PYTHONPATH=place))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, rf"^[0-9.]+ {unit}/s; 1 rounds, p50 [0-9.]+ ms, p90 [0-9.]+, p99 [0-9.]+\n$")
                done = subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, name)], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                                      env=dict(os.environ, PYTHONPATH=place, FAKE_TORCH_NO_GPU="1"))
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("PyTorch finds no GPU", done.stderr)

    def test_stream_priorities_are_measured_without_and_with(self):
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "torch.py"), "w") as file:
                file.write(FAKE_STREAMS)
            facts = os.path.join(place, "facts.json")
            command = [sys.executable, "-B", os.path.join(SCRIPTS, "test_stream_priority.py"), "--seconds", "0.04",
                       "--json", facts]
            for hip, build in (("", "CUDA 13.0"), ("7.2", "ROCm 7.2")):
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                                      env=dict(os.environ, PYTHONPATH=place, FAKE_TORCH_HIP=hip))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"for {build}, a GPU\n", done.stdout)
                self.assertIn("without / with priority, GPU clock: p50 2.00, p99 2.00", done.stdout)
                self.assertEqual("gpreempt find PID" in done.stdout, bool(hip))
                with open(facts) as file:
                    runs = json.load(file)["runs"]
                self.assertEqual([(run["request_priority"], run["batch_priority"], run["gpu_ms"]["count"]) for run in runs],
                                 [(0, 0, 2), (-5, 0, 2)])

    def test_bad_arguments(self):
        for command, status in ((["test_preemption_simple.py"], 2), (["test_preemption_simple.py", "x"], 2),
                                (["test_preemption_simple.py", "1", "-1"], 2), (["case_a_cnn.py", "--batch", "0"], 2),
                                (["test_preemption.py", "--offline-pid", "999999999"], 1),
                                (["test_preemption.py", "--json", "/no/such/place/report.json"], 1),
                                (["test_preemption.py", "--html", "/"], 1),
                                (["run_case_comparison.sh", "--nothing"], 2),
                                (["run_gemm_with_ftrace.sh", "--nothing"], 2),
                                (["test_stream_priority.py", "--rate", "0"], 2),
                                (["run_poc_test.sh", "soon"], 2), (["test_preemption.py", "--seconds", "x"], 2)):
            done = subprocess.run([os.path.join(SCRIPTS, command[0]), *command[1:]], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                                  env=dict(os.environ, GPREEMPT=GPREEMPT, PYTHONDONTWRITEBYTECODE="1"))
            self.assertEqual((done.returncode, done.stdout), (status, ""), command)
            self.assertNotIn("Traceback", done.stderr)
            self.assertIn(os.path.basename(command[0]), done.stderr)

    def test_scripts_explain_themselves(self):
        for name in ("run_case_comparison.sh", "run_gemm_with_ftrace.sh", "run_poc_test.sh"):
            done = subprocess.run([os.path.join(SCRIPTS, name), "--help"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertTrue(done.stdout.startswith(name + " ["), done.stdout)

    def test_why_a_task_ended_early_is_said(self):
        done = subprocess.run([os.path.join(SCRIPTS, "test_preemption.py"), "--online", "sh -c 'echo no GPU today; exit 3'",
                               "--offline", "sleep 600", "--no-agent"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT, env=dict(os.environ, GPREEMPT=GPREEMPT, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("the online task ended before it used the GPU (no GPU today)", done.stderr)

    def test_a_report_that_cannot_be_written_costs_no_other(self):
        sys.path.insert(0, SCRIPTS)
        try:
            import poc_report
        finally:
            sys.path.pop(0)
        with tempfile.TemporaryDirectory() as place:
            good = os.path.join(place, "report.json")
            # No space: not even a flush of what is small works there.
            failed = poc_report.save(None, {"figures": 1}, None, good, None) + \
                poc_report.save(None, {"figures": 1}, None, "/dev/full", None)
            self.assertEqual(failed, ["cannot write /dev/full: No space left on device"])
            with open(good) as file:
                self.assertEqual(json.load(file), {"figures": 1})


if __name__ == "__main__":
    unittest.main()
