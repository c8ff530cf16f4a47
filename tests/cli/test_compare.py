# SPDX-License-Identifier: MIT
"""gpreempt compare, and the scripts over it, as a person runs them."""
import glob
import os
import re
import tempfile
import unittest

from gp import GPREEMPT, fixture, gpreempt, gpreempt_json, run

CNN = fixture("demo", "case_a_cnn.log")
TRANSFORMER = fixture("demo", "case_b_transformer.log")
POC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "poc")


def metrics(result):
    return {row["metric"]: (row["a"], row["b"]) for row in result["cases"]["metrics"]}


def dispatches(path):
    with open(path) as log:
        return len(re.findall(r"HWq=0x[0-9a-f]+, id=\d+, Dispatch", log.read()))


def without_packets(path, place):
    """The log as a lower AMD_LOG_LEVEL writes it."""
    out = os.path.join(place, "level3.log")
    with open(path) as log, open(out, "w") as lower:
        lower.writelines(line for line in log if not re.search("HWq=0x[0-9a-f]+, id=|[Cc]opy.*engine", line))
    return out


class Compare(unittest.TestCase):
    def test_an_aborted_queue_is_shown_with_its_error(self):
        error = "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION"
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "aborted.log")
            with open(CNN) as log:
                lines = log.read().splitlines(keepends=True)
            queue = re.search(r"HWq=(0x[0-9a-f]+), id=", "".join(lines)).group(1)
            last = [line for line in lines if "HWq=" in line][-1]
            head = re.match(r".*?(\]|us:[ 0-9]*:) ", last).group(0)
            with open(path, "w") as log:
                log.writelines(lines + [f"{head}Callback: Queue {queue} aborting with error : {error}: x\n"])
            for command in (("find", "--all", "--no-live", path), ("analyze", path), ("compare", path, CNN)):
                self.assertIn(error, gpreempt(*command).stdout, command)
            self.assertIn(f"aborted.log:{len(lines) + 1}", gpreempt("analyze", path).stdout)
            queues = gpreempt_json("find", "--json", "--all", "--no-live", path)[0]["queues"]
            self.assertEqual([(q["error"], q["error_line"]) for q in queues if q["failed"]],
                             [(error, len(lines) + 1)])

    def test_what_a_low_level_does_not_log_is_missing_and_not_0(self):
        with tempfile.TemporaryDirectory() as place:
            low = without_packets(CNN, place)
            result = gpreempt_json("compare", "--json", low, TRANSFORMER)
            found = metrics(result)
            for name in ("dispatches", "named", "barriers", "copies"):
                self.assertIsNone(found[name][0], name)
                self.assertIsNotNone(found[name][1], name)
            self.assertEqual(found["queues"], (2, 1))
            rows = [row for row in result["queues"]["rows"] if row["case"] == "A"]
            self.assertEqual([(row["dispatches"], row["barriers"], row["used_ns"]) for row in rows],
                             [(None, None, None)] * 2)
            queues = gpreempt_json("find", "--json", "--all", "--no-live", low)[0]["queues"]
            self.assertEqual([(queue["dispatches"], queue["barriers"]) for queue in queues], [(None, None)] * 2)
            text = gpreempt("analyze", low).stdout
            self.assertRegex(text, "level3.log: kernels submitted +not in this data")
            self.assertIn("Packets are logged only at AMD_LOG_LEVEL=4", text)
        self.assertNotIn("Packets are logged", gpreempt("analyze", CNN).stdout)

    def test_counts_are_those_of_the_logs(self):
        result = gpreempt_json("compare", "--json", CNN, TRANSFORMER)
        found = metrics(result)
        self.assertEqual(found["dispatches"], (dispatches(CNN), dispatches(TRANSFORMER)))
        self.assertEqual(found["queues"], (2, 1))
        classes = {row["class"]: (row["a"], row["b"]) for row in result["kernels"]["classes"]}
        self.assertEqual(classes["convolution"], (11, 0))
        self.assertEqual(classes["gemm"], (0, 15))
        self.assertEqual(result["recommendation"]["strategy"], "suspend-process")
        self.assertFalse(result["overlap"]["same_process"])
        self.assertEqual(result["overlap"]["same_hsa_ids"], 1)

    def test_one_process_that_shares_its_queues_gets_turns(self):
        result = gpreempt_json("compare", "--json", CNN, CNN)
        self.assertEqual(result["recommendation"]["strategy"], "time-slice")
        self.assertEqual(result["overlap"]["shared_queues"], 2)

    def test_the_summary_is_the_markdown_that_is_printed(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "ANALYSIS_SUMMARY.md")
            done = gpreempt("compare", "--markdown", "--summary", path, CNN, TRANSFORMER)
            self.assertEqual(done.returncode, 0)
            with open(path) as summary:
                self.assertEqual(summary.read(), done.stdout)
        self.assertIn("## Preemption strategy", done.stdout)

    def test_bad_usage_and_bad_files(self):
        self.assertEqual(gpreempt("compare", CNN).returncode, 2)
        self.assertEqual(gpreempt("compare", CNN, CNN, CNN).returncode, 2)
        done = gpreempt("compare", CNN, "/nowhere.log")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        done = gpreempt("compare", "--summary", "/nowhere/x.md", CNN, TRANSFORMER)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/nowhere/x.md", done.stderr)

    def test_a_kernels_name_cannot_break_out_of_the_page(self):
        with tempfile.TemporaryDirectory() as place, open(CNN) as source:
            log, page = os.path.join(place, "evil.log"), os.path.join(place, "evil.html")
            evil = source.read().replace("igemm_fwd_gtcx3_nhwc_fp32", "igemm</td><script>alert(1)</script>")
            with open(log, "w") as out:
                out.write(evil)
            self.assertEqual(gpreempt("compare", "--html", page, log, TRANSFORMER).returncode, 0)
            with open(page) as html:
                text = html.read()
        self.assertNotIn("<script", text)
        self.assertIn("igemm&lt;/td&gt;&lt;script&gt;", text)


class Scripts(unittest.TestCase):
    def test_analyze_queue_logs_is_compare(self):
        done = run(os.path.join(POC, "analyze_queue_logs.py"), CNN, TRANSFORMER, env={"GPREEMPT": GPREEMPT})
        self.assertEqual(done.stdout, gpreempt("compare", CNN, TRANSFORMER).stdout)
        self.assertEqual(done.returncode, 0)

    def test_run_case_comparison_keeps_logs_summary_and_page(self):
        with tempfile.TemporaryDirectory() as place:
            done = run(os.path.join(POC, "run_case_comparison.sh"), "60", cwd=place,
                       env={"GPREEMPT": GPREEMPT, "CASE_A": f"cat '{CNN}' >&2", "CASE_B": f"cat '{TRANSFORMER}'"})
            self.assertEqual(done.returncode, 0, done.stderr)
            (out,) = glob.glob(os.path.join(place, "log", "case_comparison_*"))
            self.assertEqual(sorted(os.listdir(out)),
                             ["ANALYSIS_SUMMARY.md", "case_a.log", "case_b.log", "comparison.html"])
        self.assertIn("convolution", done.stdout)
        done = run(os.path.join(POC, "run_case_comparison.sh"), "box", "soon")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
