# SPDX-License-Identifier: MIT
"""gpreempt report-bundle: lists what it writes, writes no secrets, and gpreempt analyze reads it."""
import json
import os
import shutil
import socket
import subprocess
import tempfile
import unittest

from gp import fixture, gpreempt, gpreempt_json

ROOT = fixture("root")
SELFTEST = {"gpreempt": "0", "mechanisms": [{"name": "kfd-agent", "works": True, "reason": None, "measured": [
    {"queues": 4, "packets": 64, "suspend": {"p50_ns": 41000, "p99_ns": 50000}, "resume": {"p50_ns": 32000, "p99_ns": 40000}}]}]}


class Bundle(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.place)
        self.root = os.path.join(self.place, "root")
        shutil.copytree(ROOT, self.root, symlinks=True)
        self.file = os.path.join(self.place, "report.json")

    def bundle(self, *arguments):
        return gpreempt("report-bundle", "--root", self.root, *arguments)

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)

    def test_a_dash_is_standard_output_and_the_list_goes_to_standard_error(self):
        done = self.bundle("-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(next(iter(json.loads(done.stdout))), "gpreempt_bundle")
        self.assertIn("  gpreempt_bundle\n", done.stderr)
        self.assertFalse(os.path.lexists("-"))

    def test_everything_that_is_written_was_listed_and_analyze_reads_it(self):
        self.write("sys/kernel/debug/kfd/hqds", "CP Pipe 0, Queue 0\n")
        selftest = os.path.join(self.place, "selftest.json")
        with open(selftest, "w") as out:
            json.dump(SELFTEST, out)
        done = self.bundle("--selftest", selftest, self.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.file) as text:
            bundle = json.load(text)
        self.assertEqual(next(iter(bundle)), "gpreempt_bundle")
        for key in bundle:
            self.assertTrue(key == "files" or f"  {key}" in done.stdout, key)
        for path, text in bundle["files"].items():
            self.assertIn(f"  {path} ({len(text)})", done.stdout)
        self.assertEqual(bundle["files"]["/sys/kernel/debug/kfd/hqds"], "CP Pipe 0, Queue 0\n")
        self.assertEqual(bundle["selftest"], SELFTEST)
        summary = gpreempt_json("analyze", "--json", self.file)
        self.assertEqual(summary["kernel"], "6.12.57-gp")
        self.assertEqual([gpu["gfx"] for gpu in summary["gpus"]], ["gfx942", "gfx90a"])
        self.assertEqual(summary["selftest"][0]["suspend_p50_ns"], 41000)
        self.assertEqual(len(summary["files"]), len(bundle["files"]))
        self.assertEqual(summary["mechanisms"][0]["verdict"], bundle["doctor"]["mechanisms"][0]["verdict"])
        # A person reads the same words in both.
        doctor, said = (gpreempt(*command).stdout for command in (("doctor", "--root", self.root), ("analyze", self.file)))
        for word in ("kfd-agent", "not usable", "limits preemption", "the hardware scheduler (CPSCH)"):
            self.assertIn(word, doctor)
            self.assertIn(word, said)

    def test_no_serial_number_and_no_name_gets_in(self):
        properties = os.path.join(self.root, "sys/class/kfd/kfd/topology/nodes/1/properties")
        with open(properties, "a") as out:
            out.write("unique_id 12345678901234567\nhive_id 7453010313431182337\nlast 1\n")
        self.assertEqual(self.bundle(self.file).returncode, 0)
        with open(self.file) as text:
            text = text.read()
        self.assertNotIn("12345678901234567", text)
        self.assertNotIn("7453010313431182337", text)
        self.assertIn("last 1", text)
        self.assertNotIn(socket.gethostname(), text)
        self.assertNotIn("environ", text)

    def test_a_list_writes_nothing_and_a_report_is_not_overwritten(self):
        done = self.bundle("--list", self.file)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(self.file))
        self.assertEqual(self.bundle(self.file).returncode, 0)
        with open(self.file) as text:
            before = text.read()
        done = self.bundle(self.file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("File exists", done.stderr)
        with open(self.file) as text:
            self.assertEqual(text.read(), before)

    def results_in(self, **options):
        """What a bundle made in self.place has of the results there."""
        if os.path.exists(self.file):
            os.unlink(self.file)
        done = gpreempt("report-bundle", "--root", self.root, self.file, cwd=self.place, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.file) as text:
            bundle = json.load(text)
        return bundle["selftest"], bundle["calibration"], done.stderr

    def test_the_usual_files_are_read_only_if_they_are_what_they_seem(self):
        usual = os.path.join(self.place, "gpreempt-selftest.json")
        secret = os.path.join(self.place, "secret")
        self.assertEqual(self.results_in(), (None, None, ""))
        with open(usual, "w") as out:
            json.dump(dict(SELFTEST, password="hunter2"), out)
        self.assertEqual(self.results_in(), (SELFTEST, None, ""))
        os.rename(usual, secret)
        os.symlink(secret, usual)
        selftest, _, said = self.results_in()
        self.assertIsNone(selftest)
        self.assertIn("gpreempt-selftest.json is left out", said)
        os.unlink(usual)
        os.mkfifo(usual)  # opened as it was, it would wait for a writer
        self.assertIsNone(self.results_in()[0])
        os.unlink(usual)
        with open(usual, "w") as out:
            json.dump({"token": "hunter2"}, out)
        self.assertIsNone(self.results_in()[0])
        done = self.bundle("--selftest", usual, self.file + "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not have the results of 'gpreempt selftest'", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file to another user")
    def test_a_file_of_another_user_is_left_out_unless_sudo_runs_for_that_user(self):
        usual = os.path.join(self.place, "gpreempt-selftest.json")
        with open(usual, "w") as out:
            json.dump(SELFTEST, out)
        os.chown(usual, 54321, 54321)
        self.assertIsNone(self.results_in(env={"SUDO_UID": "54320"})[0])
        self.assertEqual(self.results_in(env={"SUDO_UID": "54321"})[0], SELFTEST)

    def test_only_the_user_can_read_the_report(self):
        mask = os.umask(0)
        self.addCleanup(os.umask, mask)
        self.assertEqual(self.bundle(self.file).returncode, 0)
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)

    def test_a_log_from_a_pipe_is_not_taken_for_a_report(self):
        log = fixture("demo", "case_a_cnn.log")
        expected = gpreempt_json("analyze", "--json", log)
        with subprocess.Popen(["cat", log], stdout=subprocess.PIPE) as source:
            number = source.stdout.fileno()
            done = gpreempt("analyze", "--json", f"/dev/fd/{number}", pass_fds=(number,))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = done.stdout.replace(f"/dev/fd/{number}", log).replace(f'"{number}:', f'"{os.path.basename(log)}:')
        self.assertEqual(json.loads(found), expected)

    def test_a_damaged_report_is_named(self):
        self.assertEqual(self.bundle(self.file).returncode, 0)
        with open(self.file) as text:
            start = text.read(2000)
        with open(self.file, "w") as out:
            out.write(start)
        done = gpreempt("analyze", self.file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("damaged report bundle", done.stderr)
        with open(self.file, "w") as out:
            out.write('{"gpreempt_bundle": 99}')
        self.assertIn("another version", gpreempt("analyze", self.file).stderr)


if __name__ == "__main__":
    unittest.main()
