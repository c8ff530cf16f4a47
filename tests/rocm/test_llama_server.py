# SPDX-License-Identifier: MIT
"""llama-server, unmodified, on a virtual GPU that executes kernels: the demonstration with it, and its tokens while it is suspended at random.

Runs in a chroot of make rocm-test.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ["GP_BIN"])
os.environ.setdefault("GP_DEMO_BUILD", str(BIN.parent))
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "tests" / "rocm")]
import demo_llama  # noqa: E402
import demo_machine  # noqa: E402
import suspended  # noqa: E402
import tiny_model  # noqa: E402

PERSONALITY = os.environ.get("GP_PERSONALITY", "native")
LIMIT = 380


@unittest.skipUnless(PERSONALITY == "compat" and not demo_llama.problem(),
                     "llama.cpp of Debian has no kernels for this GPU, or is not installed")
class LlamaServer(unittest.TestCase):
    def test_tokens_are_those_of_the_cpu_while_it_is_suspended_at_random(self):
        # All are waited for: how soon they come depends on the host.
        with mock.patch.object(demo_llama, "ANSWER_LIMIT", LIMIT), demo_machine.session(1, PERSONALITY, compute=True) as machine:
            tiny_model.write(machine.work / "model.gguf", demo_llama.SHAPE)
            cpu = demo_llama.Run(machine, "cpu").on_cpu()
            run = demo_llama.Run(machine, "suspended", offline=False)
            run.command = lambda job_class, *words: [BIN / "gpreempt", "run", "--", *words]
            server, port = run.serve(*demo_llama.GPU)
            suspender = suspended.Suspender(dict(machine.env, GP_BIN=str(BIN)), name=machine.name)
            run.request(port)
            stops = suspender.stop()
            run.check_gpu(server)
        self.assertEqual([request.error for request in run.requests if request.error], [])
        self.assertEqual(run.tokens(), cpu.tokens())
        self.assertTrue(all(len(tokens) == demo_llama.TOKENS for tokens in run.tokens()))
        self.assertGreater(stops, 10, suspender.error)

    def test_the_demonstration(self):
        with tempfile.TemporaryDirectory() as out:
            env = {**os.environ, "GP_DEMO_ROCM": os.environ.get("GP_ROCM", "machine"), "GP_DEMO_OUT": out}
            done = subprocess.run(["python3", SOURCE / "scripts" / "demo"], env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            report = json.loads(pathlib.Path(out, "report.json").read_text())
            page = pathlib.Path(out, "report.html").read_text()
        self.assertIn("server: /usr/bin/llama-server", done.stdout)
        self.assertEqual(report["server"], "llama-server")
        self.assertEqual(report["differences"], {"tokens": {"alone": [], "without": [], "with": []}, "cpu": [], "weights": []})
        self.assertEqual(report["online"]["alone"]["served"], report["online"]["alone"]["requests"])
        self.assertGreater(report["online"]["with"]["served"], 0)
        self.assertGreater(report["preemptions"], 0)
        self.assertGreater(report["offline"]["with"]["steps"], 2)
        for target in report["targets"].values():
            self.assertIn(target["text"], done.stdout)
            self.assertIn(target["text"], page)
        status = subprocess.run([BIN / "gpreempt", "vgpu", "status", "--name", report["machine"]], capture_output=True, check=False)
        self.assertEqual(status.returncode, 1, "its machine is still there")


if __name__ == "__main__":
    unittest.main()
