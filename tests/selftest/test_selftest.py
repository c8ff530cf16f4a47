# SPDX-License-Identifier: MIT
"""`gpreempt selftest` on virtual GPUs, and where there is none."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
HERE = os.path.dirname(os.path.abspath(__file__))
GPUS = os.path.join(os.path.dirname(os.path.dirname(HERE)), "data", "gpus")
LIMIT = 280


def run(*command, programs=BIN):
    env = dict(os.environ, LC_ALL="C.UTF-8", GP_BIN=programs)
    for name in ("LANGUAGE", "GPREEMPT_DIR", "GPREEMPT_VGPU"):
        env.pop(name, None)
    return subprocess.run(list(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=env, timeout=LIMIT)


def copy_build(place, *libraries):
    """The programs as a build without kernels has them: what is beside them is told from where they are."""
    for directory, names in (("bin", ("gpreempt", "gpreempt-holder", "gpreempt-selftest", "gpreempt-selftest-work")),
                             ("lib", ("libgpreempt_agent.so", *libraries))):
        os.mkdir(os.path.join(place, directory))
        for name in names:
            shutil.copy(os.path.join(BIN, "..", directory, name), os.path.join(place, directory, name))
    return os.path.join(place, "bin")


def live(options, *arguments, programs=BIN):
    return run(GPREEMPT, "vgpu", *options, "--", sys.executable, "-B", os.path.join(HERE, "live.py"), *arguments,
               programs=programs)


class SelfTest(unittest.TestCase):
    def test_on_a_virtual_gpu(self):
        done = live(["--runtime-enable"])
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)

    def test_kernels_that_compute_keep_registers_lds_and_lanes(self):
        done = run(GPREEMPT, "vgpu", "--runtime-enable", "--compute", "on", "--", GPREEMPT, "selftest", "--cycles", "5", "--json=-")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        if result["work"] == "barriers":
            self.skipTest(result["work_reason"])
        self.assertTrue(all(entry["works"] for entry in result["mechanisms"]), done.stdout)

    def test_a_mechanism_that_does_not_work_says_why(self):
        done = run(GPREEMPT, "vgpu", "--", GPREEMPT, "selftest", "--cycles", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        agent, cumask, debug = json.loads(done.stdout)["mechanisms"]
        self.assertTrue(agent["works"] and cumask["works"], done.stdout)
        self.assertEqual((debug["works"], debug["measured"]), (False, []))
        self.assertIn("did not enable debugging", debug["reason"])

    def test_without_a_kernel_for_the_gpu_barriers_do(self):
        with tempfile.TemporaryDirectory() as place:
            done = live([], "without", "barriers", programs=copy_build(place))
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)

    def test_hiprtc_makes_a_kernel_where_it_is(self):
        with tempfile.TemporaryDirectory() as place:
            programs = copy_build(place, "selftest-kernel.cl")
            made = subprocess.run([os.path.join(programs, "gpreempt-selftest-work"), "--compile", "gfx90a"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT)
            if made.returncode and b"hiprtc is not installed" in made.stdout:
                self.skipTest("no hiprtc here")
            self.assertEqual((made.returncode, made.stdout[:4]), (0, b"\x7fELF"), made.stdout[:200])
            done = live([], "without", "hiprtc", programs=programs)
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)

    def test_gfx11_is_asked_about(self):
        with open(os.path.join(GPUS, "mi210.json")) as file:
            gpu = file.read()
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "gfx11.json")
            with open(path, "w") as file:
                file.write(gpu.replace('"gfx_version": {"value": 90010', '"gfx_version": {"value": 110000'))
            done = live(["--personality", "native", "--gpu", path], "gfx11")
        self.assertEqual((done.returncode, done.stdout), (0, "passed\n"), done.stderr)

    def test_bad_usage(self):
        for arguments in (("--cycles", "0"), ("--cycles", "x"), ("--gpu", "-1"), ("--no-such",), ("argument",)):
            done = run(GPREEMPT, "selftest", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("gpreempt selftest --help", done.stderr)

    @unittest.skipIf(os.path.exists("/sys/class/kfd/kfd"), "there is a GPU here")
    def test_no_gpu(self):
        done = run(GPREEMPT, "selftest")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("gpreempt doctor", done.stderr)


if __name__ == "__main__":
    unittest.main()
