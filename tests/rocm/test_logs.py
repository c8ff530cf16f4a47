# SPDX-License-Identifier: MIT
"""What the readers say about a log of HIP agrees with the machine that it was made on: every queue, pointer and count.

Runs in a chroot of make rocm-test; GP_PERSONALITY is that of the machine, GP_ROCM the version of ROCm.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
PROGRAM = os.path.join(os.path.dirname(BIN), "tests", "vgpu", "programs", "hip_logged")
PERSONALITY = os.environ.get("GP_PERSONALITY", "native")
PACKETS_FROM = 4 if os.environ.get("GP_ROCM", "7.2") < "7.1" else 5  # the level that prints them
LIMIT = 120
STREAMS, LAUNCHES, COPIES, COPY_BYTES = 3, 50, 3, 1 << 20


class Log:
    """One program per level; it lives until the class is done."""

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="gpl")
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=cls.place)
        cls.run_it("vgpu", "start", "--personality", PERSONALITY)
        cls.addClassCleanup(cls.run_it, "vgpu", "stop")
        cls.log = os.path.join(cls.place, "hip.log")
        with open(cls.log, "wb") as log:
            cls.program = subprocess.Popen([GPREEMPT, "vgpu", "--", PROGRAM, str(STREAMS), str(LAUNCHES)], text=True,
                                           env=dict(cls.env, AMD_LOG_LEVEL=str(cls.level)), stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=log)
        cls.addClassCleanup(cls.end)
        line = cls.program.stdout.readline().split()
        assert line == ["ready", str(STREAMS), str(LAUNCHES), str(COPIES)], line
        cls.status = json.loads(cls.run_it("vgpu", "status", "--json"))
        cls.pid = next(process["pid"] for process in cls.status["processes"] if process["queues"])
        queues = next(process["queues"] for process in cls.status["processes"] if process["queues"])
        cls.rings = {queue["ring"]: queue for queue in queues}

    @classmethod
    def end(cls):
        cls.program.stdin.close()
        cls.program.wait(LIMIT)
        cls.program.stdout.close()

    @classmethod
    def run_it(cls, *arguments):
        done = subprocess.run([GPREEMPT, *arguments], env=cls.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def find(self):
        return json.loads(self.run_it("vgpu", "--", GPREEMPT, "find", "--json", str(self.pid), self.log))["queues"]

    def logged(self):
        found = [queue for queue in self.find() if "log" in queue["sources"].values()]
        self.assertEqual(len(found), STREAMS)
        return found

    def dispatches(self):
        return sum(queue["dispatches"] for queue in self.logged())

    def has_packets(self):
        return self.level >= PACKETS_FROM

    def test_every_queue_of_a_stream_is_the_one_in_the_driver(self):
        logged = self.logged()
        for queue in logged:
            real = self.rings[queue["ring"]]
            self.assertEqual((queue["gpu_id"], queue["type"]), (real["gpu_id"], "compute"))
            # Queues of one size in one process cannot be told apart in sysfs.
            self.assertIn(real["id"], [queue["kfd_id"], *queue["kfd_id_candidates"]])
            self.assertTrue(queue["active"])
            self.assertLessEqual({"log", "mqd", "hqd"}, set(queue["sources"].values()))
        self.assertEqual(sorted(queue["priority"] for queue in logged), ["high", "high", "normal"])

    def test_no_queue_of_the_driver_is_missing_and_none_is_invented(self):
        found = self.find()
        self.assertEqual(len(found), len(self.rings))
        possible = {number for queue in found for number in [queue["kfd_id"], *queue["kfd_id_candidates"]]} - {None}
        self.assertEqual(possible, {queue["id"] for queue in self.rings.values()})

    def test_packets_are_counted_or_unknown(self):
        for queue in self.logged():
            real = self.rings[queue["ring"]]
            self.assertEqual(queue["wptr"], real["submitted"])
            self.assertEqual(queue["rptr"], real["completed"])
            if self.has_packets():
                self.assertGreaterEqual(queue["dispatches"], LAUNCHES)  # and copy kernels, where HIP chooses them
                self.assertEqual(queue["dispatches"] + queue["barriers"], real["submitted"])
            else:
                self.assertFalse(queue["dispatches"])

    def test_analyze_counts_copies_and_kernels_once(self):
        text = self.run_it("analyze", self.log)
        copies = re.search(r"copies by the copy engines +(\S+)", text)[1]
        kernels = re.search(r"kernels submitted +(\S+)", text)[1]
        self.assertEqual(copies, str(2 * COPIES * STREAMS) if self.level >= 4 else "not")
        self.assertEqual(kernels, str(self.dispatches()) if self.has_packets() else "not")
        if not self.has_packets():
            self.assertIn("Packets are logged only at AMD_LOG_LEVEL=4 or higher (5 with ROCm 7.1 or later)", text)

    def test_compare_says_the_same(self):
        text = self.run_it("compare", self.log, self.log)
        rows = dict(re.findall(r"^(\S[^\n]*?)  +(\S+)(?: \S+)?  +\S+(?: \S+)?$", text, re.MULTILINE))
        self.assertEqual(rows["hardware queues"], str(STREAMS))
        if self.has_packets():
            self.assertEqual(rows["kernels submitted"], str(self.dispatches()))
        if self.level >= 4:
            self.assertEqual(rows["copies submitted to a copy engine"], str(2 * COPIES * STREAMS))
            self.assertIn(f"{2 * COPIES * STREAMS * COPY_BYTES >> 20}.0 MiB", text)

    def test_queue_finder_lists_them(self):
        done = subprocess.run([os.path.join(BIN, "queue_finder"), "--json", str(self.pid), self.log], env=self.env, timeout=LIMIT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.place, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({queue["ring"] for queue in json.loads(done.stdout)["queues"] if "log" in queue["sources"].values()},
                         {queue["ring"] for queue in self.logged()})

    def test_doctor_names_the_machine_s_driver(self):
        text = self.run_it("vgpu", "--", GPREEMPT, "doctor")
        self.assertRegex(text, r"KFD: +1\.17 \(reported by the driver\)")


class Level3(Log, unittest.TestCase):
    level = 3


class Level4(Log, unittest.TestCase):
    level = 4


class Level5(Log, unittest.TestCase):
    level = 5


if __name__ == "__main__":
    unittest.main()
