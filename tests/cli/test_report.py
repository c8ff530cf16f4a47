# SPDX-License-Identifier: MIT
"""gpreempt report as a person runs it."""
import csv
import io
import json
import os
import shutil
import tempfile
import unittest

from gp import fixture, gpreempt, gpreempt_json

V1 = fixture("rocprof", "v1")
V3 = fixture("rocprof", "v3")
CORPUS = os.path.join(os.environ.get("GP_CORPUS", ""), "rocprof")


class Report(unittest.TestCase):
    def test_a_directory_is_read_whole(self):
        result = gpreempt_json("report", "--json", V1)
        self.assertEqual(len(result["files"]["rows"]), 5)
        self.assertEqual(result["run"]["kernels"], 2)
        self.assertEqual(result["run"]["pid"], 4711)
        layers = {row["layer"]: row for row in result["layers"]["rows"]}
        self.assertEqual(sum(row["alone_ns"] for row in layers.values()), result["run"]["wall_ns"])

    def test_directories_in_directories_as_rocprofv3_makes_them(self):
        done = gpreempt("report", "--json", V3)
        self.assertEqual(done.returncode, 0)
        self.assertIn("77_kernel_trace.csv: 1 damaged row is not counted (line 5)", done.stderr)
        self.assertIn("1 entry ends before it begins", done.stderr)

    def test_two_versions_are_said_to_be_two_runs(self):
        done = gpreempt("report", V1, V3)
        self.assertEqual(done.returncode, 0)
        self.assertIn("different versions of rocprof", done.stderr)
        # The same as CSV: all single values, then a table per list.
        text = gpreempt("report", "--format", "csv", V3).stdout
        tables = {part.splitlines()[1].split(",")[0]: list(csv.DictReader(io.StringIO(part))) for part in text.split("\n\n")}
        result = gpreempt_json("report", "--json", V3)
        self.assertEqual(list(tables)[0], "facts")
        self.assertEqual([row["queue"] for row in tables["queues"]], [str(row["queue"]) for row in result["queues"]["rows"]])
        self.assertEqual({row["name"]: row["value"] for row in tables["facts"]}["run.wall_ns"], str(result["run"]["wall_ns"]))
        self.assertEqual(gpreempt("report", "--format", "xml", V3).returncode, 2)
        # The time between two runs says nothing.
        mixed = gpreempt_json("report", "--json", V1, V3)
        self.assertIsNone(mixed["run"]["wall_ns"])
        self.assertEqual({row["used_ns"] for row in mixed["queues"]["rows"]}, {None})

    def test_what_is_no_profile_is_passed_over_or_refused(self):
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(os.path.join(V1, "results.csv"), place)
            with open(os.path.join(place, "other.csv"), "w") as other:
                other.write("a,b\n1,2\n")
            done = gpreempt("report", place)
            self.assertEqual(done.returncode, 0)
            self.assertIn("other.csv: not a rocprof file", done.stderr)
            os.unlink(os.path.join(place, "results.csv"))
            done = gpreempt("report", place)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("rocprofv3 --hip-trace", done.stderr)
        self.assertEqual(gpreempt("report").returncode, 2)
        self.assertEqual(gpreempt("report", "/nowhere").returncode, 1)

    def test_a_cut_file_is_said_to_be_cut(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as cut, open(os.path.join(V1, "results.json")) as whole:
            cut.write(whole.read()[:2000])
            cut.flush()
            done = gpreempt("report", cut.name)
        self.assertEqual(done.returncode, 0)
        self.assertIn("truncated", done.stderr)

    def test_names_stay_names_in_markdown_and_html(self):
        with tempfile.TemporaryDirectory() as place:
            page = os.path.join(place, "page.html")
            done = gpreempt("report", "--markdown", "--html", page, V1)
            self.assertIn('std::pair&lt;int, "x,y"&gt;::sum (int)', done.stdout)
            with open(page) as html:
                self.assertIn("std::pair&lt;int, &quot;x,y&quot;&gt;::sum", html.read())

    def test_the_timeline_joins_calls_and_kernels(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "t.json")
            self.assertEqual(gpreempt("report", "--perfetto", path, V3).returncode, 0)
            with open(path) as timeline:
                events = json.load(timeline)["traceEvents"]
        starts = {e["id"] for e in events if e["ph"] == "s"}
        ends = {e["id"] for e in events if e["ph"] == "f"}
        self.assertEqual(starts, {4, 5})
        self.assertLessEqual(starts, ends)

    def test_the_real_sample_shows_where_the_time_of_its_copies_went(self):
        names = ("trace.json", "copy_stats.csv", "hip_stats.csv", "hsa_stats.csv", "stats.csv", "results.csv")
        files = [os.path.join(CORPUS, "rocprofv1_" + name) for name in names]
        if not all(map(os.path.exists, files)):
            self.skipTest("the real samples are not on this machine")
        result = gpreempt_json("report", "--json", *files)
        hip = {row["name"]: row for row in result["hip"]["rows"]}
        layers = {row["layer"]: row for row in result["layers"]["rows"]}
        self.assertEqual((hip["hipMemcpy"]["calls"], hip["hipMemcpy"]["total_ns"]), (3, 136190899))
        self.assertEqual(layers["copy"]["sum_ns"], 336401)
        self.assertEqual(layers["kernel"]["sum_ns"], 13520)
        self.assertEqual(layers["application"]["alone_ns"], 60043110)
        self.assertEqual(result["run"]["wall_ns"], 198520144)


if __name__ == "__main__":
    unittest.main()
