# SPDX-License-Identifier: MIT
"""`gpreempt sim` from the outside: tables, JSON, pages, traces and what it says to wrong calls."""
import html
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

GPREEMPT = os.path.join(os.environ["GP_BIN"], "gpreempt")
SERVE = """[run]
title = <b>Serving</b>
time = 500ms
[job server]
class = online
arrival = poisson 100/s
kernel = 500us
[job trainer "x"]
class = offline
depth = 2
kernel = 20ms
"""


def sim(*arguments):
    return subprocess.run([GPREEMPT, "sim", *arguments], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "LC_ALL": "C"})


class Sim(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.file = os.path.join(self.dir.name, "serve.sim")
        pathlib.Path(self.file).write_text(SERVE)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def test_policies_stand_side_by_side(self):
        run = sim("--alone", "--policy", "off,priority", self.file)
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = [line.split()[:2] for line in run.stdout.splitlines()]
        for label in ("alone", "off", "priority"):
            self.assertIn([label, "server"], rows)
        self.assertIn("nothing was measured", run.stdout)

    def test_json_has_the_figures_and_repeats_bit_for_bit(self):
        first = sim("--json", "--policy", "off,priority", self.file)
        self.assertEqual(first.stdout, sim("--json", "--policy", "off,priority", self.file).stdout)
        runs = {run["policy"]: run for run in json.loads(first.stdout)["runs"]}
        self.assertEqual(runs["off"]["preemptions"], 0)
        self.assertGreater(runs["priority"]["preemptions"], 0)
        server = runs["priority"]["jobs"][0]
        self.assertEqual(server["name"], "server")
        self.assertLess(server["latency"]["p99_ns"], runs["off"]["jobs"][0]["latency"]["p99_ns"])
        other = sim("--json", "--policy", "off,priority", "--seed", "2", self.file)
        self.assertNotEqual(first.stdout, other.stdout)

    def test_oracle_stands_beside_each_policy(self):
        run = sim("--oracle", "--alone", "--policy", "off,priority", self.file)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("OFFLINE / ORACLE", run.stdout)
        runs = {run["policy"]: run for run in
                json.loads(sim("--json", "--oracle", "--alone", "--policy", "off,priority", self.file).stdout)["runs"]}
        self.assertNotIn("oracle", runs["alone"])
        for policy in ("off", "priority"):
            oracle = runs[policy]["oracle"]
            self.assertLessEqual(oracle["online_ns"] + oracle["offline_ns"], oracle["judged_ns"])
            self.assertAlmostEqual(oracle["ratio"], oracle["offline_ns"] / oracle["possible_ns"])
            self.assertIsNone(oracle["least_share"])  # shorter than a window
        self.assertGreater(runs["priority"]["oracle"]["visits"], 0)

    def test_oracle_says_what_it_cannot_judge(self):
        for text, said in (("[job a]\n", "job a must have class online or offline"),
                           ("[job a]\nclass = online\n", "needs arrival = poisson, every or recorded"),
                           ("[job a]\nclass = offline\narrival = every 1s\n", "needs arrival = closed"),
                           ("[job a]\nclass = online\narrival = recorded\n[work a]\n0ns 0 1us 3\n", "must fill the GPU"),
                           ("[job a]\nclass = offline\ncus = 3\n", "must fill the GPU"),
                           ("[job a]\nclass = offline\n", "needs at least one online job and one offline job"),
                           ("[gpu]\ncount = 2\n[job a]\n", "one GPU")):
            pathlib.Path(self.path("bad.sim")).write_text(text)
            run = sim("--oracle", self.path("bad.sim"))
            self.assertEqual(run.returncode, 1, text)
            self.assertIn(said, run.stderr)

    def test_grid_has_every_point(self):
        points = json.loads(sim("--grid", "--json", "--time", "100ms").stdout)["points"]
        self.assertEqual(len({(p["batch_jobs"], p["servers"], p["load_percent"]) for p in points}), 60)
        for point in points:
            self.assertEqual(point["rotates"], point["servers"] > 12)
            self.assertLess(point["offline_percent"], 100)
        for wrong in (["--grid", self.file], ["--grid", "--policy", "off,fair"], ["--grid", "--oracle"],
                      ["--grid", "--faults"]):
            self.assertEqual(sim(*wrong).returncode, 2, wrong)

    def test_the_experiment_and_the_grid_write_the_page_of_what_they_print(self):
        run = sim("--experiment", "--html", self.path("e.html"))
        self.assertEqual(run.returncode, 0, run.stderr)
        page = html.unescape(re.sub("<[^>]*>", " ", pathlib.Path(self.path("e.html")).read_text()))
        for word in re.findall(r"[^\s:]+", run.stdout):
            self.assertIn(word, page)
        for wrong in ("--perfetto", self.path("t.json")), ("--alone",), ("--policy", "off"), ("--time", "1s"):
            self.assertEqual(sim("--experiment", *wrong).returncode, 2, wrong)
        run = sim("--grid", "--time", "20ms", "--html", self.path("g.html"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("OFFLINE / ORACLE", pathlib.Path(self.path("g.html")).read_text())

    def test_page_and_trace_are_whole_and_escaped(self):
        run = sim("--html", self.path("p.html"), "--perfetto", self.path("t.json"), self.file)
        self.assertEqual(run.returncode, 0, run.stderr)
        page = pathlib.Path(self.path("p.html")).read_text()
        self.assertIn("&lt;b&gt;Serving", page)
        self.assertNotIn("<b>", page)
        self.assertIn("<svg", page)
        self.assertIn("default-src 'none'", page)
        self.assertNotIn("http:", page)
        self.assertNotIn("https:", page)
        events = json.loads(pathlib.Path(self.path("t.json")).read_text())["traceEvents"]
        names = {event["name"] for event in events}
        self.assertLessEqual({"request", "kernel", "suspended", "inversion", "process_name"}, names)

    def test_wrong_calls_say_what_is_wrong(self):
        pathlib.Path(self.path("bad.sim")).write_text("[run]\nspeed = 3\n")
        for arguments, code, said in (
                ([], 2, "a scenario (serve, fair"),
                ([self.file, self.file], 2, "one scenario per run"),
                (["--faults", self.file], 2, "--experiment and --grid cannot be combined"),
                (["--faults", "--json"], 2, "accept only --seed and --events"),
                (["--policy", "best", self.file], 2, "off, priority, fair"),
                (["--time", "5", self.file], 2, "'5' has no unit"),
                (["--seed", "x", self.file], 2, "use a whole number"),
                ([self.path("nowhere")], 1, "cannot read"),
                ([self.path("bad.sim")], 1, "bad.sim:2: unknown key"),
                (["--html", "/nowhere/x.html", self.file], 1, "cannot write")):
            run = sim(*arguments)
            self.assertEqual(run.returncode, code, (arguments, run.stderr))
            self.assertIn(said, run.stderr)

    def test_a_trace_runs_to_its_end_or_says_what_is_left_out(self):
        day = 86400
        pathlib.Path(self.path("jobs.csv")).write_text(
            f"submit_s,class,nodes,gpus,run_s\n0,offline,1,1,60\n{3 * day},online,1,1,60\n{2 * day},offline,1,1,{2 * day}\n")
        for keys, time, said in (("", 4 * day, ""), ("time = 5d\n", 5 * day, ""),
                                 ("time = 60h\n", 60 * 3600, "1 job arrives after the end"),
                                 ("time = 1d\n", day, "2 jobs arrive after the end")):
            pathlib.Path(self.path("c.sim")).write_text(
                f"[run]\n{keys}  [cluster]\nnodes = 1\ngpus = 1\nshare = 100%\n[trace]\nfile = jobs.csv\n")
            run = sim("--json", self.path("c.sim"))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(json.loads(run.stdout)["time_ns"], time * 10**9)
            self.assertEqual("left out" in run.stderr, bool(said))
            self.assertIn(said, run.stderr)

    def test_a_cluster_is_compared_under_every_arrangement(self):
        pathlib.Path(self.path("jobs.csv")).write_text(
            "submit_s,class,nodes,gpus,run_s,busy_percent,checkpoint_s\n0,offline,1,1,7200,,600\n900,online,1,1,1800,50,\n")
        pathlib.Path(self.path("c.sim")).write_text(
            "[run]\ntitle = <i>Two</i>\ntime = 4h\n[cluster]\nnodes = 1\ngpus = 1\nshare = 100%\n[trace]\nfile = jobs.csv\n")
        run = sim("--json", self.path("c.sim"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, sim("--json", self.path("c.sim")).stdout)
        answer = json.loads(run.stdout)
        waits = {row["arrangement"]: row["wait_max_ns"] for row in answer["jobs"] if row["class"] == "online"}
        self.assertEqual(waits, {"exclusive": 6300 * 10**9, "requeue": 30 * 10**9, "share": 0})
        for row in answer["gpu_time"]:
            # Four hours of one GPU, none missing.
            self.assertAlmostEqual(sum(value for key, value in row.items() if key.endswith("_gpu_hours")), 4)
            self.assertAlmostEqual(row["offline_gpu_hours"], 2)
            self.assertAlmostEqual(row["lost_gpu_hours"], 300 / 3600 if row["arrangement"] == "requeue" else 0)
        text = sim("--html", self.path("c.html"), self.path("c.sim")).stdout
        self.assertIn("Gain of sharing", text)
        # Sharing is not the only arrangement with a gain: what requeue loses stands beside it.
        self.assertRegex(text, r"kill-and-requeue: [+-][0-9.]+ %, with [0-9]+ GPU hours lost")
        self.assertIn("fit into the memory of a shared GPU", text)
        page = pathlib.Path(self.path("c.html")).read_text()
        self.assertIn("&lt;i&gt;Two", page)
        self.assertIn("GPU hours of offline work", page)
        for arguments, code, said in ((["--policy", "fair"], 2, "a cluster scenario accepts only"), (["--alone"], 2, "accepts only"),
                                      (["--time", "4321h"], 2, "--time")):
            run = sim(*arguments, self.path("c.sim"))
            self.assertEqual(run.returncode, code, (arguments, run.stderr))
            self.assertIn(said, run.stderr)

    def test_each_section_of_a_cluster_has_rows_of_its_own(self):
        pathlib.Path(self.path("jobs.csv")).write_text("submit_s,class,nodes,gpus,run_s\n5,offline,1,1,60\n")
        pathlib.Path(self.path("c.sim")).write_text(
            "[run]\ntime = 4h\n[cluster]\nnodes = 1\ngpus = 2\nshare = 100%\n[trace]\nfile = jobs.csv\n"
            "[job night]\nclass = offline\narrival = every 1h\nrun = 10min\n[job day]\nclass = offline\narrival = every 2h\nrun = 10min\n")
        answer = json.loads(sim("--json", self.path("c.sim")).stdout)
        rows = {(row["job"], row["arrangement"]): row for row in answer["sections"]}
        self.assertEqual(len(rows), 9)
        for arrangement in ("exclusive", "requeue", "share"):
            self.assertEqual([rows[job, arrangement]["arrived"] for job in ("night", "day", "[trace]")], [3, 1, 1])
            whole = next(row for row in answer["jobs"] if row["class"] == "offline" and row["arrangement"] == arrangement)
            for key in ("arrived", "completed", "running", "waiting", "killed"):
                self.assertEqual(sum(rows[job, arrangement][key] for job in ("night", "day", "[trace]")), whole[key], key)

    def test_every_error_of_a_scenario_is_reported(self):
        pathlib.Path(self.path("c.sim")).write_text(
            "[cluster]\nnodes = x\n[nonsense]\na = 1\nb = 2\n[job a]\nclass = fast\nrun = 1h\nbusy = 300%\n")
        run = sim(self.path("c.sim"))
        self.assertEqual(run.returncode, 1)
        self.assertEqual([int(number) for number in re.findall(r"c\.sim:([0-9]+): ", run.stderr)], [2, 3, 7, 9])
        pathlib.Path(self.path("c.sim")).write_text("[cluster]\n" + "nodes = x\n[cluster]\n" * 30)
        run = sim(self.path("c.sim"))
        self.assertEqual((len(re.findall("c.sim:[0-9]+:", run.stderr)), "further errors" in run.stderr), (20, True))
        # Of a trace as well.
        pathlib.Path(self.path("jobs.csv")).write_text("submit_s,class,nodes,gpus,run_s\nx,offline,1,1,60\n5,offline,1,1,60\n5,fast,1,1,60\n")
        pathlib.Path(self.path("c.sim")).write_text("[cluster]\n[trace]\nfile = jobs.csv\n")
        run = sim(self.path("c.sim"))
        self.assertEqual(run.returncode, 1)
        self.assertEqual(re.findall(r"jobs\.csv:([0-9]+): ", run.stderr), ["2", "4"])

    def test_the_shipped_cluster_shows_what_sharing_gains(self):
        answer = json.loads(sim("--json", "cluster").stdout)
        self.assertEqual((answer["nodes"], answer["gpus_per_node"]), (1000, 8))
        for row in answer["gain"]:
            self.assertGreater(row["offline_gpu_hours"], 0)
        # From the simulator of one GPU.
        shares = {row["busy_percent"]: row["offline_percent"] for row in answer["shared_gpu"]}
        for load, share in shares.items():
            self.assertTrue(0.8 * (100 - load) < share <= 100 - load, shares)
        self.documentation_has_it(answer)

    def documentation_has_it(self, answer):
        """Within 2 %: a small change of the scheduler moves the figures."""
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/reference/cluster-simulator.md").read_text()
        rows = re.findall(r"^\| (exclusive|requeue|share) \| ([0-9,]+) \| ([0-9.]+) % \|.*\| ([0-9,]+) \|$", page, re.MULTILINE)
        self.assertEqual([row[0] for row in rows], [row["arrangement"] for row in answer["gpu_time"]])
        killed = [row["killed"] for row in answer["jobs"] if row["class"] == "offline"]
        for said, is_so, lost in zip(rows, answer["gpu_time"], killed):
            for text, value in ((said[1], is_so["offline_gpu_hours"]), (said[2], is_so["used_percent"]), (said[3], lost)):
                self.assertAlmostEqual(float(text.replace(",", "")), value, delta=0.02 * value, msg=said[0])

    def profile(self, name, rows):
        """A profile as rocprof writes it: (queue, begin, end) in nanoseconds."""
        path = self.path(name)
        lines = [f"k,0,{queue},1,1,65536,256,64,16,{begin},{end}" for queue, begin, end in rows]
        pathlib.Path(path).write_text(
            "KernelName,gpu-id,queue-id,pid,tid,grd,wgr,vgpr,sgpr,BeginNs,EndNs\n" + "\n".join(lines) + "\n")
        return path

    def test_programs_recorded_alone_are_replayed_together(self):
        ms = 1000000
        server = self.profile("server.csv", [(1, 10 ** 9 + i * 10 * ms + k * 300000, 10 ** 9 + i * 10 * ms + k * 300000 + 280000)
                                             for i in range(30) for k in range(3)])
        trainer = self.profile("trainer.csv", [(2, i * 20 * ms, i * 20 * ms + 20 * ms) for i in range(15)])
        run = sim("--from", "online=" + server, "--from", "offline=" + trainer, "--json", "--alone",
                  "--policy", "off,priority")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("kernels: 105, programs: 2; recorded at different times", run.stderr)
        runs = {run["policy"]: {job["name"]: job for job in run["jobs"]} for run in json.loads(run.stdout)["runs"]}
        self.assertEqual(runs["alone"]["server"]["completed"], 30)
        self.assertEqual(runs["alone"]["server"]["kernels"], 90)
        self.assertEqual(runs["priority"]["server"]["completed"], 30)
        alone, off, priority = (runs[name]["server"]["latency"]["p99_ns"] for name in ("alone", "off", "priority"))
        self.assertGreater(off, 3 * alone)
        self.assertLess(priority, off)
        # The written scenario is the same run.
        self.assertEqual(sim("--from", "online=" + server, "--from", "offline=" + trainer,
                             "--output", self.path("both.sim")).returncode, 0)
        self.assertEqual(sim("--json", "--alone", "--policy", "off,priority", self.path("both.sim")).stdout, run.stdout)

    def test_what_cannot_be_replayed_says_why(self):
        text = self.path("notes.txt")
        pathlib.Path(text).write_text("hello\n")
        fixtures = pathlib.Path(os.environ["GP_FIXTURES"])
        profile = str(fixtures / "rocprof" / "v1" / "results.csv")
        log = str(fixtures / "amdlog" / "rocm62.log")
        for arguments, code, said in (
                (["--from", text], 1, "unknown format (expected a rocprof file"),
                (["--from", "/nowhere"], 1, "cannot open /nowhere"),
                (["--from", log], 1, "give a duration with --kernel TIME"),
                (["--from", log, "--kernel", "5"], 2, "has no unit"),
                (["--from", profile, self.file], 2, "cannot be combined with a scenario"),
                (["--from", profile, "--output", self.path("x.sim"), "--json"], 2, "cannot be combined with --json"),
                (["--from", profile, "--output", "/nowhere/x.sim"], 1, "cannot write /nowhere/x.sim"),
                (["--from", log, "--kernel", "20us"], 0, "2 kernels have the duration given by --kernel")):
            run = sim(*arguments)
            self.assertEqual(run.returncode, code, (arguments, run.stderr))
            self.assertIn(said, run.stderr)

    def test_a_hostile_scenario_ends(self):
        pathlib.Path(self.path("flood.sim")).write_text(
            "[run]\ntime = 86400s\n[job flood]\narrival = poisson 10000000/s\nkernel = 100ns\n")
        run = sim("--events", "200000", self.path("flood.sim"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("stopped after", run.stderr)

    def test_faults_replay_by_seed(self):
        run = sim("--replay", "3")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("all invariants held", run.stdout)

    def test_shipped_scenarios_and_the_experiment_run(self):
        data = pathlib.Path(os.environ["GP_BIN"]).parent / "data" / "scenarios"
        shipped = sorted(data.glob("*.sim"))
        self.assertTrue(shipped)
        self.assertEqual(sim("--time", "100ms", "serve").returncode, 0)
        for path in shipped:
            if path.name == "cluster.sim":
                continue
            run = sim("--time", "300ms", "--json", str(path))
            self.assertEqual(run.returncode, 0, (path, run.stderr))
            for result in json.loads(run.stdout)["runs"]:
                self.assertEqual(result["jobs"] and [job["name"] for job in result["jobs"] if not job["kernels"]], [], path)
        answer = json.loads(sim("--experiment", "--json").stdout)
        rows = answer["rows"]
        two = next(row for row in rows if (row["cause"], row["processes"], row["cus"]) == ("none", 2, 80))
        self.assertAlmostEqual(two["measured_of_one_percent"], 60.7, 1)
        self.assertEqual((two["measured_meets_target"], two["model_meets_target"]), (False, True))
        limited = next(row for row in rows if (row["cause"], row["processes"], row["cus"]) == ("none", 2, 60))
        self.assertAlmostEqual(limited["measured_of_one_percent"], 100 * limited["measured"] / 79)
        self.assertEqual({row["measured_meets_target"] for row in rows if row["processes"] == 1}, {None})
        self.assertEqual([(step["high"], step["high_meets_target"]) for step in answer["forecast"]],
                         [(72, False), (102, False), (117, True), (127, True), (140, True)])
        self.assertEqual(answer["forecast"][-1]["model"], two["model"])
        fitted = [row for row in rows if row["fitted"]]
        self.assertEqual(len(fitted), 3)
        for row in fitted:
            self.assertLess(abs(row["error_percent"]), 5)
        self.assertTrue([row for row in rows if row["processes"] == 6 and not row["fitted"]])
        self.assertLessEqual({"active_runlist", "doorbell overlap", "ring sharing", "CU saturation"},
                             {row["cause"] for row in rows})
        # The shipped scenario is one of its rows.
        two = next(row["model"] for row in rows if (row["cause"], row["processes"], row["cus"]) == ("none", 2, 80))
        run = json.loads(sim("--json", "multi-process").stdout)["runs"][0]
        self.assertEqual(run["jobs"][0]["per_second"], two)


if __name__ == "__main__":
    unittest.main()
