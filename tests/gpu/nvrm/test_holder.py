# SPDX-License-Identifier: MIT
"""The whole way on a fake resource manager: gpreempt, the holder, its lifeline, the manager."""
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from nvidia_stage import LIMIT, Asked, lifelines_of, may_copy_descriptors

GPREEMPT = os.path.join(os.environ["GP_BIN"], "gpreempt")


class Holder(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpn")
        self.keeper = Asked(os.environ["GP_FAKE_KEEPER"])
        self.target = Asked(os.environ["GP_FAKE_TARGET"], self.keeper.first)
        self.pid = str(self.target.process.pid)
        self.held = []
        self.env = dict(os.environ, LC_ALL="C.UTF-8", GPREEMPT_DIR=self.place,
                        GPREEMPT_FAKE_NVIDIA=self.keeper.first, LD_PRELOAD=os.environ["GP_FAKE_PRELOAD"])
        self.env.pop("LANGUAGE", None)
        self.assertEqual(self.target.ask("context"), "ok 0")
        if not may_copy_descriptors(self.target.process.pid):
            self.tearDown()
            self.skipTest("pidfd_getfd is not allowed on this machine")

    def tearDown(self):
        for process in self.held:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=LIMIT)
        if self.target.process.poll() is None:
            self.target.close()
        self.kill_holder()
        self.keeper.close()
        shutil.rmtree(self.place)

    def holder(self):
        """A pidfd of the running holder, or None."""
        try:
            with open(os.path.join(self.place, "holder.lock")) as file:
                pid = int(file.read() or 0)
            fd = os.pidfd_open(pid)
            with open(f"/proc/{pid}/comm") as file:
                if file.read().startswith("gpreempt-holder"):
                    return fd
            os.close(fd)
        except (FileNotFoundError, ProcessLookupError, ValueError, OSError):
            pass
        return None

    def kill_holder(self):
        fd = self.holder()
        if fd is None:
            return False
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        ready = select.select([fd], [], [], LIMIT)[0]
        os.close(fd)
        self.assertTrue(ready)
        return True

    def gpreempt(self, *arguments):
        return subprocess.run([GPREEMPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=self.env, timeout=LIMIT)

    def suspend(self, *arguments):
        """A suspension that lasts; the first thing it says."""
        process = subprocess.Popen([GPREEMPT, "suspend", self.pid, "--json", "--lease", "1h", *arguments],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.held.append(process)
        line = process.stdout.readline()
        if not line:
            self.fail(process.communicate(timeout=LIMIT)[1])
        return process, json.loads(line)

    def test_a_cuda_process_is_suspended_and_resumed(self):
        process, first = self.suspend()
        self.assertEqual((first["event"], first["queues"]), ("suspended", 1))
        self.assertEqual(self.keeper.ask("channels"), "8 8")
        resumed = self.gpreempt("resume", self.pid)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual(self.keeper.ask("running"), "1")
        process.send_signal(signal.SIGINT)

    def status(self, *arguments):
        return json.loads(self.gpreempt("status", *arguments, "--json").stdout)

    def test_copy_engines_stop_when_asked_for_and_go_on_when_nobody_wants_it_any_more(self):
        self.suspend()
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 8", "12 0"))
        self.assertFalse(self.status(self.pid)["copy_engines"])
        process, _ = self.suspend("--copy-engines")
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 8", "12 12"))
        self.assertTrue(self.status(self.pid)["copy_engines"])
        self.assertEqual(sorted(hold["copy_engines"] for hold in self.status()["holds"]), [False, True])
        self.assertIn("all, with copies", self.gpreempt("status").stdout)
        self.assertIn("suspended as well", self.gpreempt("status", self.pid).stdout)
        # A group that comes later belongs to it.
        self.assertEqual(self.target.ask("copier"), "ok 0")
        end = time.time() + LIMIT
        while self.keeper.ask("copies") != "16 16" and time.time() < end:
            time.sleep(0.02)
        self.assertEqual(self.keeper.ask("copies"), "16 16")
        process.send_signal(signal.SIGINT)  # the first one holds the kernels on
        process.communicate(timeout=LIMIT)
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 8", "16 0"))
        self.assertFalse(self.status(self.pid)["copy_engines"])

    def test_copy_engines_belong_to_the_whole_process(self):
        queue = self.status(self.pid)["queues"][0]["kfd_id"]
        refused = self.gpreempt("suspend", self.pid, str(queue), "--copy-engines")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("cannot be combined with queue ids", refused.stderr)
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 0", "12 0"))

    def test_copies_and_kernels_run_when_the_holder_is_killed(self):
        self.suspend("--copy-engines")
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 8", "12 12"))
        self.assertTrue(self.kill_holder())
        self.assertEqual(self.keeper.ask("running"), "1")
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 0", "12 0"))

    def test_it_runs_when_whoever_holds_it_dies(self):
        process, _ = self.suspend()
        self.assertEqual(self.keeper.ask("channels"), "8 8")
        process.kill()
        self.assertEqual(self.keeper.ask("running"), "1")

    def test_it_runs_when_the_holder_is_killed(self):
        self.suspend()
        self.assertEqual(self.keeper.ask("channels"), "8 8")
        self.assertTrue(self.kill_holder())
        self.assertEqual(self.keeper.ask("running"), "1")

    def test_it_runs_when_the_holder_is_stopped(self):
        process = subprocess.Popen([GPREEMPT, "suspend", self.pid, "--json", "--lease", "1s"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self.held.append(process)
        self.assertIn("suspended", process.stdout.readline())
        fd = self.holder()
        self.assertIsNotNone(fd)
        try:
            signal.pidfd_send_signal(fd, signal.SIGSTOP)
        except ProcessLookupError:
            pass  # a guardian that was faster
        self.assertEqual(self.keeper.ask("running"), "1")
        os.close(fd)

    def test_release_starts_what_holder_and_lifeline_killed_at_once_left(self):
        self.suspend("--copy-engines")
        lifelines = lifelines_of(self.place)
        self.assertEqual(len(lifelines), 1)
        signal.pidfd_send_signal(lifelines[0], signal.SIGSTOP)
        self.assertTrue(self.kill_holder())
        signal.pidfd_send_signal(lifelines[0], signal.SIGKILL)
        self.assertTrue(select.select(lifelines, [], [], LIMIT)[0])
        os.close(lifelines[0])
        self.held.pop().kill()  # it would ask a new holder
        self.assertEqual(self.keeper.ask("channels"), "8 8")
        released = self.gpreempt("release", "--all", "--json")
        self.assertEqual(released.returncode, 0, released.stderr)
        self.assertEqual(json.loads(released.stdout)["nvidia_processes"], 1)
        self.assertEqual((self.keeper.ask("channels"), self.keeper.ask("copies")), ("8 0", "12 0"))

    def test_a_process_that_exits_while_suspended_is_gone(self):
        process, _ = self.suspend()
        self.target.process.kill()
        self.target.process.wait(LIMIT)
        process.communicate(timeout=LIMIT)
        end = time.time() + LIMIT
        while self.keeper.ask("files") != "0" and time.time() < end:
            time.sleep(0.02)
        self.assertEqual(self.keeper.ask("files"), "0")

    def test_the_mechanism_can_be_named(self):
        refused = self.gpreempt("suspend", self.pid, "--mechanism", "kfd-debug")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("AMD", refused.stderr)
        _, first = self.suspend("--mechanism", "nv-suspend")
        self.assertEqual(first["queues"], 1)


if __name__ == "__main__":
    unittest.main()
