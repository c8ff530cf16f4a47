# SPDX-License-Identifier: MIT
"""scripts/suite-under-load in a repository whose suite says how it was started."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "suite-under-load"
SUITE = """#!/bin/sh
echo "${MESON_TESTTHREADS:-none}" >> "$PLACE/jobs"
mkdir -p build/meson-logs
echo '<testsuites><testsuite><testcase name="a"/><testcase name="b"/></testsuite></testsuites>' > build/meson-logs/testlog.junit.xml
"""


class SuiteUnderLoad(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="gpu")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.source = self.place / "source"
        (self.source / "scripts").mkdir(parents=True)
        shutil.copy(SCRIPT, self.source / "scripts" / "suite-under-load")
        for name, text in (("scripts/configure", "#!/bin/sh\n"), ("scripts/run-suite", SUITE), ("ninja", "#!/bin/sh\n")):
            (self.source / name).write_text(text)
            (self.source / name).chmod(0o755)
        for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "all"]):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *command], cwd=self.source, check=True)

    def suite(self, *options):
        variables = dict(os.environ, PLACE=str(self.place), PATH=f"{self.source}:{os.environ['PATH']}")
        variables.pop("MESON_TESTTHREADS", None)
        done = subprocess.run([self.source / "scripts" / "suite-under-load", self.place / "clone", "--load", "0", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_lines_of_all_runs_are_kept_in_the_repository_when_asked(self):
        self.suite("--runs", "2", "--keep")
        self.suite("--runs", "1", "--keep")
        self.suite("--runs", "1")
        kept = (self.source / "bench/results/suite-under-load.tsv").read_text().splitlines()
        rows = [line.split("\t") for line in kept]
        self.assertEqual(rows[0][:4], ["date", "commit", "load", "seconds"])
        self.assertEqual([row[4:] for row in rows[1:]], [["2", "0", "0", "-"]] * 3)
        self.assertTrue(all(float(row[2]) >= 0 for row in rows[1:]), rows)
        self.assertEqual((self.place / "clone/results").read_text().splitlines()[:4], kept)

    def test_the_file_can_be_named(self):
        self.suite("--runs", "1", "--keep", self.place / "mine")
        self.assertEqual(len((self.place / "mine").read_text().splitlines()), 2)
        self.assertFalse((self.source / "bench").exists())

    def test_the_number_of_tests_at_a_time_reaches_the_suite(self):
        self.suite("--runs", "1", "--jobs", "8")
        self.suite("--runs", "1")
        self.assertEqual((self.place / "jobs").read_text().split(), ["8", "none"])


if __name__ == "__main__":
    unittest.main()
