# SPDX-License-Identifier: MIT
"""run_multiprocess_study.sh on a virtual GPU."""
import csv
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
BUILD = os.path.dirname(BIN)
SOURCE = os.path.dirname(os.path.dirname(os.environ["GP_FIXTURES"]))
STUDY = os.path.join(SOURCE, "scripts", "poc", "run_multiprocess_study.sh")
EXAMPLE = os.path.join(BUILD, "examples", "case_a_cnn")
LIMIT = 240
# Notes that it ran and with which mask, and claims a rate: two together are as fast as one.
FAKE = r"""
import os, sys
with open(sys.argv[1], "a") as file:
    file.write(os.environ.get("HSA_CU_MASK", "all") + "\n")
print("12.5 requests/s")
"""


class Study(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gps")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.out = os.path.join(self.place, "out")
        self.runs = os.path.join(self.place, "runs")
        self.fake = os.path.join(self.place, "fake.py")
        with open(self.fake, "w") as file:
            file.write(FAKE)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, GPREEMPT=os.path.join(BIN, "gpreempt"),
                        PYTHON=sys.executable, PYTHONDONTWRITEBYTECODE="1")
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)

    def study(self, *arguments):
        return subprocess.run([STUDY, "--vgpu", "--out", self.out, *arguments], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)

    def fake_study(self, *arguments):
        return self.study("--seconds", "0.1", "--cus", "80,60", *arguments, "--", sys.executable, self.fake, self.runs)

    def rows(self):
        with open(os.path.join(self.out, "study.csv"), newline="") as file:
            return list(csv.DictReader(file))

    def masks(self):
        with open(self.runs) as file:
            return file.read().split()

    def test_a_point_that_is_there_is_not_measured_again(self):
        done = self.fake_study("--processes", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.masks(), ["all"] * 3 + ["0:0-59"] * 3)  # one process, then two, for each limit
        self.assertEqual([(row["processes"], row["cus"], row["relative_to_one"]) for row in self.rows()],
                         [("1", "80", "1.0"), ("2", "80", "2.0"), ("1", "60", "1.0"), ("2", "60", "2.0")])
        with open(os.path.join(self.out, "study.csv"), "a") as file:
            file.write("3,80,1,0.1,9")  # as a full disk leaves it
        done = self.fake_study("--processes", "2,3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 of 6 points are there", done.stdout)
        self.assertEqual(self.masks()[6:], ["all"] * 3 + ["0:0-59"] * 3)  # only three processes
        self.assertEqual([row["rate"] for row in self.rows() if row["processes"] == "3"], ["37.5", "37.5"])
        self.assertIn("missed", self.fake_study("--processes", "2,3", "--target", "350").stdout)
        with open(os.path.join(self.out, "report.html")) as file:
            self.assertIn("<svg", file.read())

    def test_another_study_is_not_mixed_in(self):
        self.assertEqual(self.fake_study("--processes", "1").returncode, 0)
        done = self.study("--seconds", "0.2", "--", sys.executable, self.fake, self.runs)
        self.assertEqual(done.returncode, 1)
        self.assertIn("belongs to another study", done.stderr)

    def test_mistakes_are_named(self):
        for words, message in ((["--cus", "81", "--", "true"], "the GPU has 80 compute units"),
                               (["--seconds", "0.1", "--", "true"], "no rate in the output"),
                               (["--seconds", "0.1", "--", "false"], "ended with status 1"),
                               (["--seconds", "0.1", "--", "/no/such"], "cannot run /no/such"),
                               (["--rate", "[0-9", "--", "true"], "--rate"),
                               (["--processes", "0"], "--processes")):
            shutil.rmtree(self.out, ignore_errors=True)
            done = self.study(*words)
            self.assertIn(message, done.stderr)
            self.assertIn(done.returncode, (1, 2))
            self.assertNotIn("Traceback", done.stderr)

    def test_an_interrupted_study_leaves_no_process(self):
        program = os.path.join(self.place, "sleeps.py")
        with open(program, "w") as file:
            file.write(f"import os, time\nopen({self.runs!r}, 'a').write(str(os.getpid()) + '\\n')\ntime.sleep(1000)\n")
        running = subprocess.Popen([self.env["GPREEMPT"], "vgpu", "--", STUDY, "--out", self.out, "--seconds", "500", "--",
                                    sys.executable, program], env=self.env, start_new_session=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + LIMIT
        while not os.path.exists(self.runs) or not open(self.runs).read().endswith("\n"):
            self.assertIsNone(running.poll(), "ended early")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        _, errors = running.communicate(timeout=LIMIT)
        self.assertIn("interrupted; the same command continues", errors)
        pid = int(open(self.runs).read())
        self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def test_the_example_is_measured_with_the_queues_of_the_driver(self):
        if not os.path.exists(EXAMPLE):
            self.skipTest("HIP is not installed: there are no example programs")
        done = self.study("--seconds", "4", "--processes", "2", "--cus", "80")
        self.assertEqual(done.returncode, 0, done.stderr)
        one, two = self.rows()
        self.assertGreater(float(one["rate"]), 0)
        self.assertEqual((one["late"], two["late"]), ("0", "0"))
        if int(one["samples"]) and int(two["samples"]):  # a busy machine may not answer within the time
            self.assertEqual(float(two["runlist_queues"]), 2 * float(one["runlist_queues"]))
        self.assertIn("not hardware results", done.stdout)


if __name__ == "__main__":
    unittest.main()
