# SPDX-License-Identifier: MIT
"""gpreempt report-bundle: lists what it writes, writes no secrets, and gpreempt analyze reads it."""
import json
import os
import shutil
import socket
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
        self.assertIn("kfd-agent", gpreempt("analyze", self.file).stdout)

    def test_no_serial_number_and_no_name_gets_in(self):
        properties = os.path.join(self.root, "sys/class/kfd/kfd/topology/nodes/1/properties")
        with open(properties, "a") as out:
            out.write("unique_id 12345678901234567\nlast 1\n")
        self.assertEqual(self.bundle(self.file).returncode, 0)
        with open(self.file) as text:
            text = text.read()
        self.assertNotIn("12345678901234567", text)
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
