# SPDX-License-Identifier: MIT
"""Every timeline that gpreempt writes follows the trace event format: slices nest, tracks have names, flows meet.
The daemon's is judged in tests/daemon/test_gpreemptd.py."""
import glob
import json
import os
import tempfile
import unittest

import timeline
from gp import fixture, gpreempt


class Judge(unittest.TestCase):
    """The judge finds what it is for."""
    NAMES = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "p"}},
             {"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": "t"}}]

    def found(self, *events):
        return [error.split(":")[0] for error in timeline.check(self.NAMES + [{"pid": 1, "tid": 2} | e for e in events])]

    def test_it_finds_slices_that_overlap(self):
        first = {"ph": "X", "name": "a", "ts": 1, "dur": 5}
        self.assertEqual(self.found(first, {"ph": "X", "name": "b", "ts": 2, "dur": 1}), [])
        self.assertEqual(self.found(first, {"ph": "X", "name": "b", "ts": 6, "dur": 9}), [])
        self.assertEqual(self.found(first, {"ph": "X", "name": "b", "ts": 2, "dur": 9}), ["slices of (1, 2) overlap"])

    def test_it_finds_damage_to_a_real_trace(self):
        """One event of each kind at a time."""
        whole = json.loads(gpreempt("sim", "serve", "--time", "100ms", "--perfetto", "-").stdout)["traceEvents"]
        self.assertEqual(timeline.check(whole), [])
        damage = {"no name": ("X", {"name": ""}), "negative": ("X", {"dur": -1}), "phase": ("X", {"ph": "?"}),
                  "track": ("X", {"tid": 999999}), "process": ("X", {"pid": 999999}), "counter": ("C", {"args": {"v": "x"}}),
                  "lost end": ("e", {"ph": "i", "name": "x"}), "other end": ("e", {"id": "none"})}
        for kind, (phase, change) in damage.items():
            for index in [i for i, event in enumerate(whole) if event["ph"] == phase][::7]:
                damaged = whole[:index] + [dict(whole[index], **change)] + whole[index + 1:]
                self.assertTrue(timeline.check(damaged), (kind, whole[index]))

    def test_it_finds_what_has_no_name(self):
        self.assertEqual(self.found({"ph": "X", "name": "a", "ts": 1, "dur": 5, "tid": 3}), ["a track without a name"])
        self.assertEqual(self.found({"ph": "i", "name": "", "ts": 1}), ["without a name"])

    def test_it_finds_counters_that_are_none(self):
        first = {"ph": "C", "name": "c", "ts": 2, "args": {"n": 1}}
        self.assertEqual(self.found(first, {"ph": "C", "name": "d", "ts": 1, "args": {"n": 0}}), [])
        self.assertEqual(self.found(first, {"ph": "C", "name": "c", "ts": 1, "args": {"n": -1}}),
                         ["a counter without a number", "a counter goes back in time"])

    def test_it_finds_flows_and_ends_that_belong_to_nothing(self):
        flow = {"ph": "f", "name": "go", "cat": "go", "id": 1, "ts": 1}
        self.assertEqual(self.found(flow), ["a flow without a begin", "a flow on no slice"])
        self.assertEqual(self.found({"ph": "E", "ts": 1}), ["an end without a begin"])
        self.assertEqual(self.found({"ph": "b", "name": "r", "cat": "c", "id": 1, "ts": 1}), ["not a pair"])


class Timeline(unittest.TestCase):
    def written(self, *arguments):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "t.json")
            done = gpreempt(*arguments, "--perfetto", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            return timeline.load(path)

    def test_simulations(self):
        for scenario in ("serve", "fair", "deadline", "multi-process"):
            for policy in ("off", "priority"):
                with self.subTest(scenario, policy=policy):
                    events = self.written("sim", "--time", "300ms", "--policy", policy, scenario)
                    self.assertEqual(timeline.check(events), [])

    def test_a_simulation_has_counters(self):
        events = self.written("sim", "--time", "300ms", "--policy", "priority", "serve")
        counters = timeline.counters(events)
        self.assertEqual(set(counters), {"requests not done", "suspended jobs", "GPU busy (%)"})
        self.assertEqual(set(counters["suspended jobs"]), {0, 1})
        self.assertTrue(all(0 <= value <= 100 for value in counters["GPU busy (%)"]), max(counters["GPU busy (%)"]))
        self.assertGreater(max(counters["GPU busy (%)"]), 50)
        self.assertGreater(max(counters["requests not done"]), 1)
        self.assertTrue(all(value >= 0 for value in counters["requests not done"]))

    def test_logs_traces_and_profiles(self):
        files = [path for pattern in ("amdlog/*.log", "demo/*.log", "ftrace/*.txt", "kfdtrace/*.txt", "rocprof/v1/*.csv",
                                      "rocprof/v3/*/*.csv", "rocprof/v3.json")
                 for path in sorted(glob.glob(fixture(*pattern.split("/"))))]
        self.assertGreater(len(files), 25)
        for path in files:
            with self.subTest(os.path.basename(path)):
                self.assertEqual(timeline.check(self.written("analyze", path)), [])

    def test_it_counts_packets_in_queues_what_runs_and_who_is_held(self):
        log = timeline.counters(self.written("analyze", fixture("amdlog", "rocm62.log")))
        self.assertTrue([name for name in log if name.startswith("packets in queue 0x")], list(log))
        events = self.written("report", *sorted(glob.glob(fixture("rocprof", "v3", "*", "*_trace.csv"))))
        running = timeline.counters(events)["running on the GPU"]
        self.assertGreater(max(running), 0)
        self.assertEqual(running[-1], 0)
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as decisions:
            for number, (kind, pid, observed) in enumerate((("suspend", 7, False), ("suspend", 8, False), ("suspend", 9, True),
                                                            ("suspend", 7, False), ("resume", 7, False), ("went", 8, False))):
                decisions.write(json.dumps({"id": number + 1, "monotonic_ns": 1000 * number, "time_ns": 1000 * number,
                                            "kind": kind, "why": "inversion", "observed": observed,
                                            "job": {"id": pid, "pid": pid, "name": "x"}}) + "\n")
            decisions.flush()
            events = self.written("analyze", decisions.name)
        self.assertEqual(timeline.check(events), [])
        self.assertEqual(timeline.counters(events)["suspended jobs"], [1, 2, 1, 0])

    def test_a_profile_of_several_files_has_flows_from_calls_to_kernels(self):
        events = self.written("report", *sorted(glob.glob(fixture("rocprof", "v3", "*", "*_trace.csv"))))
        self.assertEqual(timeline.check(events), [])
        self.assertIn("f", {event["ph"] for event in events})


if __name__ == "__main__":
    unittest.main()
