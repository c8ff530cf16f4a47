# SPDX-License-Identifier: MIT
"""scripts/run-suite with a meson that does what a test may do."""
import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import unittest

SUITE = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run-suite"
MESON = """#!/bin/sh
echo "$TMPDIR" > {place}/tmpdir
{deed}
mkdir -p {place}/meson-logs
echo '{{"name": "one", "result": "{result}", "stdout": "{stdout}"}}' > {place}/meson-logs/testlog.json
exit {status}
"""


class RunSuite(unittest.TestCase):
    def suite(self, deed, result="OK", status=0, stdout=""):
        with tempfile.TemporaryDirectory(prefix="gpr") as place:
            meson = pathlib.Path(place, "meson")
            meson.write_text(MESON.format(place=place, deed=deed, result=result, status=status, stdout=stdout.replace("\n", r"\\n")))
            meson.chmod(stat.S_IRWXU)
            done = subprocess.run([SUITE, place], stdout=subprocess.PIPE, text=True, timeout=60,
                                  env={name: value for name, value in os.environ.items() if name != "MESON_TESTTHREADS"} |
                                  {"PATH": place + ":" + os.environ["PATH"]})
            self.assertFalse(os.path.exists(pathlib.Path(place, "tmpdir").read_text().strip()))
        return done

    def test_a_suite_that_cleans_up_passes(self):
        done = self.suite('touch "$TMPDIR/x"; rm "$TMPDIR/x"; mkdir "$TMPDIR/comgr-1"')
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_file_that_is_left_fails_the_suite_and_is_removed(self):
        done = self.suite('mkdir -p "$TMPDIR/gp-left/agents"')
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAIL the tests left files in TMPDIR: gp-left gp-left/agents\n", done.stdout)

    def test_a_name_that_is_not_a_test_fails_and_the_nearest_is_named(self):
        with tempfile.TemporaryDirectory(prefix="gpr") as place:
            pathlib.Path(place, "meson-info").mkdir()
            pathlib.Path(place, "meson-info", "intro-tests.json").write_text('[{"name": "cli-find"}, {"name": "hqds"}]')
            done = subprocess.run([SUITE, place, "hqds", "clifind"], stdout=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout.splitlines()[0], "no test 'clifind'; did you mean cli-find?")

    def test_programs_of_a_suite_in_the_background_heed_an_interrupt(self):
        """A shell has them ignore it, and tests that interrupt a program would wait for ever."""
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        done = self.suite('kill -INT $$; touch "$TMPDIR/ignored"')
        self.assertIn("no test ran", done.stdout)
        self.assertNotIn("ignored", done.stdout)

    def test_two_tests_per_core_run_at_a_time(self):
        wanted = 2 * len(os.sched_getaffinity(0))
        done = self.suite(f'test "$MESON_TESTTHREADS" = {wanted} || touch "$TMPDIR/threads-$MESON_TESTTHREADS"')
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_a_failed_test_is_named(self):
        done = self.suite("true", "FAIL", 1)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAIL one (FAIL):", done.stdout)

    def test_a_failed_subtest_is_named_before_a_long_log(self):
        done = self.suite("true", "FAIL", 1, "ok 1 - x\n" + "# before\n" * 50 + "not ok 2 - y\n# why\n" + "# log\n" * 100)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:3], ["FAIL one (FAIL):", "    not ok 2 - y", "    # why"])
        self.assertLess(len(lines), 60)


if __name__ == "__main__":
    unittest.main()
