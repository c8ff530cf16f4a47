# SPDX-License-Identifier: MIT
"""Preemption of programs of a newer ROCm, as users have them: not started by us, as a group, and under gpreemptd.

Runs in a chroot of make rocm-test; GP_PERSONALITY is that of the machine, GP_ROCM the version of ROCm.
"""
import errno
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
BUILD = os.path.dirname(BIN)
GPREEMPT = os.path.join(BIN, "gpreempt")
EXAMPLES = os.path.join(BUILD, "examples")
PERSONALITY = os.environ.get("GP_PERSONALITY", "native")
LLAMA = shutil.which("llama-server") if PERSONALITY == "compat" else None  # Debian's ggml has no gfx942
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAINER = [os.path.join(EXAMPLES, "offline_trainer"), "--load", "spin", "--seconds", "600"]
PORT = 18080
LIMIT = 120
ACT = "[daemon]\nmode = act\nstand_down = no\nscan_interval = 100ms\n[device *]\npolicy = priority\n"


class Preemption(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpp")
        self.addCleanup(shutil.rmtree, self.place)
        sockets = os.path.join(self.place, "sockets")
        os.mkdir(sockets, 0o700)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, GPREEMPT_DIR=sockets,
                        GPREEMPT_HOLDER=os.path.join(BIN, "gpreempt-holder"))
        self.gpreempt("vgpu", "start", "--personality", PERSONALITY, "--speed", "0.2")
        self.addCleanup(self.gpreempt, "vgpu", "stop")
        self.addCleanup(self.gpreempt, "release", "--all")

    def gpreempt(self, *arguments):
        done = subprocess.run([GPREEMPT, *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT, check=False)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stderr}")
        return done.stdout

    def begin(self, *command, inside=True):
        """A program on the machine, ended with the test."""
        words = [GPREEMPT, "vgpu", "--", *command] if inside else list(command)
        with open(os.path.join(self.place, f"{os.path.basename(command[0])}.log"), "ab") as log:
            child = subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(self.end, child)
        return child

    @staticmethod
    def end(child):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while True:
            found = condition()
            if found:
                return found
            self.assertLess(time.monotonic(), deadline, message)
            time.sleep(0.05)

    def queues(self, pid):
        """The compute queues of a process, as the driver has them."""
        status = json.loads(self.gpreempt("vgpu", "status", "--json"))
        return [queue for process in status["processes"] if process["pid"] == pid for queue in process["queues"]
                if queue["type"] == "aql"]

    def working(self, count=1):
        """The pids of programs that have completed work, once there are so many."""
        def found():
            status = json.loads(self.gpreempt("vgpu", "status", "--json"))
            pids = [process["pid"] for process in status["processes"]
                    if any(queue["type"] == "aql" and queue["completed"] > 20 for queue in process["queues"])]
            return len(pids) >= count and pids
        return self.until(found, "the programs do not start")

    def completed(self, pid):
        return sum(queue["completed"] for queue in self.queues(pid))

    def stands_still(self, pid):
        self.until(lambda: all(queue["suspended"] or not queue["percentage"] for queue in self.queues(pid)), "not suspended")
        before = self.completed(pid)
        time.sleep(1)
        self.assertEqual(self.completed(pid), before)

    def goes_on(self, pid):
        before = self.completed(pid)
        self.until(lambda: self.completed(pid) > before, "does not resume")

    def suspended(self, *target):
        """Suspends until the caller resumes."""
        return self.begin(GPREEMPT, "suspend", *target, "--for", "10m")

    def test_a_program_that_was_started_without_us_is_suspended_and_resumed(self):
        self.begin(*TRAINER)
        pid, = self.working()
        for _ in range(3):
            self.suspended("--mechanism", "kfd-debug", str(pid))
            self.stands_still(pid)
            self.gpreempt("vgpu", "--", GPREEMPT, "resume", str(pid))
            self.goes_on(pid)

    def test_with_an_agent(self):
        self.begin(GPREEMPT, "run", "--", *TRAINER)
        pid, = self.working()
        self.suspended("--mechanism", "kfd-agent", str(pid))
        self.stands_still(pid)
        self.gpreempt("vgpu", "--", GPREEMPT, "resume", str(pid))
        self.goes_on(pid)

    def test_a_group_is_suspended_and_resumed_together(self):
        for _ in range(2):
            self.begin(GPREEMPT, "run", "--group", "training", "--", *TRAINER)
        pids = self.working(2)
        self.suspended("--group", "training")
        for pid in pids:
            self.stands_still(pid)
        self.gpreempt("vgpu", "--", GPREEMPT, "resume", "--group", "training")
        for pid in pids:
            self.goes_on(pid)

    def daemon(self, config):
        path = os.path.join(self.place, "gpreemptd.conf")
        with open(path, "w") as file:
            file.write(config)
        self.begin(os.path.join(BIN, "gpreemptd"), "--config", path)
        socket = os.path.join(self.env["GPREEMPT_DIR"], "gpreemptd.sock")
        self.until(lambda: os.path.exists(socket), "gpreemptd does not start")

    def preempts(self, server):
        """The trainer is suspended for requests, and the driver refuses none; it works again when the server has ended."""
        server()
        log = [json.loads(line) for line in self.gpreempt("log", "--all", "--json").splitlines()]
        done = [line for line in log if line["kind"] == "done"]
        self.assertIn("suspend", [line["operation"] for line in done])
        # On a busy host an operation may take longer than gpreemptd waits; it is repeated.
        self.assertEqual([line["text"] for line in done if line["error"] not in (0, -errno.ETIMEDOUT)], [])
        trainer = next(pid for pid in self.working() if self.queues(pid))
        self.goes_on(trainer)

    def serve(self, *prefix):
        server = self.begin(*prefix, os.path.join(EXAMPLES, "online_server"), "--load", "spin", "--rate", "5", "--seconds", "5")
        self.assertEqual(server.wait(LIMIT), 0)

    def test_gpreemptd_with_agents(self):
        self.daemon(ACT)
        self.begin(GPREEMPT, "run", "--class", "offline", "--", *TRAINER)
        self.working()
        self.preempts(lambda: self.serve(GPREEMPT, "run", "--class", "online", "--"))

    def test_gpreemptd_by_rules_without_agents(self):
        rules = ("[rule trainer]\nexecutable = offline_trainer\nclass = offline\nattach = yes\n"
                 "[rule server]\nexecutable = online_server\nclass = online\nattach = yes\n")
        self.daemon(ACT + rules)
        self.begin(*TRAINER)
        self.working()
        self.preempts(self.serve)

    @unittest.skipUnless(LLAMA, "llama.cpp of Debian has no kernels for this GPU, or is not installed")
    def test_gpreemptd_with_llama_server(self):
        model = os.path.join(self.place, "tiny.gguf")
        subprocess.run(["python3", os.path.join(SOURCE, "tests", "rocm", "tiny_model.py"), model], check=True, timeout=LIMIT)
        self.daemon(ACT)
        self.begin(GPREEMPT, "run", "--class", "offline", "--", *TRAINER)
        self.working()
        self.begin(GPREEMPT, "run", "--class", "online", "--", LLAMA, "-m", model, "-ngl", "99", "--host", "127.0.0.1", "--port", str(PORT),
                   "-c", "256", "--no-warmup")

        def ask(method, path, body=None):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=LIMIT)
                connection.request(method, path, body, {"Content-Type": "application/json"})
                return connection.getresponse().status
            except OSError:
                return None

        def requests():
            self.until(lambda: ask("GET", "/health") == 200, "llama-server does not start")
            for _ in range(3):
                self.assertEqual(ask("POST", "/completion", json.dumps({"prompt": "w1 w2", "n_predict": 2})), 200)

        self.preempts(requests)


if __name__ == "__main__":
    unittest.main()
