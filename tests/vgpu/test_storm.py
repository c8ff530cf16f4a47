# SPDX-License-Identifier: MIT
"""Many clients at once: suspended and resumed from outside at random, and killed at random.

GP_STORM_PACKETS (per queue) and GP_STORM_KILLS make it as long as wanted; 62500 packets are a
million dispatches. The seed is printed when something fails.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
VGPU = os.path.join(BIN, "gpreempt-vgpu")
PROGRAMS = os.path.join(os.path.dirname(BIN), "tests", "vgpu", "programs")
STORM = os.path.join(PROGRAMS, "hsa_storm")
SUSPENDER = os.path.join(PROGRAMS, "kfd_suspender")
PACKETS = int(os.environ.get("GP_STORM_PACKETS", "1500"))
KILLS = int(os.environ.get("GP_STORM_KILLS", "20"))
SEED = int(os.environ.get("GP_STORM_SEED", "1"))
PERSONALITY = os.environ.get("GP_PERSONALITY", "compat")
LIMIT = 200 + PACKETS // 100 + KILLS  # a hang, also on a busy machine


@unittest.skipUnless(os.path.exists(STORM), "built without ROCm's headers")
class Storm(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gps")
        self.addCleanup(shutil.rmtree, self.place)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place)
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)
        self.random = random.Random(SEED)
        self.vgpu("start", "--personality", PERSONALITY, "--runtime-enable", "--speed", "4")
        self.addCleanup(self.vgpu, "stop")

    def vgpu(self, *arguments):
        return subprocess.run([VGPU, *arguments], env=self.env, check=True, timeout=LIMIT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def client(self, *command):
        process = subprocess.Popen([VGPU, "--", *command], env=self.env, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        for stream in (process.stdin, process.stdout, process.stderr):
            self.addCleanup(stream.close)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        """The launcher and what it runs."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def status(self):
        return json.loads(self.vgpu("status", "--json"))

    def finish(self, process):
        process.stdin = None  # closed; communicate() would flush it
        out, errors = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 0, f"seed {SEED}: {errors}")
        return out

    def test_every_dispatch_completes_once_whoever_is_suspended(self):
        clients = [self.client(STORM, "4", str(PACKETS)) for _ in range(4)]
        pids = [client.stdout.readline().strip() for client in clients]
        suspender = self.client(SUSPENDER, str(SEED), "1000", *pids)
        self.assertEqual(suspender.stdout.readline(), "attached\n")
        for client in clients:
            client.stdin.close()
        for client in clients:
            self.assertEqual(self.finish(client), "done\n")
        self.assertRegex(self.finish(suspender), r"^[1-9]\d* changes\n$")

    def test_killed_clients_leave_nothing_and_hurt_nobody(self):
        survivor = self.client(STORM, "2", str(1500 * KILLS))
        survivor.stdout.readline()
        survivor.stdin.close()
        for _ in range(KILLS):
            victim = self.client(STORM, "4", "1000000")
            if self.random.random() < 0.7:
                victim.stdout.readline()  # it has opened the device
                victim.stdin.close()
            time.sleep(self.random.random() * 0.1)  # wherever it is then
            self.end(victim)
        self.assertEqual(self.finish(survivor), "done\n", f"seed {SEED}")
        proc = subprocess.run([VGPU, "--", "ls", "/sys/class/kfd/kfd/proc"], env=self.env, check=True, text=True,
                              timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        deadline = time.monotonic() + LIMIT
        while proc.split() and time.monotonic() < deadline:
            proc = subprocess.run([VGPU, "--", "ls", "/sys/class/kfd/kfd/proc"], env=self.env, check=True, text=True,
                                  timeout=LIMIT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        self.assertEqual(proc.split(), [])
        for gpu in self.status()["gpus"]:
            self.assertEqual(gpu["vram_used"], 0)


if __name__ == "__main__":
    unittest.main()
