# SPDX-License-Identifier: MIT
"""gpreempt why --driver on a copy of what the scheduler inside the driver shows in debugfs."""
import os
import tempfile
import unittest

from gp import gpreempt, gpreempt_json

# As the patched driver prints them (kernel/testbed/run 6.12 patched sched).
LINES = """\
id=1 cause=0 at_ns=71200000000 action=suspend why=inversion policy=priority pid=100 other=200 \
priority=500 other_priority=2000 waited_ns=1500000 ran_ns=90000000 cost_ns=40000 saves_ns=-1 \
limit_ns=0 took_ns=41000 error=0
id=2 cause=1 at_ns=71400000000 action=resume why=clear policy=priority pid=100 other=0 \
priority=500 other_priority=0 waited_ns=200000000 ran_ns=0 cost_ns=30000 saves_ns=0 limit_ns=0 \
took_ns=41000 error=0
id=3 cause=0 at_ns=71500000000 action=suspend why=inversion policy=priority pid=300 other=400 \
priority=1 other_priority=2 waited_ns=1 ran_ns=1 cost_ns=1 saves_ns=1 limit_ns=0 took_ns=41000 error=0
this is no decision
"""


def tree(text):
    root = tempfile.TemporaryDirectory()
    path = os.path.join(root.name, "sys/kernel/debug/kfd")
    os.makedirs(path)
    if text is not None:
        with open(os.path.join(path, "sched_decisions"), "w") as file:
            file.write(text)
    return root


class WhyDriver(unittest.TestCase):
    def test_decisions_about_and_for_a_process_in_sentences(self):
        with tree(LINES) as root:
            held = gpreempt("why", "--driver", "--root", root, "100")
            other = gpreempt("why", "--driver", "--root", root, "200")
        self.assertEqual((held.returncode, held.stderr), (0, ""))
        lines = held.stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("71.200000 s ", lines[0])
        self.assertIn("pid 100", lines[0])
        self.assertIn("pid 200", lines[0])
        self.assertIn("pid 100 resumes after 200 ms", lines[1])
        self.assertEqual(len(other.stdout.splitlines()), 1)

    def test_lines_limits_and_json_has_all(self):
        with tree(LINES) as root:
            last = gpreempt("why", "--driver", "--root", root, "--lines", "1", "100")
            json = gpreempt_json("why", "--driver", "--root", root, "--json", "100")
        self.assertEqual(len(last.stdout.splitlines()), 1)
        self.assertIn("resumes", last.stdout)
        self.assertEqual([d["why"] for d in json["decisions"]], ["inversion", "clear"])
        self.assertEqual(json["decisions"][0]["other_priority"], 2000)
        self.assertEqual(json["decisions"][1]["cause"], 1)
        self.assertEqual(json["decisions"][1]["took_ns"], 41000)

    def test_nothing_decided_is_said(self):
        for text in (LINES, ""):
            with tree(text) as root:
                done = gpreempt("why", "--driver", "--root", root, "999")
            self.assertEqual(done.returncode, 0)
            self.assertIn("The driver has recorded no decisions", done.stdout)

    def test_a_tree_that_is_none_is_bad_usage(self):
        done = gpreempt("why", "--driver", "--root", "/nowhere", "100")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'/nowhere' is not a directory", done.stderr)

    def test_a_stock_driver_is_an_error_that_says_what_is_missing(self):
        with tree(None) as root:
            done = gpreempt("why", "--driver", "--root", root, "100")
        self.assertEqual(done.returncode, 1)
        self.assertIn("built-in scheduler", done.stderr)


if __name__ == "__main__":
    unittest.main()
