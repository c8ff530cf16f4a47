# SPDX-License-Identifier: MIT
"""gpreempt top --driver on a copy of what the scheduler inside the driver shows in debugfs and sysfs."""
import os
import tempfile
import unittest

from gp import gpreempt, gpreempt_json

# As the patched driver prints it (kernel/testbed/run 6.12 patched sched_10), with other pids.
SCHED = """\
policy=priority poll_us=1000 polls=121
jobs=2 queues=3 held=1 events=137 suspends=1 resumes=0 errors=0
why inversion=1
why routine=9
job pid=201 priority=2000 state=running queues=1 busy=1 for=0 held_ns=0 ran_ns=45000000 suspends=0 declined=0 \
failures=0
job pid=200 priority=500 state=suspended queues=2 busy=1 for=201 held_ns=44000000 ran_ns=31000000 suspends=1 \
declined=0 failures=0
"""
STAT = "{0} ({1}) S 1 2 3 0 -1 4194560 9172 0 0 0 812 77 0 0 20 0 12 0 880123 10737418240 51200\n"
STATUS = "Name:\t{1}\nTgid:\t{0}\nPid:\t{0}\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t{0}\n"


class Tree:
    def __init__(self, sched=SCHED, queues=True):
        self.place = tempfile.TemporaryDirectory()
        self.dir = self.place.name
        if sched is not None:
            self.write("sys/kernel/debug/kfd/sched", sched)
        for pid, name, states in (200, "trainer", ["preempted", "suspended preempted"]), (201, "server", ["active"]):
            self.write(f"proc/{pid}/stat", STAT.format(pid, name))
            self.write(f"proc/{pid}/status", STATUS.format(pid, name))
            for number, state in enumerate(states if queues else []):
                for file, text in (("gpuid", 24439), ("type", 0), ("size", 16384), ("state", state),
                                   ("logical_priority", 500 if pid == 200 else 2000),
                                   ("suspended_ms", 44 if pid == 200 else 0)):
                    self.write(f"sys/class/kfd/kfd/proc/{pid}/queues/{number}/{file}", f"{text}\n")

    def write(self, path, text):
        path = os.path.join(self.dir, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.place.cleanup()

    def top(self, *options):
        return gpreempt("top", "--driver", "--root", self.dir, *options)

    def json(self, *options):
        return gpreempt_json("top", "--driver", "--root", self.dir, "--json", *options)


def rows(text):
    return [line.split() for line in text.splitlines()]


class TopDriver(unittest.TestCase):
    def test_the_same_tables_and_who_says_so(self):
        with Tree() as tree:
            done = tree.top("--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[0], "driver scheduler, policy priority: 2 jobs, 1 held")
        self.assertIn("Suspensions: 1, resumes: 0, failed attempts: 0.", done.stdout)
        found = rows(done.stdout)
        # GPU, policy, jobs, running, held; columns of what the driver does not tell are left out.
        self.assertIn(["0x5f77", "priority", "2", "1", "1"], found)
        self.assertIn("201 - 2000 running 1/1 45 ms 0 ns 0 server".split(), found)
        self.assertIn("200 - 500 held 1/2 31 ms 44 ms 1 trainer".split(), found)
        self.assertLess(found.index("201 - 2000 running 1/1 45 ms 0 ns 0 server".split()),
                        found.index("200 - 500 held 1/2 31 ms 44 ms 1 trainer".split()))
        # Each queue, in the driver's words.
        self.assertIn("200 0 0x5f77 500 44 ms preempted".split(), found)
        self.assertIn("200 1 0x5f77 500 44 ms suspended preempted".split(), found)
        self.assertIn("201 0 0x5f77 2000 0 ns active".split(), found)

    def test_order_and_filter(self):
        with Tree() as tree:
            held = tree.top("--sort", "held")
            only = tree.top("--filter", "train")
        jobs = [row[0] for row in rows(held.stdout) if row[-1:] in (["server"], ["trainer"])]
        self.assertEqual(jobs, ["200", "201"])
        self.assertNotIn("server", only.stdout)
        self.assertNotIn(["201", "0"], [row[:2] for row in rows(only.stdout)])
        self.assertIn(["200", "0"], [row[:2] for row in rows(only.stdout)])

    def test_json(self):
        with Tree() as tree:
            json = tree.json()
        self.assertEqual((json["source"], json["pid"]), ("driver", None))
        self.assertEqual(json["driver"], {"policy": "priority", "poll_us": 1000, "polls": 121, "events": 137,
                                          "suspends": 1, "resumes": 0, "errors": 0, "lines_not_understood": 0})
        self.assertEqual([job["pid"] for job in json["jobs"]], [201, 200])
        held = json["jobs"][1]
        self.assertEqual((held["state"], held["held"], held["held_for"], held["name"], held["uid"]),
                         ("suspended", True, 201, "trainer", 1000))
        self.assertEqual((held["held_ns"], held["ran_ns"], held["suspends"], held["gpu_id"]),
                         (44000000, 31000000, 1, 24439))
        for unknown in "id", "class", "weight", "pin", "waited_ns", "backlog", "preempted":
            self.assertIsNone(held[unknown], unknown)
        self.assertEqual(held["queue_list"][1], {"id": 1, "gpu_id": 24439, "logical_priority": 500,
                                                 "state": "suspended preempted", "suspended_ms": 44})
        self.assertEqual(json["devices"][0]["held"], 1)
        self.assertIsNone(json["devices"][0]["busy_ns"])

    def test_a_job_that_another_keeps_off_is_stopped(self):
        with Tree(SCHED.replace("state=suspended", "state=running")) as tree:
            tree.write("sys/class/kfd/kfd/proc/200/queues/0/state", "suspended\n")
            tree.write("sys/class/kfd/kfd/proc/200/queues/1/state", "suspended\n")
            done = tree.top()
            json = tree.json()
        self.assertIn("stopped", [row[3:4] for row in rows(done.stdout) if row[-1:] == ["trainer"]][0])
        self.assertEqual([device["running"] for device in json["devices"]], [1])

    def test_processes_that_have_gone_are_missing_not_empty(self):
        with Tree(SCHED.replace("pid=200", "pid=300"), queues=False) as tree:
            json = tree.json()
            done = tree.top()
        self.assertEqual(done.returncode, 0)
        gone = [job for job in json["jobs"] if job["pid"] == 300][0]
        self.assertEqual((gone["name"], gone["uid"], gone["gpu_id"], gone["queue_list"]), (None, None, None, []))
        self.assertEqual(json["devices"], [])

    def test_lines_that_are_not_understood_are_counted(self):
        with Tree(SCHED + "job pid=5 priority=1\nsomething new\n" + "x" * 100000 + "\n") as tree:
            done = tree.top()
        self.assertEqual(done.returncode, 0)
        self.assertIn("Lines of /sys/kernel/debug/kfd/sched in an unknown format: 3\n", done.stdout)

    def test_off_is_said_with_what_to_do(self):
        with Tree(SCHED.replace("policy=priority", "policy=off")) as tree:
            done = tree.top()
        self.assertIn("policy off", done.stdout)
        self.assertIn("/sys/module/amdgpu/parameters/kfd_sched", done.stdout)

    def test_text_of_another_driver_is_an_error(self):
        for text in "", "Hello\n", SCHED.split("\n")[0] + "\n", "\0" * 4096, SCHED[:60]:
            with Tree(text) as tree:
                done = tree.top()
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("/sys/kernel/debug/kfd/sched has an unknown format", done.stderr)
        with Tree("x" * (2 << 20)) as tree:
            done = tree.top()
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot read", done.stderr)

    def test_a_stock_driver_is_an_error_that_says_what_is_missing(self):
        with Tree(None) as tree:
            done = tree.top()
        self.assertEqual(done.returncode, 1)
        self.assertIn("built-in scheduler", done.stderr)

    def test_without_a_daemon_and_without_such_a_driver_it_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as empty:
            done = gpreempt("top", "--once", env={"GPREEMPT_DIR": empty})
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpreemptd is not running", done.stderr)
        self.assertIn("'gpreempt ps' lists the processes", done.stderr)

    def test_root_is_for_the_driver(self):
        with Tree() as tree:
            done = gpreempt("top", "--root", tree.dir)
            wrong = gpreempt("top", "--driver", "--root", tree.dir + "/none")
        self.assertEqual((done.returncode, wrong.returncode), (2, 2))
        self.assertIn("--root needs --driver", done.stderr)


if __name__ == "__main__":
    unittest.main()
