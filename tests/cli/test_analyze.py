# SPDX-License-Identifier: MIT
"""gpreempt analyze as a person runs it."""
import gzip
import json
import os
import re
import socket
import shutil
import tempfile
import unittest

from gp import fixture, gpreempt, gpreempt_json

CNN = fixture("demo", "case_a_cnn.log")
TRANSFORMER = fixture("demo", "case_b_transformer.log")
GRAPH = fixture("ftrace", "graph.txt")
PROBES = fixture("ftrace", "kprobe.txt")
CORPUS = os.environ.get("GP_CORPUS", "")


def answers(result, section):
    return {row["item"]: row for row in result[section]["answers"]}


class Timeline(unittest.TestCase):
    def test_every_clock_has_its_own_tracks(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "timeline.json")
            done = gpreempt("analyze", "--perfetto", path, CNN, GRAPH, PROBES)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(os.listdir(place), ["timeline.json"])
            with open(path) as timeline:
                events = json.load(timeline)["traceEvents"]
        names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertIn("process 158036 (MONOTONIC)", names)
        self.assertIn("kernel thread 117 (ftrace)", names)
        slices = {e["name"]: e["dur"] for e in events if e["ph"] == "X"}
        self.assertEqual(slices["create_queue_cpsch"], 290)

    def test_a_failure_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as place:
            done = gpreempt("analyze", "--perfetto", os.path.join(place, "t.json"), GRAPH, "/nowhere")
            self.assertEqual(done.returncode, 1)
            self.assertEqual(os.listdir(place), [])
            done = gpreempt("analyze", "--perfetto", os.path.join(place, "no", "t.json"), GRAPH)
            self.assertEqual((done.returncode, done.stdout), (1, ""))


    def test_only_a_file_is_replaced(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "device")
            os.symlink("/dev/null", path)
            done = gpreempt("analyze", "--perfetto", path, GRAPH)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.islink(path))
            self.assertEqual(os.listdir(place), ["device"])


class Directory(unittest.TestCase):
    def test_a_recording_is_read_as_a_whole(self):
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(CNN, os.path.join(place, "amd_log_1"))
            shutil.copy(GRAPH, os.path.join(place, "ftrace.txt"))
            os.mkdir(os.path.join(place, "below"))
            with open(os.path.join(place, "analyze.sh"), "w") as other:
                other.write("#!/bin/sh\n")
            with open(os.path.join(place, "notes.md"), "w") as other, open(CNN) as log:
                other.write("What we saw:\n" + log.read())
            result = gpreempt_json("analyze", "--json", place)
            self.assertEqual([row["kind"] for row in result["files"]["rows"]], ["AMD log", "ftrace"])
            done = gpreempt("analyze", os.path.join(place, "below"))
            self.assertEqual(done.returncode, 1)
            self.assertIn("contains no readable log, trace or profile", done.stderr)

    def test_a_file_that_cannot_be_opened_is_not_of_an_unknown_format(self):
        other = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            shutil.copy(CNN, os.path.join(place, "amd_log_1"))
            shutil.copy(CNN, os.path.join(place, "amd_log_2"))
            os.chmod(os.path.join(place, "amd_log_1"), 0o644)
            os.chmod(os.path.join(place, "amd_log_2"), 0)
            try:
                done = gpreempt("analyze", place, **other)
            except PermissionError:
                self.skipTest("another user cannot run the program here")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"cannot open {place}/amd_log_2: Permission denied; skipped", done.stderr)
        self.assertNotIn("unknown format", done.stderr)


class Analyze(unittest.TestCase):
    def test_files_are_recognised_and_every_question_is_there(self):
        result = gpreempt_json("analyze", "--json", CNN, GRAPH, PROBES)
        self.assertEqual([row["kind"] for row in result["files"]["rows"]], ["AMD log", "ftrace", "ftrace"])
        for section in ("creation", "mqd", "use", "doorbell", "preemption"):
            self.assertIn("answers", result[section])
        self.assertEqual(answers(result, "creation")["driver"]["evidence"], "graph.txt:6")

    def test_two_logs_are_counted_together(self):
        def figures(*files):
            result = gpreempt_json("analyze", "--json", *files)
            return (answers(result, "creation")["runtime"]["answer"], answers(result, "doorbell")["packets"]["answer"])
        one, other = figures(CNN), figures(TRANSFORMER)
        self.assertEqual(figures(CNN, TRANSFORMER), (one[0] + other[0], one[1] + other[1]))

    def test_messages_of_the_start_of_kfd_are_recognised(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as log:
            head = "kfd kfd: amd" "gpu:"  # in two parts: another test takes this file for one that is not a log
            log.write("[    0.000000] Linux version 6.12.12\n"
                      f"[    5.123456] {head} Allocated 3969056 bytes on gart\n"
                      f"[    5.223456] {head} Total number of KFD nodes to be created: 1\n"
                      f"[    5.423456] {head} added device 1002:74a1\n")
            log.flush()
            done = gpreempt("analyze", "--json", log.name)
        self.assertEqual([(row["kind"], row["events"]) for row in json.loads(done.stdout)["files"]["rows"]], [("KFD prints", 3)])
        self.assertIn("has messages of KFD (3), but none about a queue", done.stderr)

    def test_a_pipe_is_the_same_as_a_file(self):
        with open(GRAPH, "rb") as trace:
            piped = gpreempt("analyze", "--json", "-", stdin=trace)
            trace.seek(0)
            # A pipe proper, not a redirected file.
            through = gpreempt("analyze", "--json", "-", input=trace.read().decode())
        self.assertEqual(piped.returncode, 0)
        self.assertEqual(piped.stdout, through.stdout)

    def test_half_of_a_pipe_is_not_taken_for_all_of_it(self):
        mine, theirs = socket.socketpair()
        with mine, theirs:
            theirs.send(b"never read")  # so that the end of the other side is an error
            with open(GRAPH, "rb") as trace:
                mine.sendall(trace.read(2000))
            mine.close()
            done = gpreempt("analyze", "--json", "-", stdin=theirs)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot read standard input: Connection reset by peer", done.stderr)

    def test_an_empty_queue_is_a_backlog_of_0(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log, open(fixture("amdlog", "rocm71.log")) as text:
            lines = [line for line in text if "rptr=" not in line or "arrier" in line]
            log.writelines(re.sub(r"rptr=\d+, wptr=\d+", "rptr=7, wptr=7", line) for line in lines)
            log.flush()
            rows = gpreempt_json("analyze", "--json", log.name)["indicators"]["rows"]
        self.assertIn(0, [row["found"] for row in rows if row["indicator"] == "backlog"], rows)

    def test_the_trace_clock_is_what_was_said(self):
        result = gpreempt_json("analyze", "--json", "--trace-clock", "mono", GRAPH)
        self.assertEqual(result["files"]["rows"][0]["clock"], "MONOTONIC")
        done = gpreempt("analyze", "--trace-clock", "sundial", GRAPH)
        self.assertEqual(done.returncode, 2)
        self.assertIn("sundial", done.stderr)

    def test_what_is_wrong_is_said(self):
        self.assertEqual(gpreempt("analyze").returncode, 2)
        self.assertEqual(gpreempt("analyze", "/nowhere").returncode, 1)
        done = gpreempt("analyze", os.path.abspath(__file__))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("unknown format (expected an AMD log", done.stderr)

    def test_one_empty_file_among_others_is_skipped_and_named(self):
        with tempfile.TemporaryDirectory() as place:
            empty = os.path.join(place, "empty.log")
            open(empty, "w").close()
            done = gpreempt("analyze", empty, CNN)
            self.assertEqual(done.returncode, 0)
            self.assertIn("empty.log is empty; skipped", done.stderr)
            self.assertEqual(gpreempt("analyze", empty, empty).returncode, 1)
            done = gpreempt("mqd", "--file", empty)
            self.assertEqual((done.returncode, done.stdout), (0, "No queues.\n"))
            self.assertIn("or the copy failed", done.stderr)

    def test_files_of_a_directory_that_are_not_understood_are_named(self):
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(CNN, place)
            for i in range(7):
                with open(os.path.join(place, f"x{i}.bin"), "w") as other:
                    other.write("nothing of the kind\n")
            done = gpreempt("analyze", place)
            self.assertEqual(done.returncode, 0)
            self.assertIn("7 files", done.stderr)
            self.assertIn("x0.bin, x1.bin, x2.bin, x3.bin, x4.bin, ...", done.stderr)

    def test_copies_of_debugfs_files_name_the_command_that_reads_them(self):
        for name, command in (("hqds", "hqd"), ("hqds_61", "hqd"), ("mqds", "mqd"), ("rls", "runlist")):
            path = fixture("debugfs", "gfx9", name)
            done = gpreempt("analyze", path)
            said = f"{path}: this is a copy of a debugfs file; read it with 'gpreempt {command}'"
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(said, done.stderr)
            self.assertEqual(gpreempt(command, path).returncode, 0)
            with tempfile.TemporaryDirectory() as place:
                shutil.copy(path, place)
                shutil.copy(CNN, place)
                done = gpreempt("analyze", place)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"note: {place}/{name}: this is a copy of a debugfs file; read it with 'gpreempt {command}'",
                              done.stderr)
                self.assertNotIn("unknown format", done.stderr)

    def test_a_profile_is_sent_to_report(self):
        for profile in (fixture("rocprof", "v1"), fixture("rocprof", "v3", "host"), fixture("rocprof", "v3.json")):
            self.assertIn("'gpreempt report' shows what rocprof recorded", gpreempt("analyze", profile).stdout)
        self.assertNotIn("gpreempt report", gpreempt("analyze", CNN).stdout)

    def test_subdirectories_are_named(self):
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(os.path.join(place, "host1"))
            shutil.copy(CNN, os.path.join(place, "host1"))
            done = gpreempt("analyze", place)
            said = f"1 subdirectory of {place} is not read; name it to include it: host1"
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)
            shutil.copy(CNN, place)
            os.mkdir(os.path.join(place, "host2"))
            done = gpreempt("analyze", place)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"2 subdirectories of {place} are not read; name them to include them: host1, host2", done.stderr)

    def test_a_trace_without_kfd_meets_nothing(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "trace.txt")
            with open(path, "w") as file:
                file.write("# tracer: function\n#\n" + "".join(
                    f"            bash-100   [000] .....   1.00000{i}: vfs_read <-ksys_read\n" for i in range(5)))
            result = gpreempt_json("analyze", path, "--json")
        self.assertEqual(result["files"]["rows"][0]["kind"], "ftrace")
        self.assertEqual({row["verdict"] for row in result["indicators"]["rows"]}, {"absent"})

    def test_what_cannot_be_read_is_told_apart(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "file")
            for content, message in ((b"", "is empty"), (b"\xfd7zXZ\0" + b"x" * 40, "is compressed (xz)"),
                                     (b"\x1f\x8b\x08" + b"x" * 40, "truncated or damaged"),
                                     (b"\0" * 100, "unknown format (expected an AMD log")):
                with open(path, "wb") as out:
                    out.write(content)
                done = gpreempt("analyze", path)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(message, done.stderr)

    def test_compressed_files_are_read_like_plain_ones(self):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "cnn.log.gz")
            with open(CNN, "rb") as source, gzip.open(path, "wb") as out:
                out.write(source.read())
            plain, packed = gpreempt_json("analyze", "--json", CNN), gpreempt_json("analyze", "--json", path)
            self.assertEqual(plain["files"]["rows"][0]["events"], packed["files"]["rows"][0]["events"])
            self.assertEqual(plain["use"]["answers"][0]["answer"], packed["use"]["answers"][0]["answer"])
            inside = gpreempt("analyze", "--json", place)
            self.assertEqual((inside.returncode, inside.stderr), (0, ""))
            with open(path, "r+b") as out:
                out.truncate(os.path.getsize(path) // 2)
            cut = gpreempt("analyze", "--json", path)
            self.assertEqual(cut.returncode, 0)
            self.assertIn("truncated or damaged", cut.stderr)
            self.assertGreater(json.loads(cut.stdout)["files"]["rows"][0]["events"], 0)

    def test_an_aborts_dump_is_a_log(self):
        with open(fixture("amdlog", "crash_dump.log")) as source:
            text = "".join(line for line in source if not line.startswith(":"))
        done = gpreempt("analyze", "--json", "-", input=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["files"]["rows"][0]["kind"], "AMD log")

    def test_a_clock_that_jumps_is_seen_in_a_log_too(self):
        with open(CNN) as source:
            lines = source.readlines()
        self.assertEqual(gpreempt_json("analyze", "--json", CNN)["files"]["rows"][0]["jumps"], 0)
        # Its second half again: the clock of every thread goes back once.
        text = "".join(lines + lines[len(lines) // 2:])
        result = json.loads(gpreempt("analyze", "--json", "-", input=text).stdout)
        self.assertGreaterEqual(result["files"]["rows"][0]["jumps"], 1)

    def test_every_real_trace_is_understood(self):
        names = ["ftrace_kfd_fakegpu_function_graph.txt", "ftrace_kfd_fakegpu_kprobe_events.txt",
                 "ftrace_kfd_real_function.txt", "kfd612/function_graph_resume.txt", "kfd612/kprobe_suspend.txt",
                 "hip523_twoproc_p1_L4.log", "rocprof/rocprofv1_trace.json"]
        files = [os.path.join(CORPUS, name) for name in names]
        if not all(map(os.path.exists, files)):
            self.skipTest("the real samples are not on this machine")
        result = gpreempt_json("analyze", "--json", *files)
        self.assertEqual([row["kind"] for row in result["files"]["rows"]],
                         ["ftrace"] * 5 + ["AMD log", "rocprof"])
        self.assertEqual(sum(row["damaged"] for row in result["files"]["rows"]), 0)
        self.assertEqual(answers(result, "creation")["driver"]["answer"], 9)


if __name__ == "__main__":
    unittest.main()
