# SPDX-License-Identifier: MIT
"""Programs whose results are compared, on a virtual GPU that executes kernels: llama.cpp must say the same as on its CPU backend, also
while it is suspended and resumed again and again.

Runs in a chroot of make rocm-test.
"""
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import tiny_model  # beside this file

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
PERSONALITY = os.environ.get("GP_PERSONALITY", "native")
LLAMA = shutil.which("llama-completion") if PERSONALITY == "compat" else None  # Debian's ggml has no gfx942
LIMIT = 300


@unittest.skipUnless(LLAMA, "llama.cpp of Debian has no kernels for this GPU, or is not installed")
class Tokens(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpc")
        self.addCleanup(shutil.rmtree, self.place)
        sockets = os.path.join(self.place, "sockets")
        os.mkdir(sockets, 0o700)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, GPREEMPT_DIR=sockets,
                        GPREEMPT_HOLDER=os.path.join(BIN, "gpreempt-holder"))
        self.model = os.path.join(self.place, "tiny.gguf")
        tiny_model.write(self.model)
        self.gpreempt("vgpu", "start", "--personality", PERSONALITY, "--compute", "on")
        self.addCleanup(self.gpreempt, "vgpu", "stop")
        self.addCleanup(self.gpreempt, "release", "--all")

    def gpreempt(self, *arguments):
        done = subprocess.run([GPREEMPT, *arguments], env=self.env, capture_output=True, text=True, timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def llama(self, *how):
        return [LLAMA, "-m", self.model, "-p", "w1 w2 w3", "-n", "16", "--temp", "0", "--seed", "1", "-no-cnv", "--no-warmup",
                "-t", "1", "-fa", "off", *how]

    def start(self, command):
        return subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def text(self, child):
        self.addCleanup(child.kill)
        output, _ = child.communicate(timeout=LIMIT)
        self.assertEqual(child.returncode, 0)
        return output

    def client(self, child):
        """Its pid, once it has work on the GPU."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline and child.poll() is None:
            status = json.loads(self.gpreempt("vgpu", "status", "--json"))
            for process in status["processes"]:
                if any(queue["completed"] > 5 for queue in process["queues"] if queue["type"] == "aql"):
                    return process["pid"]
            time.sleep(0.1)
        self.fail("llama.cpp does nothing on the GPU")

    def test_tokens_are_those_of_the_cpu(self):
        alone = self.text(self.start(self.llama("-ngl", "0", "--device", "none")))
        self.assertGreater(len(alone), 20)
        child = self.start([GPREEMPT, "vgpu", "--", *self.llama("-ngl", "99")])
        self.client(child)
        self.assertEqual(self.text(child), alone)
        child = self.start([GPREEMPT, "vgpu", "--", GPREEMPT, "run", "--", *self.llama("-ngl", "99")])
        pid, stops = self.client(child), 0
        while child.poll() is None:
            done = subprocess.run([GPREEMPT, "suspend", str(pid), "--for", "20ms"], env=self.env, capture_output=True, text=True,
                                  timeout=LIMIT, check=False)
            stops += done.returncode == 0
            time.sleep(0.01)
        self.assertGreater(stops, 5, done.stderr)
        self.assertEqual(self.text(child), alone)


if __name__ == "__main__":
    unittest.main()
