# SPDX-License-Identifier: MIT
"""Decisions on disk: written while a trainer makes room, rotated by size, and read by report and top."""
import fcntl
import glob
import json
import os
import pty
import select
import signal
import socket
import subprocess
import tempfile
import termios
import time
import unittest

import test_gpreemptd as rig
import browser  # noqa: E402


class Diary(rig.Daemon):
    def log(self, keys):
        self.file = os.path.join(self.place, "decisions.jsonl")
        return self.daemon(rig.ACT.replace("[daemon]\n", f"[daemon]\ndecision_log = {self.file}\n{keys}", 1))

    def lines(self):
        found = []
        for name in sorted(glob.glob(self.file + "*"), reverse=True):
            try:
                with open(name) as file:
                    found += [json.loads(line) for line in file if line.endswith("\n")]
            except FileNotFoundError:  # renamed meanwhile
                pass
        return found

    def test_decisions_are_in_the_journal_with_their_fields(self):
        path = os.path.join(self.place, "journal")
        journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(journal.close)
        journal.bind(path)
        journal.settimeout(rig.LIMIT)
        daemon = self.daemon(rig.ACT.replace("[daemon]\n", f"[daemon]\ndecision_log = journal:{path}\n", 1))
        self.program("offline", "offline_trainer", 600)
        self.program("online", "online_server", 600)
        entry = {}
        while entry.get("GPREEMPT_KIND") != "suspend":
            entry = dict(line.split("=", 1) for line in journal.recv(65536).decode().splitlines())
            self.assertEqual((entry["SYSLOG_IDENTIFIER"], entry["PRIORITY"]), ("gpreemptd", "6"))
        trainer, server = self.job("offline_trainer"), self.job("online_server")
        self.assertEqual((entry["GPREEMPT_JOB_NAME"], entry["GPREEMPT_JOB_PID"]), ("offline_trainer", str(trainer["pid"])))
        self.assertEqual((entry["GPREEMPT_OTHER_NAME"], entry["GPREEMPT_OTHER_PID"]), ("online_server", str(server["pid"])))
        self.assertIn("suspend: offline_trainer", entry["MESSAGE"])
        self.assertTrue(entry["GPREEMPT_WHY"])
        # A journal that is gone is reported, and delays nothing.
        os.unlink(path)
        journal.close()
        self.held_again("offline_trainer")
        daemon.terminate()
        self.assertEqual(daemon.wait(rig.LIMIT), 0)

    def test_a_journal_that_nobody_reads_does_not_keep_the_daemon_from_ending(self):
        path = os.path.join(self.place, "journal")
        journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(journal.close)
        journal.bind(path)
        # Full for every sender: the buffer of one alone may end before the queue does.
        sent = 1
        while sent:
            sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(sender.close)
            sender.connect(path)
            sender.setblocking(False)
            sent = 0
            try:
                while sender.send(b"MESSAGE=x\n"):
                    sent += 1
            except BlockingIOError:
                pass
        daemon = self.daemon(rig.ACT.replace("[daemon]\n", f"[daemon]\ndecision_log = journal:{path}\n", 1))
        self.program("offline", "offline_trainer", 600)
        self.program("online", "online_server", 600)
        self.held_again("offline_trainer")
        daemon.terminate()
        self.assertIn("journal: Connection timed out", daemon.communicate(timeout=rig.LIMIT)[0].replace(path, "journal"))
        self.assertEqual(daemon.returncode, 0)

    def test_who_had_the_gpu_and_who_was_held_for_whom(self):
        daemon = self.log("")
        self.program("offline", "offline_trainer", 600)
        self.program("online", "online_server", 600)
        self.held_again("offline_trainer")
        self.until(lambda: sum(line["is"] == "job" and line["name"] == "offline_trainer" for line in self.lines()) > 1,
                   "no two snapshots of the trainer")
        trainer, server = self.job("offline_trainer"), self.job("online_server")
        self.program("offline", "offline_trainer", 600)
        self.until(lambda: len(self.trainers()) == 2, "no second trainer")
        brief = next(job for job in self.trainers() if job["pid"] != trainer["pid"])
        self.until(lambda: any(job["pid"] == brief["pid"] and job["ran_ns"] for job in self.trainers()), "the second trainer does not run")
        os.kill(brief["pid"], signal.SIGKILL)
        self.until(lambda: len(self.trainers()) == 1, "the second trainer is not gone")
        daemon.terminate()
        self.assertEqual(daemon.wait(rig.LIMIT), 0)
        self.assertEqual(os.stat(self.file).st_mode & 0o007, 0)
        page = os.path.join(self.place, "page.html")
        done = self.gpreempt("report", "--last", "1h", "--decisions", self.file, "--json", "--html", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        who, whom = f"offline_trainer (pid {trainer['pid']})", f"online_server (pid {server['pid']})"
        held = [row for row in report["holds"]["rows"] if (row["job"], row["other"]) == (who, whom)]
        self.assertEqual(len(held), 1, report["holds"])
        self.assertGreater(held[0]["times"], 0)
        self.assertTrue(held[0]["acted"])
        jobs = {row["job"]: row for row in report["jobs"]["rows"]}
        self.assertEqual(jobs[whom]["class"], "online")
        self.assertGreater(jobs[who]["ran_ns"], 0)
        self.assertGreater(jobs[who]["held_ns"], 0)
        # All that a job had counts, also between two snapshots.
        self.assertGreaterEqual(jobs[who]["suspends"], trainer["suspends"])
        self.assertGreater(jobs[f"offline_trainer (pid {brief['pid']})"]["ran_ns"], 0)
        self.assertTrue(any(row["job"] == who and row["ran_ns"] for row in report["usage"]["rows"]))
        self.assertIn(browser.layout({"hour": page}) if browser.CHROMIUM else None, (None, []))
        with open(page) as file:
            text = file.read()
        self.assertIn(whom, text)
        self.assertNotIn("<script", text)
        self.replays({"offline_trainer", "online_server"})

    def trainers(self):
        return [job for job in self.json("top")["jobs"] if job["name"] == "offline_trainer"]

    def replays(self, names):
        done = self.gpreempt("top", "--replay", self.file, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({job["name"] for job in json.loads(done.stdout)["jobs"]}, names)
        done = self.gpreempt("top", "--replay", self.file)
        self.assertRegex(done.stdout, r"State of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
        for outside in ("0001-01-01 00:00", "2001-01-01 00:00", "2999-01-01 00:00"):
            done = self.gpreempt("top", "--replay", self.file, "--at", outside)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"covers .* to .*, not '{outside}'")
        done = self.gpreempt("top", "--replay", self.file, "--at", "noon")
        self.assertEqual(done.returncode, 1)
        self.assertIn("invalid time 'noon'", done.stderr)

    def test_no_part_of_the_period_has_more_than_its_length(self):
        """Snapshots are 10 s apart, parts of the period are not."""
        second, path, now = 10 ** 9, os.path.join(self.place, "parts.jsonl"), time.time_ns()
        job = {"is": "job", "id": 1, "pid": 4711, "name": "trainer", "processes": 1}
        with open(path, "w") as file:
            for age in range(295, 0, -10):
                wall = now - age * second
                file.write(json.dumps({"is": "state", "wall_ns": wall, "started_ns": 1, "now_ns": (1000 - age) * second, "mode": 1}) + "\n")
                file.write(json.dumps(dict(job, wall_ns=wall, ran_ns=(300 - age) * second)) + "\n")
        done = self.gpreempt("report", "--last", "5min", "--decisions", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["usage"]["rows"]
        # The period ends when the command runs, which may be late: then it lacks the first snapshots, and nothing between the others.
        self.assertGreaterEqual(len(rows), 8)
        self.assertLessEqual(max(row["ran_ns"] for row in rows), 25 * second + second // 100)
        total, between = sum(row["ran_ns"] for row in rows), 10 * second
        self.assertEqual(total % between, 0)
        self.assertTrue(200 * second <= total <= 290 * second, total)

    def test_a_time_of_day_is_the_last_one_that_the_file_covers(self):
        second, path = 10 ** 9, os.path.join(self.place, "night.jsonl")
        last = int(time.mktime((2026, 11, 18, 0, 59, 50, 0, 0, -1)))
        with open(path, "w") as file:
            for wall in range(last - 7185, last + 1, 15):  # from 23:00:05
                file.write(json.dumps({"is": "state", "wall_ns": wall * second, "started_ns": 1, "now_ns": 2, "mode": 1}) + "\n")
        for at, shown in (("23:30", "2026-11-17 23:29:50"), ("00:30:10", "2026-11-18 00:30:05"), ("23:00", "2026-11-17 23:00:05"),
                          ("2026-11-17 23:30", "2026-11-17 23:29:50")):
            done = self.gpreempt("top", "--replay", path, "--at", at, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["at"][:19], shown, at)
        for at in ("22:59", "01:00", "2026-11-18 23:30"):
            self.assertEqual(self.gpreempt("top", "--replay", path, "--at", at).returncode, 1, at)

    def test_files_rotate_and_the_oldest_goes(self):
        self.log("decision_log_size = 64KiB\ndecision_log_files = 2\n")
        self.program("offline", "offline_trainer", 600)
        self.program("online", "online_server", 600)
        # So many lines that a second rotation removed the first of them.
        first = self.until(self.lines, "nothing is written")[0]
        self.until(lambda: (self.lines() or [first])[0] != first, "no file was removed")
        # While a file is renamed there is one less.
        self.until(lambda: sorted(os.path.basename(name) for name in glob.glob(self.file + "*")) ==
                   ["decisions.jsonl", "decisions.jsonl.1"], "other files than two")
        done = self.gpreempt("report", "--last", "1h", "--decisions", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("offline_trainer", done.stdout)

    def test_a_file_that_cannot_be_written_is_a_warning(self):
        daemon = self.daemon(rig.ACT.replace("[daemon]\n", f"[daemon]\ndecision_log = {self.place}/none/file\n", 1))
        daemon.terminate()
        self.assertIn("none/file: No such file or directory", daemon.communicate(timeout=rig.LIMIT)[0])
        self.assertEqual(daemon.returncode, 0)

    def test_a_file_that_was_removed_is_created_again(self):
        self.log("")
        self.until(lambda: os.path.exists(self.file) and self.lines(), "nothing is written")
        os.rename(self.file, self.file + ".away")
        # The next snapshot, or what is decided before it.
        self.until(lambda: os.path.exists(self.file) and os.path.getsize(self.file), "the file is not created again")

    def test_a_fifo_does_not_hold_up_the_daemon(self):
        path = os.path.join(self.place, "fifo")
        os.mkfifo(path)
        daemon = self.daemon(rig.ACT.replace("[daemon]\n", f"[daemon]\ndecision_log = {path}\n", 1))
        daemon.terminate()
        self.assertIn("fifo: No such device or address", daemon.communicate(timeout=rig.LIMIT)[0])
        self.assertEqual(daemon.returncode, 0)

    def test_a_reload_changes_the_file(self):
        daemon = self.log("")
        self.until(lambda: os.path.exists(self.file) and self.lines(), "nothing is written")
        first, self.file = self.file, os.path.join(self.place, "second.jsonl")
        config = os.path.join(self.place, "gpreemptd.conf")
        with open(config) as file:
            text = file.read()
        with open(config, "w") as file:
            file.write(text.replace(first, self.file))
        self.assertEqual(self.gpreempt("config", "reload").returncode, 0)
        self.until(lambda: os.path.exists(self.file) and self.lines(), "nothing is written to the second file")
        daemon.terminate()
        self.assertEqual(daemon.wait(rig.LIMIT), 0)
        with open(first) as file:
            self.assertTrue(file.read().endswith("}\n"))

    def rows_of(self, started):
        """Of a report that begins with decisions, 15 s before the first state of a daemon that was started then."""
        now, second = time.time_ns(), 10 ** 9
        job = {"id": 2, "pid": 4711, "uid": 1000, "job_class": 2, "ran_ns": 60 * second, "name": "trainer"}
        lines = [{"is": "decision", "wall_ns": now - (25 - i) * second, "id": i + 1, "at_ns": (100 + i) * second, "kind": i % 2,
                  "job": 2, "job_pid": 4711, "job_name": "trainer", "other": 3, "other_pid": 4712, "other_name": "server"}
                 for i in range(4)]
        for age, ran in ((10, 60), (1, 65)):
            lines += [{"is": "state", "wall_ns": now - age * second, "started_ns": started, "now_ns": (125 - age) * second, "mode": 1},
                      dict(job, **{"is": "job", "wall_ns": now - age * second, "ran_ns": ran * second})]
        path = os.path.join(self.place, "hand.jsonl")
        with open(path, "w") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        done = self.gpreempt("report", "--last", "1h", "--decisions", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        # The file does not cover the hour.
        self.assertEqual(report["span"]["recorded_from"],
                         time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(lines[0]["wall_ns"] // second)))
        return [(row["job"], row["ran_ns"]) for row in report["jobs"]["rows"]]

    def test_a_report_that_begins_between_two_states_has_each_job_once(self):
        """As every report of a daemon that has run for longer than the period, or whose oldest file is gone."""
        second = 10 ** 9
        self.assertEqual(self.rows_of(50 * second), [("trainer (pid 4711)", 5 * second)])
        # The daemon was started after those decisions: its jobs have their numbers anew.
        self.assertEqual(len(self.rows_of(110 * second)), 2)

    def test_turns_of_batch_jobs_are_no_preemptions(self):
        """As in gpreempt stats and /metrics. Under quantum a turn that is over is one."""
        second, now = 10 ** 9, time.time_ns()
        suspend, inversion, turn_over, priority, quantum = 0, 0, 3, 1, 4
        path = os.path.join(self.place, "turns.jsonl")
        with open(path, "w") as file:
            for age, why, policy in ((5, inversion, priority), (4, turn_over, priority), (3, turn_over, priority), (2, turn_over, quantum)):
                file.write(json.dumps({"is": "decision", "wall_ns": now - age * second, "id": 10 - age, "at_ns": (100 - age) * second,
                                       "kind": suspend, "why": why, "policy": policy, "job": age, "job_pid": 4710 + age, "job_name": "trainer",
                                       "other": 9, "other_pid": 4719, "other_name": "other"}) + "\n")
        done = self.gpreempt("report", "--last", "1h", "--decisions", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["span"]["preemptions"], 2)

    def test_figures_that_are_older_than_the_decisions_have_their_time(self):
        second, now = 10 ** 9, time.time_ns()
        path = os.path.join(self.place, "older.jsonl")

        def notes(newest):
            with open(path, "w") as file:
                for line in ({"is": "state", "wall_ns": now - 20 * second, "started_ns": 1, "now_ns": 100 * second, "mode": 1},
                             {"is": "job", "wall_ns": now - 20 * second, "id": 1, "pid": 4711, "name": "trainer"},
                             {"is": "decision", "wall_ns": now - newest, "id": 1, "at_ns": 110 * second, "kind": 0, "job": 1,
                              "job_pid": 4711, "job_name": "trainer", "other": 2, "other_pid": 4712, "other_name": "server"}):
                    file.write(json.dumps(line) + "\n")
            done = self.gpreempt("report", "--last", "1h", "--decisions", path, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["jobs"].get("notes", [])
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime((now - 20 * second) // second))
        self.assertIn(f"as of {at}", "".join(notes(12 * second)))
        self.assertEqual(notes(20 * second), [])

    def longest(self, path):
        done = self.gpreempt("report", "--last", "1h", "--decisions", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        return report["longest"]["rows"], report["holds"]["rows"]

    def test_a_suspension_by_hand_is_among_the_longest_holds(self):
        daemon = self.log("")
        self.program("offline", "offline_trainer", 600)
        trainer = self.job("offline_trainer")
        who = f"offline_trainer (pid {trainer['pid']})"
        keeper = subprocess.Popen([rig.GPREEMPT, "suspend", str(trainer["pid"]), "--json", "--lease", "1h"], stdout=subprocess.PIPE,
                                  text=True, env=self.env)
        self.started.append(keeper)
        self.until(lambda: self.job("offline_trainer")["away"] == "hand", "it is not suspended by hand")
        self.until(lambda: [row for row in self.longest(self.file)[0] if (row["job"], row["why"], row["ended"]) == (who, "hand", False)],
                   "the report lacks a hold that is not over")
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        self.assertIn(f"At {at} it was suspended by hand, since ", self.gpreempt("why", "--at", at, str(trainer["pid"])).stdout)
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(rig.LIMIT), 0)
        self.until(lambda: not self.job("offline_trainer")["away"], "it stays suspended")
        rows = self.until(lambda: [row for row in self.longest(self.file)[0] if row["why"] == "hand" and row["ended"]], "the hold does not end")
        self.assertEqual([(row["job"], row["other"]) for row in rows], [(who, None)])
        daemon.terminate()
        self.assertEqual(daemon.wait(rig.LIMIT), 0)

    def test_holds_by_name_are_among_the_longest_and_may_be_older_than_the_report(self):
        second, now = 10 ** 9, time.time_ns()
        job = {"is": "job", "uid": 1000, "job_class": 2, "ended_ns": None}
        kept, let_go, owner, stopped, held = 11, 12, 5, 1, 1

        def decision(age, kind, number, **more):
            return dict({"is": "decision", "wall_ns": now - age * second, "id": 1, "at_ns": (10000 - age) * second, "kind": kind, "job": number,
                         "job_pid": 4710 + number, "job_name": "trainer"}, **more)

        def snapshot(age, *jobs):
            wall = {"wall_ns": now - age * second}
            return [dict(wall, **{"is": "state", "started_ns": 1, "now_ns": (10000 - age) * second, "mode": 1})] + [dict(job, **wall, **one) for one in jobs]
        old = {"id": 1, "pid": 4711, "name": "trainer", "away": owner, "owner": "slurm", "kept": held, "held_since": 1000 * second}
        new = {"id": 2, "pid": 4712, "name": "trainer"}
        path = os.path.join(self.place, "named.jsonl")
        with open(path, "w") as file:
            for line in (*snapshot(30, old, new), decision(25, kept, 2, away=stopped), *snapshot(20, old, new | {"away": stopped, "kept": held}),
                         decision(15, let_go, 2, away=stopped), *snapshot(10, old, new), decision(5, kept, 2, away=owner, other_name="slurm", error=-110)):
                file.write(json.dumps(line) + "\n")
        rows, pairs = self.longest(path)
        self.assertEqual([(row["job"], row["other"], row["why"], row["ended"]) for row in rows],
                         [("trainer (pid 4711)", "slurm", "owner", False), ("trainer (pid 4712)", None, "stop", True)])
        # It was held for 9,000 s, and the report is of one hour.
        self.assertAlmostEqual(rows[0]["held_ns"] / second, 3600, delta=60)
        self.assertEqual(rows[1]["held_ns"], 10 * second)
        self.assertEqual([(row["job"], row["other"], row["times"]) for row in pairs], [("trainer (pid 4711)", "slurm", 1)])

    def test_a_file_that_is_missing_or_another_is_named(self):
        done = self.gpreempt("report", "--last", "1h", "--decisions", os.path.join(self.place, "none"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("if decision_log is set in gpreemptd.conf", done.stderr)
        self.assertIn("--decisions names another file", done.stderr)
        other = os.path.join(self.place, "other")
        with open(other, "w") as file:
            file.write("hello\n")
        done = self.gpreempt("report", "--last", "1h", "--decisions", other)
        self.assertIn("contains no decisions of gpreemptd; with --decisions, name the file of decision_log", done.stderr)
        done = self.gpreempt("top", "--replay", other)
        self.assertEqual(done.returncode, 1)
        self.assertIn("contains no decisions of gpreemptd", done.stderr)


class Terminal(unittest.TestCase):
    def test_ctrl_c_restores_the_terminal(self):
        self.restores(lambda process, master: os.write(master, b"\x03"))

    def test_a_signal_restores_the_terminal(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.restores(lambda process, master, number=number: process.send_signal(number))

    def restores(self, end):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write('{"is":"state","wall_ns":1700000000000000000,"pid":1}\n')
            file.flush()
            master, slave = pty.openpty()
            self.addCleanup(os.close, master)
            self.addCleanup(os.close, slave)
            before = termios.tcgetattr(slave)
            process = subprocess.Popen([rig.GPREEMPT, "top", "--replay", file.name], stdin=slave, stdout=slave, stderr=slave,
                                       start_new_session=True, env=dict(os.environ, LC_ALL="C.UTF-8"),
                                       preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            text = b""
            while b"q: quit" not in text:
                self.assertTrue(select.select([master], [], [], rig.LIMIT)[0], text)
                text += os.read(master, 4096)
            self.assertFalse(termios.tcgetattr(slave)[3] & termios.ECHO)
            end(process, master)
            self.assertEqual(process.wait(rig.LIMIT), 0)
            self.assertEqual(termios.tcgetattr(slave)[3], before[3])


if __name__ == "__main__":
    unittest.main()
