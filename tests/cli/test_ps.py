# SPDX-License-Identifier: MIT
"""gpreempt ps as a person runs it, on a copied /sys and /proc."""
import os
import subprocess
import tempfile
import unittest

from gp import GPREEMPT, fixture, gpreempt, gpreempt_json

ROOT = fixture("root")


def number(*parts):
    """The number in a file of the tree, or None where there is no such file."""
    try:
        with open(os.path.join(ROOT, "sys/class/kfd/kfd/proc", *parts)) as file:
            return int(file.read())
    except FileNotFoundError:
        return None


class Ps(unittest.TestCase):
    def test_one_line_for_each_process_with_kfd_state(self):
        done = gpreempt("ps", "--root", ROOT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split()[:3], ["PID", "USER", "CONTAINER"])
        pids = [int(line.split()[0]) for line in lines[1:]]
        self.assertEqual(pids, sorted(int(p) for p in os.listdir(
            os.path.join(ROOT, "sys/class/kfd/kfd/proc"))))
        self.assertIn("docker:trainer", lines[1])
        self.assertIn("4 compute, 2 sdma, 1 xgmi", lines[1])

    def test_no_escape_or_control_byte_reaches_the_output(self):
        for arguments in (["ps"], ["ps", "--json"]):
            done = gpreempt(*arguments, "--root", ROOT, text=False)
            self.assertEqual([b for b in done.stdout if b < 32 and b != 10], [])

    def test_json_agrees_with_the_files(self):
        result = gpreempt_json("ps", "--json", "--root", ROOT)
        self.assertTrue(result["kfd"])
        for process in result["processes"]:
            pid = str(process["pid"])
            for gpu in process["gpus"]:
                self.assertEqual(gpu["vram_bytes"], number(pid, "vram_%d" % gpu["gpu_id"]))
            self.assertEqual(sum(process["queue_counts"].values()), len(process["queues"]))
            for queue in process["queues"]:
                self.assertEqual(queue["ring_bytes"],
                                 number(pid, "queues", str(queue["kfd_id"]), "size"))

    def test_machine_without_kfd_is_an_empty_list_and_no_error(self):
        with tempfile.TemporaryDirectory() as empty:
            done = gpreempt("ps", "--root", empty)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(len(done.stdout.splitlines()), 1)
            self.assertIn("note: no GPU driver found: neither /sys/class/kfd/kfd (amdgpu) nor /proc/driver/nvidia (NVIDIA) exists", done.stderr)
            result = gpreempt_json("ps", "--json", "--root", empty)
            self.assertEqual(result, {"kfd": False, "nvidia": False, "processes": []})

    def test_live_machine_does_not_fail(self):
        done = gpreempt("ps")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.split()[:2], ["PID", "USER"])

    def test_arguments_are_bad_usage(self):
        done = gpreempt("ps", "4242")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'4242'", done.stderr)

    def test_full_disk_is_reported(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([GPREEMPT, "ps", "--root", ROOT], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write the output", done.stderr)


if __name__ == "__main__":
    unittest.main()
