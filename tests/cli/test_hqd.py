# SPDX-License-Identifier: MIT
"""gpreempt hqd, mqd and runlist as a person runs them: files, pipes, copied trees, bad input."""
import csv
import fcntl
import gzip
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import unittest

from gp import GPREEMPT, fixture, gpreempt, gpreempt_json

GFX9 = fixture("debugfs", "gfx9")
GFX942 = fixture("debugfs", "gfx942")
GFX11 = fixture("debugfs", "gfx11")
HQDS, MQDS, RLS = (os.path.join(GFX9, name) for name in ("hqds", "mqds", "rls"))
COMMANDS = {"hqd": HQDS, "mqd": MQDS, "runlist": RLS}


def content(path):
    with open(path, encoding="ascii") as file:
        return file.read()


class Files(unittest.TestCase):
    def fails(self, done, *parts):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, "")
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_table_of_active_slots_with_pids(self):
        done = gpreempt("hqd", "--file", HQDS, "--mqds", MQDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        columns = lines[0].split()
        rows = [line.split() for line in lines if line.startswith("0x5f21") and " CP " in line]
        self.assertEqual(len(rows), 3)
        self.assertEqual([row[columns.index("PID") + 1] for row in rows], ["501", "502", "501"])
        self.assertEqual([row[-1] for row in rows], ["ok", "high", "ok"])
        self.assertIn("Inactive slots (shown with --all): 2", done.stdout)
        self.assertNotIn("\033", done.stdout)

    def test_standard_input_is_a_file(self):
        for command, path in COMMANDS.items():
            from_file = gpreempt(command, "--file", path, "--json")
            from_pipe = gpreempt(command, "--file", "-", "--json", input=content(path))
            self.assertEqual(from_pipe.returncode, 0, from_pipe.stderr)
            expected = json.loads(from_file.stdout)
            expected["source"] = "standard input"
            if expected.get("pids_from"):
                expected["pids_from"] = "standard input"
            self.assertEqual(json.loads(from_pipe.stdout), expected)

    def test_both_kernel_eras_say_the_same(self):
        new = gpreempt_json("hqd", "--file", HQDS, "--json")["slots"]
        old = gpreempt_json("hqd", "--file", HQDS + "_61", "--json")["slots"]
        for slot in new + old:
            slot.pop("xcc")
        self.assertEqual(new, old)

    def test_json_agrees_with_the_words_of_the_dump(self):
        result = gpreempt_json("hqd", "--file", HQDS, "--mqds", MQDS, "--json")
        dumps = re.findall(r"CP Pipe (\d), Queue (\d)\n((?:    .*\n)+)", content(HQDS))
        self.assertEqual(len(dumps), 4)
        for pipe, queue, rows in dumps:
            words = [int(word, 16) for row in rows.splitlines() for word in row.split()[1:]]
            slot = next(s for s in result["slots"] if s["kind"] == "compute" and
                        (s["pipe"], s["queue"]) == (int(pipe), int(queue)))
            self.assertEqual(slot["active"], bool(words[2] & 1))
            if not slot["active"]:
                self.assertIsNone(slot["ring"])
                continue
            self.assertEqual(int(slot["ring"], 16), (words[9] << 32 | words[8]) << 8)
            self.assertEqual(slot["rptr"], words[10] // 16)
            self.assertEqual(slot["wptr"], words[54] // 16)
            ring = 2 << (words[17] & 63)
            self.assertEqual(slot["backlog"], (words[54] - words[10]) % ring // 16)
            self.assertEqual(slot["ring_bytes"], 4 * ring)

    def test_read_and_write_pointers_count_the_same_thing(self):
        rows = [line for line in gpreempt("hqd", "-f", HQDS).stdout.splitlines() if "HIQ" in line]
        self.assertEqual(len(rows), 1)
        self.assertRegex(rows[0], "  1564 dw  1564 dw +0 dw  ")  # the ring has 512: it went round three times
        slots = gpreempt_json("hqd", "-f", HQDS, "--json")["slots"]
        slots += gpreempt_json("mqd", "-f", MQDS, "--json")["descriptors"]
        known = [slot for slot in slots if slot["backlog"] is not None]
        self.assertGreater(len(known), 8)
        for slot in known:
            self.assertEqual(slot["wptr"] - slot["rptr"], slot["backlog"])

    def test_filters_and_what_is_not_found(self):
        result = gpreempt_json("hqd", "-f", HQDS, "--mqds", MQDS, "--json", "--pid", "502")
        self.assertEqual([s["pid"] for s in result["slots"]], [502])
        self.assertEqual(len(gpreempt_json("mqd", "-f", MQDS, "--json", "--gpu", "0x5f21")
                             ["descriptors"]), 4)
        done = gpreempt("hqd", "-f", HQDS, "--mqds", MQDS, "--pid", "9")
        self.fails(done, "process 9 has no queue in this list")
        self.fails(gpreempt("mqd", "-f", MQDS, "--gpu", "1"), "no GPU 0x1 in this list")
        self.fails(gpreempt("hqd", "-f", HQDS, "--pid", "502"), "--mqds")
        self.fails(gpreempt("runlist", "-f", RLS, "--pid", "502"), "--mqds")

    def test_xccs_are_one_row_or_many(self):
        one = gpreempt("hqd", "-f", os.path.join(GFX942, "hqds")).stdout
        many = gpreempt("hqd", "-f", os.path.join(GFX942, "hqds"), "--per-xcc").stdout
        self.assertEqual((one.count("f701  CP"), many.count("f701  CP")), (2, 4))
        self.assertIn(" x2 ", one)

    def test_raw_words_and_named_registers(self):
        raw = gpreempt("hqd", "-f", HQDS, "--raw", "--all").stdout.splitlines()
        self.assertEqual([line for line in raw if line.startswith("    ")],
                         [line for line in content(HQDS).splitlines() if line.startswith("    ")])
        self.assertIn("CP_HQD_QUANTUM = 0x00000111 (QUANTUM_EN 1",
                      gpreempt("mqd", "-f", MQDS, "--registers").stdout)
        self.assertEqual(gpreempt("runlist", "-f", RLS, "--raw").stdout, content(RLS))

    def test_live_tree_with_a_gpu_whose_registers_are_not_known(self):
        result = gpreempt_json("hqd", "--root", GFX11, "--json", "--gfx", "gfx1300")
        self.assertEqual([(s["pid"], s["active"], s["ring"]) for s in result["slots"]],
                         [(701, None, None), (None, None, None), (None, None, None)])
        result = gpreempt_json("hqd", "--root", GFX11, "--json")
        self.assertEqual([(s["pid"], s["active"]) for s in result["slots"] if s["active"]], [(701, True), (701, True)])
        done = gpreempt("runlist", "--root", GFX11)
        self.assertEqual((done.returncode, done.stdout), (0, "GPU 0xb100: no active runlist\n"))

    def test_runlist_gives_pids_and_tells_oversubscription(self):
        result = gpreempt_json("runlist", "-f", RLS, "--mqds", MQDS, "--json")
        self.assertEqual([p["pid"] for p in result["gpus"][0]["processes"]], [502, 501])
        self.assertIs(result["gpus"][0]["oversubscribed"], False)
        result = gpreempt_json("runlist", "-f", RLS + "_oversubscribed", "--json")
        self.assertIs(result["gpus"][0]["oversubscribed"], True)
        self.assertIsNone(result["gpus"][1]["oversubscribed"])

    def test_the_wrong_file_is_named_as_what_it_is(self):
        for command in COMMANDS:
            for other, path in COMMANDS.items():
                if other != command:
                    self.fails(gpreempt(command, "-f", path), path + ":", "'gpreempt %s'" % other)

    def test_bad_files_are_refused_with_their_line(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "input")
            for data, message in ((b"\xfd7zXZ\0abc", "compressed"), (b"\0\1\2", "binary"),
                                  (b"hello\n", "not a copy"),
                                  (b"\xff\xfe\xfd\n", "not a copy"),
                                  (b"x" * 100000000, "not a copy")):
                with open(path, "wb") as file:
                    file.write(data)
                for command in COMMANDS:
                    done = gpreempt(command, "-f", path)
                    self.fails(done, path + (" is " if message == "compressed" else ":1:"), message)
                    self.assertLess(len(done.stderr), 400)

    def test_a_compressed_copy_is_read_like_a_plain_one(self):
        with tempfile.TemporaryDirectory() as folder:
            for command, plain in COMMANDS.items():
                path = os.path.join(folder, command + ".gz")
                with open(plain, "rb") as source, gzip.open(path, "wb") as out:
                    out.write(source.read())
                self.assertEqual(gpreempt(command, "-f", path).stdout, gpreempt(command, "-f", plain).stdout)

    def test_an_empty_copy_lists_nothing_and_says_why(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "input")
            for data in (b"", b" \n\n"):
                with open(path, "wb") as file:
                    file.write(data)
                for command in COMMANDS:
                    done = gpreempt(command, "-f", path)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(path + " is empty: there were no queues, or the copy failed", done.stderr)

    def test_a_damaged_file_is_refused_with_its_line_and_nothing_is_shown(self):
        for command, path in COMMANDS.items():
            whole = content(path)
            for text in (whole[:len(whole) * 3 // 4],
                         whole.replace("0000c934:", "zzzzzzzz:", 1)
                         .replace("00000240:", "zzzzzzzz:", 1).replace("00000080:", "zzzzzzzz:", 1)):
                self.assertNotEqual(text, whole)
                for form in ((), ("--json",), ("--raw",), ("--json", "--watch", "--count", "2")):
                    if "--watch" in form:
                        with tempfile.TemporaryDirectory() as folder:
                            name = os.path.join(folder, "cut")
                            with open(name, "w", encoding="ascii") as file:
                                file.write(text)
                            done = gpreempt(command, "-f", name, *form)
                    else:
                        name = "standard input"
                        done = gpreempt(command, "-f", "-", *form, input=text)
                    self.fails(done, "again", "--partial")
                    self.assertRegex(done.stderr, re.escape(name) + r":\d+: ")
            self.fails(gpreempt(command, "-f", "-", input=whole[:60]), "standard input:")

    def test_what_is_complete_of_a_damaged_file_is_shown_when_asked(self):
        for command, path in COMMANDS.items():
            whole = content(path)
            cut = whole[:len(whole) * 3 // 4]
            done = gpreempt(command, "-f", "-", "--partial", input=cut)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("warning: standard input:", done.stderr)
            self.assertIn("0x5f21", done.stdout)
            done = gpreempt(command, "-f", "-", "--partial", "--json", input=cut)
            self.assertIs(json.loads(done.stdout)["incomplete"], True)
            result = gpreempt_json(command, "-f", path, "--json")
            self.assertIs(result["incomplete"], False)
            result = gpreempt_json(command, "-f", path, "--json", "--partial")
            self.assertIs(result["incomplete"], False)
            self.fails(gpreempt(command, "-f", "-", "--partial", input=whole[:60]),
                       "before its first complete block")

    def test_damaged_mqds_are_refused_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mqds")
            with open(path, "w", encoding="ascii") as file:
                file.write(content(MQDS)[:15000])
            for command in ("hqd", "runlist"):
                arguments = (command, "-f", COMMANDS[command], "--mqds", path)
                self.fails(gpreempt(*arguments, "--json"), path + ":")
                done = gpreempt(*arguments, "--json", "--partial")
                self.assertEqual(done.returncode, 0)
                self.assertIs(json.loads(done.stdout)["incomplete"], True)

    def test_a_damaged_live_text_is_to_be_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            debug = os.path.join(folder, "sys/kernel/debug/kfd")
            os.makedirs(debug)
            for command, path in COMMANDS.items():
                with open(os.path.join(debug, os.path.basename(path)), "w", encoding="ascii") as file:
                    file.write(content(path)[:-100])
                self.fails(gpreempt(command, "--root", folder), "run the command again")

    def test_unreadable_sources_say_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            self.fails(gpreempt("hqd", "--root", folder), "amdgpu driver is not loaded")
            os.makedirs(os.path.join(folder, "sys/class/kfd"))
            self.fails(gpreempt("mqd", "--root", folder), "mount -t debugfs")
            self.fails(gpreempt("runlist", "-f", folder), folder)

    def test_unreadable_debugfs_needs_root(self):
        nobody = {}
        if os.geteuid() == 0:
            # Root reads everything: somebody else has to try.
            nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            debug = os.path.join(folder, "sys/kernel/debug")
            os.makedirs(debug)
            os.chmod(debug, 0)
            try:
                gpreempt("--version", **nobody)
                done = gpreempt("hqd", "--root", folder, **nobody)
            except PermissionError:
                self.skipTest("other users cannot run the program from this directory")
            finally:
                os.chmod(debug, 0o755)
            self.fails(done, "requires root")

    def test_output_that_cannot_be_written_is_an_error_with_its_reason(self):
        for command, path in COMMANDS.items():
            for form in ((), ("--json",), ("--watch",)):
                with open("/dev/full", "w", encoding="ascii") as full:
                    done = subprocess.run([GPREEMPT, command, "-f", path, *form], stdout=full,
                                          stderr=subprocess.PIPE, text=True, timeout=60,
                                          env=dict(os.environ, LC_ALL="C.UTF-8"))
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr, "gpreempt %s: cannot write the output: "
                                 "No space left on device\n" % command)

    def test_bad_usage(self):
        for arguments in (["--pid", "x"], ["--pid", "0"], ["--gpu", "zz"], ["--gfx", "navi"],
                          ["--watch", "0"], ["--watch", "5"], ["--watch=x"], ["--count", "1"], ["--nothing"], ["file", "file"],
                          ["-f", "-", "--watch"], ["--raw", "--registers"],
                          ["-f", "-", "--mqds", "-"], ["--watch", "--count", "0"], ["--file"]):
            done = gpreempt("hqd", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn("--help", done.stderr)
        done = gpreempt("hqd", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--per-xcc", done.stdout)


class Csv(unittest.TestCase):
    def rows(self, *arguments):
        done = gpreempt(*arguments, "--format", "csv")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def test_a_saved_file_needs_no_option(self):
        self.assertEqual(gpreempt("hqd", HQDS).stdout, gpreempt("hqd", "--file", HQDS).stdout)
        self.assertEqual(gpreempt("mqd", MQDS).stdout, gpreempt("mqd", "--file", MQDS).stdout)

    def test_csv_has_the_rows_of_json(self):
        slots = gpreempt_json("hqd", HQDS, "--json")["slots"]
        rows = self.rows("hqd", HQDS)
        self.assertEqual([row["ring"] for row in rows], [slot["ring"] or "" for slot in slots])
        self.assertEqual(list(rows[0]), list(slots[0]))
        self.assertEqual(len(self.rows("mqd", MQDS)), len(gpreempt_json("mqd", MQDS, "--json")["descriptors"]))

    def test_the_runlist_is_one_list(self):
        gpus = gpreempt_json("runlist", RLS, "--json")["gpus"]
        rows = self.rows("runlist", RLS)
        self.assertEqual([row["mqd"] for row in rows if row["mqd"]],
                         [queue["mqd"] for gpu in gpus for process in gpu["processes"] for queue in process["queues"]])


class Watch(unittest.TestCase):
    def test_json_streams_an_object_a_line(self):
        done = gpreempt("hqd", "-f", HQDS, "--json", "--watch", "10ms", "--count", "3")
        self.assertEqual(done.returncode, 0)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(objects), 3)
        self.assertLessEqual(objects[0]["time"], objects[2]["time"])

    def start(self, *arguments, **options):
        process = subprocess.Popen([GPREEMPT, *arguments], text=True,
                                   env=dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm"), **options)
        self.addCleanup(process.wait, timeout=60)
        self.addCleanup(process.kill)
        return process

    def test_changes_are_marked_and_a_blank_line_parts_the_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hqds")
            first = content(HQDS)
            # The write pointer of the first compute queue: 304 dwords become 320.
            for name, text in (("hqds", first), ("next", first.replace("00000130", "00000140", 1))):
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write(text)
            process = self.start("hqd", "-f", path, "--watch", "10ms", stdout=subprocess.PIPE)
            with process.stdout as out:
                def reading():
                    """A table and, after a blank line, the lines below it."""
                    return [list(iter(out.readline, "\n")) for _ in range(2)]
                table, below = reading()
                self.assertNotIn("*", "".join(table))
                self.assertEqual("".join(table).count("CHECK"), 1)
                self.assertTrue(below[0].startswith("Inactive slots"), below)
                os.replace(os.path.join(folder, "next"), path)
                while "*" not in "".join(table):
                    table, below = reading()
                self.assertEqual(re.findall(r"\S+\*", "".join(table)), ["20*", "2*"])
                # Nothing changes any more: the marks are gone.
                self.assertNotIn("*", "".join(reading()[0]))
                process.send_signal(signal.SIGTERM)
                out.read()
            self.assertEqual(process.wait(timeout=60), 0)

    def test_a_signal_ends_it_cleanly_and_the_cursor_is_back(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            master, slave = pty.openpty()
            process = self.start("hqd", "-f", HQDS, "--watch", "60s", stdout=slave)
            os.close(slave)
            seen = b""
            while b"Inactive" not in seen:
                seen += os.read(master, 4096)
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=60), 0)
            try:
                while True:
                    more = os.read(master, 4096)
                    if not more:
                        break
                    seen += more
            except OSError:
                pass
            os.close(master)
            self.assertIn(b"\033[?25l", seen)
            self.assertTrue(seen.rstrip().endswith(b"\033[?7h\033[?25h\033[?1049l"), seen[-40:])
            self.assertIn(b"\033[H\033[2J", seen)

    def test_a_signal_ends_it_while_nobody_reads_the_output(self):
        for form in ((), ("--json",)):
            out, into = os.pipe()
            # One page, so that a single reading is more than fits.
            size = fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, 4096)
            process = self.start("hqd", "--root", fixture("live"), "--per-xcc", "--all",
                                 "--watch", "10ms", *form, stdout=into)
            os.close(into)
            waiting = 0
            while waiting < size and process.poll() is None:
                waiting = struct.unpack("i", fcntl.ioctl(out, termios.FIONREAD, b"    "))[0]
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=60), 0)
            os.close(out)

    def test_output_to_a_file_is_appended_reading_after_reading(self):
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            out.write("before\n")
            out.flush()
            process = self.start("hqd", "-f", HQDS, "--json", "--watch", "10ms", "--count", "2",
                                 stdout=out)
            self.assertEqual(process.wait(timeout=60), 0)
            out.seek(0)
            lines = out.read().splitlines()
        self.assertEqual(lines[0], "before")
        self.assertEqual(len([json.loads(line) for line in lines[1:]]), 2)

    def test_a_pipe_cannot_be_watched(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hqds")
            os.mkfifo(path)
            done = gpreempt("hqd", "-f", path, "--watch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs a file that can be read repeatedly", done.stderr)

    def test_a_source_that_goes_away_ends_it_with_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mqds")
            with open(path, "w", encoding="ascii") as file:
                file.write(content(MQDS))
            process = self.start("mqd", "-f", path, "--watch", "10ms", stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            with process.stdout as out, process.stderr as err:
                self.assertIn("GPU", out.readline())
                os.unlink(path)
                out.read()
                self.assertIn("cannot read", err.read())
            self.assertEqual(process.wait(timeout=60), 1)


if __name__ == "__main__":
    unittest.main()
