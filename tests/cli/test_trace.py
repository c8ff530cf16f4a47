# SPDX-License-Identifier: MIT
"""gpreempt trace as a person runs it, where there is no tracefs (tests/trace/capture has one)."""
import json
import os
import signal
import stat
import subprocess
import tempfile
import unittest

from gp import GPREEMPT, fixture, gpreempt

LOG = fixture("demo", "case_a_cnn.log")
# A program with a runtime that logs as ROCm's does.
LOGS = 'test "$AMD_LOG_LEVEL" = 5 && cp "$1" "${AMD_LOG_LEVEL_FILE}_$$"'


class Trace(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.root = os.path.join(self.place.name, "root")
        self.out = os.path.join(self.place.name, "new", "trace")
        os.makedirs(os.path.join(self.root, "sys", "class", "kfd"))

    def tearDown(self):
        self.place.cleanup()

    def trace(self, *arguments, **options):
        env = options.pop("env", {})
        env.setdefault("AMD_LOG_LEVEL", "5")
        return gpreempt("trace", "--root", self.root, "-o", self.out, *arguments, env=env, cwd=self.place.name,
                        **options)

    def test_what_was_logged_is_reported_and_what_is_missing_said(self):
        done = self.trace("--", "sh", "-c", "echo hello; " + LOGS + "; exit 3", "sh", LOG)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertTrue(done.stdout.startswith("hello\n"), done.stdout)
        self.assertIn("1. How is a queue created", done.stdout)
        self.assertIn("cannot trace KFD: tracefs is not mounted", done.stderr)
        names = sorted(os.listdir(self.out))
        self.assertRegex(" ".join(names), r"^amd_log_\d+ clocks.json$")

    def test_a_virtual_gpu_needs_no_tracefs(self):
        done = gpreempt("trace", "-o", self.out, "--", "sh", "-c", LOGS, "sh", LOG, cwd=self.place.name,
                        env={"AMD_LOG_LEVEL": "5", "GPREEMPT_VGPU": self.place.name})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a virtual GPU has no kernel driver", done.stderr)
        self.assertNotIn("mount", done.stderr)

    def test_a_log_of_each_process_is_read(self):
        done = self.trace("--json", "--", "sh", "-c", "echo hello; " + LOGS + '; sh -c "$2" sh "$1"', "sh", LOG, LOGS)
        self.assertEqual(done.returncode, 0, done.stderr)
        # JSON stays JSON.
        self.assertIn("hello", done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([row["kind"] for row in report["files"]["rows"]], ["AMD log"] * 2 + ["clocks"])
        pairs = {row["clock"]: row for row in report["clocks"]["pairs"]}
        self.assertEqual({name: row["anchors"] for name, row in pairs.items()}, {"MONOTONIC_RAW": 2, "BOOTTIME": 2})

    def test_a_recording_on_a_full_file_system_is_no_success(self):
        small = os.path.join(self.place.name, "small")
        os.mkdir(small)
        program = 'cat /dev/zero > "${AMD_LOG_LEVEL_FILE}_$$" 2> /dev/null; true'
        inside = 'mount -t tmpfs -o size=64k none "$0" || exit 77; cd "$0"; exec "$@"'
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, small, GPREEMPT, "trace",
                               "--root", self.root, "-o", os.path.join(small, "trace"), "--", "sh", "-c", program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "AMD_LOG_LEVEL": "5"})
        if "unshare:" in done.stderr or done.returncode == 77:
            self.skipTest(f"no mount namespace: {done.stderr}")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("is full: the recording is incomplete", done.stderr)

    def test_a_chosen_level_stays(self):
        done = self.trace("--", "sh", "-c", 'test "$AMD_LOG_LEVEL" = 3', env={"AMD_LOG_LEVEL": "3"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no AMD log", done.stderr)

    def test_the_command_line_is_checked(self):
        self.assertEqual(self.trace().returncode, 2)
        self.assertEqual(self.trace("--", "/no/such/program").returncode, 127)
        self.assertFalse(os.path.exists(self.out))
        self.assertEqual(self.trace("--", LOG).returncode, 126)
        # A program's own 127 is not ours.
        self.assertEqual(self.trace("--", "sh", "-c", "exit 127").returncode, 127)
        self.assertTrue(os.path.exists(os.path.join(self.out, "clocks.json")))
        self.assertEqual(gpreempt("trace", "--root", "/no/such", "true").returncode, 2)
        done = self.trace("--", "true")
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("is not empty", done.stderr)

    def test_a_program_that_a_signal_ends(self):
        done = self.trace("--", "sh", "-c", "kill -KILL $$")
        self.assertEqual(done.returncode, 128 + signal.SIGKILL)

    def test_who_ignores_the_end_of_its_children_gets_the_status(self):
        """As some supervisors do, and leave to what they start."""
        done = self.trace("--", "sh", "-c", "exit 3",
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_signals_are_for_the_program(self):
        # It says so once its trap is set, and ends by it only.
        script = 'trap "exit 7" TERM; echo ready; while :; do read -r line; done'
        child = subprocess.Popen([GPREEMPT, "trace", "--root", self.root, "-o", self.out, "--", "sh", "-c", script],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self.assertEqual(child.stdout.readline(), b"ready\n")
            child.send_signal(signal.SIGTERM)
            child.stdout.read()
            self.assertEqual(child.wait(60), 7)
        finally:
            child.kill()
            child.communicate()

    def test_an_option_is_no_container(self):
        for name in ("--help", "-x", ""):
            done = gpreempt("trace", "--container", name, "--", "true", cwd=self.place.name)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("is not a container name", done.stderr)

    def test_a_program_in_a_container(self):
        docker = os.path.join(self.place.name, "docker")
        with open(docker, "w") as script:
            script.write('#!/bin/sh\necho "$@"\ncat "$LOG" >&2\nexit 5\n')
        os.chmod(docker, stat.S_IRWXU)
        done = self.trace("--container", "box", "--", "python3", "a b.py",
                          env={"PATH": self.place.name + ":" + os.environ["PATH"], "LOG": LOG})
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertTrue(done.stdout.startswith("exec -e AMD_LOG_LEVEL=5 box python3 a b.py\n"), done.stdout)
        self.assertIn("amd_log.txt", done.stdout)
        self.assertNotIn("gpreempt trace: warning: :", done.stderr)  # nothing of the log itself
        self.out += "2"
        with open(docker, "w") as script:
            script.write('#!/bin/sh\necho "Error: No such container: $4" >&2\nexit 1\n')
        done = self.trace("--container", "box", "--", "true", env={"PATH": self.place.name + ":" + os.environ["PATH"]})
        self.assertEqual(done.returncode, 125, done.stderr)  # there is nothing to report on
        self.assertIn("gpreempt trace: warning: Error: No such container: box\n", done.stderr)
        done = gpreempt("trace", "--root", self.root, "--container", "box", "true", cwd=self.place.name,
                        env={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 125)
        self.assertIn("neither docker nor podman", done.stderr)


if __name__ == "__main__":
    unittest.main()
