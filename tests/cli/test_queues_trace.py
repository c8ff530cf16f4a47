# SPDX-License-Identifier: MIT
"""gpreempt queues-trace as a person runs it."""
import os
import tempfile
import unittest

from gp import fixture, gpreempt, gpreempt_json

HASHED = fixture("kfdtrace", "v5_hashed.txt")
STOCK = fixture("kfdtrace", "v4_two_processes.txt")


class QueuesTrace(unittest.TestCase):
    def test_the_documents_three_processes_match_the_pid_hash(self):
        rows = gpreempt_json("queues-trace", "--json", HASHED)["processes"]["rows"]
        self.assertEqual([(r["pid"], r["pid_mod_256"], r["hash_base"], r["id_low"], r["pid_hash"]) for r in rows],
                         [(3933841, 145, 580, 580, "match"), (3935030, 54, 216, 216, "match"),
                          (3935031, 55, 220, 220, "match")])

    def test_a_pipe_is_the_same_as_a_file(self):
        with open(HASHED, "rb") as trace:
            piped = gpreempt("queues-trace", "-", stdin=trace)
        self.assertEqual(piped.stdout, gpreempt("queues-trace", HASHED).stdout)
        self.assertEqual(piped.returncode, 0)

    def test_json_is_the_same_in_every_language_but_for_notes(self):
        def without_notes(result):
            return {k: {a: b for a, b in v.items() if a != "notes"} if isinstance(v, dict) else v
                    for k, v in result.items()}

        self.assertEqual(without_notes(gpreempt_json("queues-trace", "-j", STOCK)),
                         without_notes(gpreempt_json("queues-trace", "-j", STOCK,
                                                     env={"LC_ALL": "zh_CN.UTF-8"})))

    def test_a_page_is_written_whole_beside_the_text(self):
        with tempfile.TemporaryDirectory() as place:
            page = os.path.join(place, "page.html")
            done = gpreempt("queues-trace", "--html", page, STOCK)
            self.assertEqual(done.returncode, 0)
            self.assertIn("3932831", done.stdout)
            with open(page) as text:
                html = text.read()
        self.assertTrue(html.startswith("<!DOCTYPE html>") and html.endswith("</html>\n"))
        self.assertIn("3932831", html)

    def test_what_is_wrong_is_said(self):
        done = gpreempt("queues-trace")
        self.assertEqual(done.returncode, 2)
        done = gpreempt("queues-trace", "/nowhere/at/all")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/nowhere/at/all", done.stderr)
        done = gpreempt("queues-trace", fixture("demo", "case_a_cnn.log"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("dynamic_debug", done.stderr)
        done = gpreempt("queues-trace", "/dev/null")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/dev/null is empty", done.stderr)
        done = gpreempt("queues-trace", fixture("demo"))
        self.assertIn("directory", done.stderr)
        done = gpreempt("queues-trace", "--html", "/nowhere/page.html", STOCK)
        self.assertEqual((done.returncode, done.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
