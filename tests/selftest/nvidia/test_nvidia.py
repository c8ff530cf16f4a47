# SPDX-License-Identifier: MIT
"""`gpreempt selftest` on a fake resource manager: order and counts, not times."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "gpu", "nvrm"))
from nvidia_stage import Asked, may_copy_descriptors  # noqa: E402

GPREEMPT = os.path.join(os.environ["GP_BIN"], "gpreempt")
LIMIT = 280
SIZES = (1, 2, 4)
KERNELS = 16  # of a batch in a context


class Nvidia(unittest.TestCase):
    def setUp(self):
        if not may_copy_descriptors(os.getpid()):
            self.skipTest("pidfd_getfd is not allowed on this machine")
        self.place = tempfile.mkdtemp(prefix="gpn")
        self.keeper = Asked(os.environ["GP_FAKE_KEEPER"])
        self.env = dict(os.environ, LC_ALL="C.UTF-8", GPREEMPT_FAKE_NVIDIA=self.keeper.first,
                        LD_PRELOAD=os.environ["GP_FAKE_PRELOAD"], LD_LIBRARY_PATH=os.environ["GP_FAKE_LIBCUDA"])
        for name in ("LANGUAGE", "GPREEMPT_DIR", "GPREEMPT_VGPU", "FAKE_CUDA_FAULT"):
            self.env.pop(name, None)

    def tearDown(self):
        self.keeper.close()
        shutil.rmtree(self.place)

    def selftest(self, *arguments):
        return subprocess.run([GPREEMPT, "selftest", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=self.env, cwd=self.place, timeout=LIMIT)

    def result(self, *arguments):
        done = self.selftest("--gpu", "nvidia0", "--json", *arguments)
        self.assertTrue(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def test_suspending_and_sharing_work(self):
        path = os.path.join(self.place, "result.json")
        done = self.selftest("--cycles", "3", f"--json={path}")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(path) as file:
            result = json.load(file)
        self.assertEqual((result["work"], result["cycles"], result["gpu"]["name"]), ("kernel", 3, "NVIDIA Fake"))
        suspend, share = result["mechanisms"]
        self.assertEqual([(m["name"], m["works"], m["reason"]) for m in (suspend, share)],
                         [("nv-suspend", True, None), ("nv-timeslice", True, None)])
        self.assertEqual([(row["queues"], row["packets"]) for row in suspend["measured"]],
                         [(n, 2 * n * KERNELS) for n in SIZES])
        self.assertEqual([(row["queues"], row["packets"]) for row in share["measured"]],
                         [(n, (n + 1) * KERNELS) for n in SIZES])  # and a program beside it
        for row in suspend["measured"] + share["measured"]:
            for what in ("suspend", "resume"):
                self.assertTrue(0 < row[what]["p50_ns"] <= row[what]["p99_ns"], row)
        self.assertEqual(done.stdout.count("works"), 6, done.stdout)
        end = time.monotonic() + LIMIT  # a lifeline notices by itself that its holder is gone
        while self.keeper.ask("files") != "0" and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(self.keeper.ask("files"), "0")

    def test_what_is_lost_or_goes_on_is_found(self):
        for fault, which, reason in (("stop", 0, "while suspended"), ("register", 0, "a register of thread 7"),
                                     ("twice", 0, "completed 2 times")):
            self.env["FAKE_CUDA_FAULT"] = fault
            _, result = self.result("--cycles", "1")
            self.assertFalse(result["mechanisms"][which]["works"], fault)
            self.assertIn(reason, result["mechanisms"][which]["reason"])

    def test_no_gpu_of_that_number(self):
        done = self.selftest("--gpu", "nvidia7")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("7", done.stderr)

    def test_without_cuda(self):
        self.env["LD_LIBRARY_PATH"] = self.place
        code, result = self.result("--cycles", "1")
        self.assertEqual(code, 1)
        for mechanism in result["mechanisms"]:
            self.assertIn("CUDA", mechanism["reason"])


if __name__ == "__main__":
    unittest.main()
