# SPDX-License-Identifier: MIT
"""gpreempt find and queue_finder as a person runs them."""
import gzip
import lzma
import importlib.util
import json
import os
import re
import shutil
import tempfile
import unittest

from gp import GPREEMPT, QUEUE_FINDER, fixture, gpreempt, gpreempt_json, run

CNN = fixture("demo", "case_a_cnn.log")
TRANSFORMER = fixture("demo", "case_b_transformer.log")
LIVE = fixture("live")


def counted(path):
    """Packets per HWq, the way grep would count them."""
    counts = {}
    with open(path) as log:
        for line in log:
            found = re.search(r"HWq=(0x[0-9a-f]+), id=(\d+), (Dispatch|Barrier)", line)
            if found:
                row = counts.setdefault(found[1], {"id": int(found[2]), "Dispatch": 0, "Barrier": 0})
                row[found[3]] += 1
    return counts


class FindLog(unittest.TestCase):
    def test_every_queue_and_count_of_a_log(self):
        for mode in ([], ["--fast"]):
            result = gpreempt_json("find", "--json", "--no-live", *mode, "158036", CNN)
            expected = counted(CNN)
            self.assertEqual(result["pid"], 158036)
            self.assertEqual({q["ring"] for q in result["queues"]}, set(expected))
            for queue in result["queues"]:
                row = expected[queue["ring"]]
                self.assertEqual((queue["dispatches"], queue["barriers"], queue["hsa_id"]),
                                 (row["Dispatch"], row["Barrier"], row["id"]))
                self.assertIsNone(queue["kfd_id"])

    def test_a_process_here_with_a_pid_of_the_log_is_not_that_of_the_log(self):
        """Process 1 is there on every machine."""
        with open(CNN) as source, tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(source.read().replace("158036", "1"))
            log.flush()
            result = gpreempt("find", "1", log.name)
        self.assertRegex(result.stdout, r"\AProcess 1: 2 queues\n")

    def test_a_log_from_a_pipe_is_the_same(self):
        with open(CNN, "rb") as log:
            piped = gpreempt_json("find", "--json", "--no-live", "158036", "-", stdin=log)
        named = gpreempt_json("find", "--json", "--no-live", "158036", CNN)
        self.assertEqual(piped["queues"], named["queues"])

    def test_all_lists_every_process_of_several_logs(self):
        result = gpreempt_json("find", "--json", "--no-live", "--all", CNN, TRANSFORMER)
        self.assertEqual([p["pid"] for p in result], [158036, 158122])

    def test_lines_without_a_pid_are_not_claimed_in_a_log_with_pids(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log, open(CNN) as source:
            log.write(source.read())
            log.write(":3:rocdevice.cpp            :3048: 6306399999 us:  Created SWq=0x7f0000001000 to "
                      "map on HWq=0x7f0000200000 with size 16384 with priority 1, cooperative: 0\n")
            log.flush()
            done = gpreempt("find", "--no-live", "158036", log.name)
            everything = gpreempt_json("find", "--no-live", "--json", "--all", log.name)
        self.assertNotIn("0x7f0000200000", done.stdout)
        self.assertIn("no pid", done.stderr)
        self.assertEqual([p["pid"] for p in everything], [None, 158036])

    def test_a_log_without_packets_says_how_long_queues_lived_and_how_many_streams_they_had(self):
        path = fixture("amdlog", "rocm70_level3.log")
        queue = gpreempt_json("find", "--no-live", "--all", "--json", path)[0]["queues"][0]
        self.assertEqual((queue["streams"], queue["streams_max"]), (0, 2))
        self.assertLess(queue["first_ns"], queue["last_ns"])
        self.assertIn(" had 2 ", gpreempt("find", "--no-live", "--all", path).stdout)

    def test_torn_lines_are_warned_about(self):
        torn = fixture("amdlog", "torn.log")
        done = gpreempt("find", "--no-live", "--all", "--json", torn)
        self.assertEqual(done.returncode, 0, done.stderr)
        read = json.loads(done.stdout)[0]["inputs"][0]
        self.assertGreater(read["torn"], 0)
        self.assertRegex(done.stderr, r"warning: %s: some lines are damaged, line \d+ first "
                         r"\(mixed with another: %d, longer than the reader allows: %d\)"
                         % (re.escape(torn), read["torn"], read["overlong"]))
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(":3:hip_device_runtime.cpp   :622 : 93675001763 us: [pid:7 tid:0x7f116063e640]  hipGetDevice ( 0x7f116063bb78 )\n")
            log.flush()
            done = gpreempt("find", "--no-live", "--all", "--json", log.name)
            self.assertEqual((done.returncode, done.stdout.strip()), (1, "[]"))
            self.assertIn("the log contains no queues", done.stderr)
        clean = gpreempt("find", "--no-live", "--all", CNN)
        self.assertEqual((clean.returncode, clean.stderr), (0, ""))

    def test_no_queue_at_all_is_not_found(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(":3:hip_context.cpp          :56  : 6306214054 us: [pid:9 tid: 0x7f97] "
                      "Direct Dispatch: 1\n")
            log.flush()
            done = gpreempt("find", "--no-live", "--all", "--json", log.name)
        self.assertEqual((done.returncode, json.loads(done.stdout)), (1, []))

    def test_a_date_in_a_file_name_is_no_pid(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "log_20260115")
            os.symlink(fixture("amdlog", "rocm70_level3.log"), path)
            result = gpreempt_json("find", "--json", "--no-live", "--all", path)
            self.assertEqual([p["pid"] for p in result], [None])

    def test_an_empty_log_among_others_is_only_a_warning(self):
        done = gpreempt("find", "--no-live", "158036", CNN, "/dev/null")
        self.assertEqual(done.returncode, 1)  # a device is not an empty file
        with tempfile.NamedTemporaryFile() as empty:
            done = gpreempt("find", "--no-live", "158036", CNN, empty.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("is empty", done.stderr)

    def test_a_log_without_the_process_beside_live_rows_is_said(self):
        done = gpreempt("find", "--root", LIVE, "158036", TRANSFORMER)
        self.assertEqual(done.returncode, 0)
        self.assertIn("158122", done.stderr)

    def test_a_pid_that_is_not_in_the_log_is_not_found(self):
        done = gpreempt("find", "--no-live", "7", CNN)
        self.assertEqual(done.returncode, 1)
        self.assertIn("158036", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_log_without_pids_is_said_to_be(self):
        done = gpreempt("find", "--no-live", "31", fixture("amdlog", "rocm70_level3.log"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("this log has no pids", done.stderr)

    def test_the_file_name_tells_the_pid_where_lines_do_not(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "trace_4711")
            os.symlink(fixture("amdlog", "rocm70_level3.log"), path)
            result = gpreempt_json("find", "--json", "--no-live", "--all", path)
            self.assertEqual([p["pid"] for p in result], [4711])
            self.assertTrue(result[0]["inputs"][0]["pid_from_name"])
            self.assertIn("4711", gpreempt("find", "--no-live", "--all", path).stderr)


class FindLive(unittest.TestCase):
    def test_log_and_live_system_are_joined_on_both_keys(self):
        result = gpreempt_json("find", "--json", "--root", LIVE, "158036", CNN)
        queues = {q["ring"]: q for q in result["queues"]}
        self.assertEqual(len(queues), 2)
        queue = queues["0x7f9567e00000"]
        self.assertEqual(queue["key"], "ring+object")
        self.assertEqual(queue["object"], "0x7f9690a20000")
        self.assertEqual((queue["rptr"], queue["wptr"], queue["backlog"]), (26, 27, 1))
        self.assertEqual(queue["sources"]["rptr"], "hqd")
        self.assertEqual(queue["sources"]["dispatches"], "log")
        self.assertEqual(queue["gpu_id"], 0xA1C3)
        self.assertTrue(queue["active"])

    def test_two_queues_alike_share_their_candidates(self):
        result = gpreempt_json("find", "--json", "--root", LIVE, "158036")
        for queue in result["queues"]:
            self.assertIsNone(queue["kfd_id"])
            self.assertEqual(queue["kfd_id_candidates"], [0, 1])

    def test_a_ring_at_the_same_address_in_two_processes_is_kept_apart(self):
        result = gpreempt_json("find", "--json", "--root", LIVE, "158122")
        queues = {q["ring"]: q for q in result["queues"]}
        self.assertEqual(queues["0x7f9567e00000"]["backlog"], 126)
        self.assertEqual(queues["0x7f9567e00000"]["kfd_id"], 0)
        self.assertFalse(queues["0x7f41b5400000"]["active"])
        self.assertIsNone(queues["0x7f41b5400000"]["rptr"])

    def test_all_without_a_log_is_every_process_of_the_machine(self):
        result = gpreempt_json("find", "--json", "--root", LIVE, "--all")
        self.assertEqual([p["pid"] for p in result], [158036, 158122])

    def test_a_log_of_another_run_is_warned_about(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "old.log")
            with open(CNN) as source, open(path, "w") as copy:
                copy.write(source.read().replace("7f956", "7e956").replace("7f9690a", "7e9690a"))
            done = gpreempt("find", "--root", LIVE, "158036", path)
            self.assertEqual(done.returncode, 0)
            self.assertIn("warning: process 158036 is running, but none of its queues matches the log", done.stderr)

    def test_a_process_that_does_not_exist(self):
        done = gpreempt("find", "--root", LIVE, "999")
        self.assertEqual(done.returncode, 1)
        self.assertEqual((done.stdout, done.stderr.count("no process on this machine or in a container has pid 999")), ("", 1))

    def test_a_pid_of_a_container(self):
        result = gpreempt_json("find", "--json", "--root", fixture("root"), "--container", "trainer",
                               "7")
        self.assertEqual(result["pid"], 4242)
        self.assertEqual((result["container"]["name"], result["container"]["pid"]), ("trainer", 7))

    def test_a_log_under_the_pid_of_the_container_is_the_process_s(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log, open(CNN) as source:
            log.write(source.read().replace("pid:158036", "pid:7"))
            log.flush()
            done = gpreempt("find", "--root", fixture("root"), "4242", log.name)
            result = gpreempt_json("find", "--json", "--root", fixture("root"), "4242", log.name)
            everything = gpreempt_json("find", "--json", "--root", fixture("root"), "--all", log.name)
        self.assertIn("pid 7 in the log is assumed to be process 4242", done.stderr)
        rings = {q["ring"]: q for q in result["queues"]}
        self.assertIn("0x7f9567e00000", rings)
        self.assertIsNone(rings["0x7f9567e00000"]["kfd_id"])
        # Without an address that matches, pid 7 of a log is nobody here.
        self.assertEqual([(p["pid"], p["alive"]) for p in everything], [(7, False)])

    def test_a_log_older_than_the_process_is_warned_about(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log, open(CNN) as source:
            log.write(source.read().replace(" 63062", " 00000"))
            log.flush()
            done = gpreempt("find", "--root", LIVE, "158036", log.name)
        self.assertIn("ends before process 158036 started", done.stderr)

    def test_a_container_is_known_by_what_ps_shows(self):
        result = gpreempt_json("find", "--json", "--root", fixture("root"), "--container",
                               "docker:trainer", "7")
        self.assertEqual(result["pid"], 4242)

    def test_a_queue_of_the_log_that_the_driver_lacks_is_not_active(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "old.log")
            with open(CNN) as source, open(path, "w") as copy:
                copy.write(source.read().replace("7f9566c", "7e9566c").replace("7f9690a14", "7e9690a14"))
            result = gpreempt_json("find", "--json", "--root", LIVE, "158036", path)
        queues = {q["ring"]: q for q in result["queues"]}
        self.assertIs(queues["0x7e9566c00000"]["active"], False)
        self.assertEqual(queues["0x7e9566c00000"]["sources"]["active"], "mqd")
        self.assertTrue(queues["0x7f9567e00000"]["active"])

    def test_the_ring_of_another_queue_with_the_same_address_is_not_taken(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "other.log")
            with open(CNN) as source, open(path, "w") as copy:
                copy.write(source.read().replace("SWq=0x7f9690a20000", "SWq=0x7e0000000000"))
            result = gpreempt_json("find", "--json", "--root", LIVE, "158036", path)
        live = [q for q in result["queues"] if q["object"] == "0x7f9690a20000"]
        self.assertIsNone(live[0]["dispatches"])

    def test_a_process_only_the_driver_shows_is_found(self):
        result = gpreempt_json("find", "--json", "--root", fixture("root"), "4800")
        self.assertEqual(len(result["queues"]), 1)

    def test_names_cannot_drive_the_terminal(self):
        done = gpreempt("find", "--root", fixture("root"), "4900")
        self.assertNotIn("\033", done.stdout + done.stderr)
        self.assertEqual(len([l for l in done.stdout.splitlines() if l.startswith("Process")]), 1)

    def test_saved_debugfs_files_alone_are_enough(self):
        """No /proc, no sysfs: the descriptors name the processes."""
        with tempfile.TemporaryDirectory() as root:
            shutil.copytree(os.path.join(LIVE, "sys/kernel/debug/kfd"), os.path.join(root, "sys/kernel/debug/kfd"))
            result = gpreempt_json("find", "--json", "--root", root, "--all")
            full = gpreempt_json("find", "--json", "--root", LIVE, "--all")
            rings = [{queue["ring"] for process in answer for queue in process["queues"] if queue["ring"]}
                     for answer in (result, full)]
            self.assertTrue(rings[0])
            self.assertEqual(rings[0], rings[1])
            one = gpreempt_json("find", "--json", "--root", root, "158036")
            self.assertEqual({queue["ring"] for queue in one["queues"]}, {"0x7f9566c00000", "0x7f9567e00000"})
            joined = gpreempt_json("find", "--json", "--root", root, "158036", CNN)
            self.assertEqual({(queue["ring"], queue["hsa_id"], queue["kfd_priority"]) for queue in joined["queues"]},
                             {("0x7f9566c00000", 2, 11), ("0x7f9567e00000", 1, 7)})


class QueueFinder(unittest.TestCase):
    def load(self, path):
        spec = importlib.util.spec_from_file_location("config", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.queues

    def test_acceptance_list_of_the_design_document(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run(QUEUE_FINDER, "158036", CNN, "--no-live", cwd=directory)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("0x00007f9567e00000", done.stdout)
            self.assertEqual(os.listdir(directory), ["queue_config_pid_158036.py"])
            queues = self.load(os.path.join(directory, "queue_config_pid_158036.py"))
            self.assertEqual(queues[0], {
                "addr": 0x7F9567E00000, "queue_id": 1, "pid": 158036, "is_active": True,
                "kfd_queue_id": None, "hsa_id": 1, "key": None})

    def test_the_summary_is_the_documents_in_chinese(self):
        done = run(QUEUE_FINDER, "158036", CNN, "--no-live", "--no-file",
                   env={"LC_ALL": "zh_CN.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("Queue信息汇总", "地址:", "活跃:     是", "总计: 2个Queue"):
            self.assertIn(text, done.stdout)

    def test_output_goes_where_it_is_told_and_replaces_whole(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "queues.py")
            with open(path, "w") as old:
                old.write("old")
            done = run(QUEUE_FINDER, "-o", path, "158036", CNN, "--no-live")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(self.load(path)), 2)

    def test_json_instead_of_the_summary(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run(QUEUE_FINDER, "--json", "158036", CNN, "--no-live", cwd=directory)
            self.assertEqual(len(json.loads(done.stdout)["queues"]), 2)
            self.assertEqual(os.listdir(directory), [])
            done = run(QUEUE_FINDER, "--json", "158036", CNN, "--no-live", "-o", "named.py", cwd=directory)
            self.assertEqual(len(json.loads(done.stdout)["queues"]), 2)
            self.assertEqual(os.listdir(directory), ["named.py"])

    def test_nothing_found_writes_nothing(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run(QUEUE_FINDER, "7", CNN, "--no-live", cwd=directory)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(os.listdir(directory), [])

    def test_a_place_that_cannot_be_written_is_said(self):
        done = run(QUEUE_FINDER, "-o", "/proc/none/x.py", "158036", CNN, "--no-live")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write /proc/none/x.py: No such file", done.stderr)


class BadInput(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.directory.cleanup()

    def refuse(self, name, data, *words):
        path = os.path.join(self.directory.name, name)
        with open(path, "wb") as out:
            out.write(data)
        done = gpreempt("find", "--no-live", "1", path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(path, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_compressed(self):
        with open(CNN, "rb") as log:
            text = log.read()
        self.refuse("app.log.xz", lzma.compress(text), "xz", "xzcat")
        path = os.path.join(self.directory.name, "app.log.gz")
        with open(path, "wb") as out:
            out.write(gzip.compress(text))
        for options in ((), ("--fast",)):
            plain = gpreempt("find", "--no-live", "--all", *options, CNN)
            packed = gpreempt("find", "--no-live", "--all", *options, path)
            self.assertEqual((packed.returncode, packed.stdout), (0, plain.stdout))
        with open(path, "rb") as redirected:
            packed = gpreempt("find", "--no-live", "--all", "-", stdin=redirected)
        self.assertEqual(packed.returncode, 0, packed.stderr)

    def test_binary(self):
        self.refuse("core", bytes(range(256)) * 64, "not a text log")

    def test_empty(self):
        self.refuse("empty.log", b"", "AMD_LOG_LEVEL")

    def test_text_that_is_no_log(self):
        self.refuse("notes.txt", b"hello\nworld\n" * 1000, "AMD_LOG_LEVEL")

    def test_a_single_line_of_100_megabytes(self):
        self.refuse("line", b"x" * 100_000_000, "AMD_LOG_LEVEL")

    def test_a_directory_and_a_file_that_is_not_there(self):
        for path, text in ((self.directory.name, "%s is a directory"),
                           ("/nonexistent/log", "cannot open %s: No such file")):
            done = gpreempt("find", "--no-live", "1", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(text % path, done.stderr)

    def test_crlf_and_truncation_are_read(self):
        path = os.path.join(self.directory.name, "crlf.log")
        with open(CNN, "rb") as log, open(path, "wb") as out:
            out.write(log.read().replace(b"\n", b"\r\n")[:-40])
        result = gpreempt_json("find", "--json", "--no-live", "158036", path)
        self.assertEqual(len(result["queues"]), 2)


class Usage(unittest.TestCase):
    def test_wrong_usage_is_2(self):
        for arguments, says in ((["find"], "missing pid"), (["find", "abc"], "'abc' is not a pid"),
                                (["find", "--bogus", "1"], "--bogus"), (["nosuch"], "'nosuch'"),
                                (["find", "--no-live", "1"], "--no-live needs a log"),
                                (["find", "--container"], "needs a value"),
                                (["find", "--container", "", "1"], "--container needs a name"),
                                (["find", "--all", "--container", "x"], "--container cannot be combined with --all"),
                                (["find", "--no-live", "--root", "/nonexistent", "1", CNN], "--no-live cannot be"),
                                (["find", "--root", "/nonexistent", "1"], "'/nonexistent' is not a directory"),
                                (["ps", "--root", "/nonexistent"], "'/nonexistent' is not a directory")):
            done = gpreempt(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(says, done.stderr)

    def test_no_command_at_all_lists_the_commands(self):
        done = gpreempt()
        self.assertEqual(done.returncode, 2)
        self.assertIn("doctor", done.stdout + done.stderr)

    def test_help_has_examples(self):
        done = gpreempt("find", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("gpreempt find 158036", done.stdout)
        self.assertEqual(gpreempt("help", "find").stdout, done.stdout)

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            import subprocess
            done = subprocess.run([GPREEMPT, "find", "--no-live", "--json", "158036", CNN],
                                  stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write", done.stderr)
