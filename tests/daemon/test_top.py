# SPDX-License-Identifier: MIT
"""gpreempt top on a real terminal (tmux), and commands beside it, with a daemon that has two jobs. Nothing here waits
for a time: the screen is read until it shows what it must, and a minute without it is a failure."""
import csv
import io
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
TESTS = os.path.join(os.path.dirname(BIN), "tests")
TOP_DAEMON = os.path.join(TESTS, "daemon", "top_daemon")
FAKE_HOLDER = os.path.join(TESTS, "client", "fake_holder")
LIMIT = 60


def environment(**more):
    plain = {name: value for name, value in os.environ.items() if name not in ("TMUX", "LANGUAGE", "ENV")}
    return dict(plain, LC_ALL="C.UTF-8", TERM="xterm", **more)


class Daemon(unittest.TestCase):
    """A daemon with two jobs of its own, and the environment in which commands find it."""

    def start_daemon(self, *arguments):
        self.daemon = subprocess.Popen([TOP_DAEMON, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True)
        self.addCleanup(self.end_daemon)
        directory, self.low, self.high = self.daemon.stdout.readline().split()
        self.env = environment(GPREEMPT_DIR=directory, GPREEMPT_HOLDER=FAKE_HOLDER)

    def end_daemon(self):
        self.daemon.stdin.close()
        try:
            self.assertEqual(self.daemon.wait(LIMIT), 0)
        finally:
            if self.daemon.poll() is None:
                self.daemon.kill()
                self.daemon.wait()
            self.daemon.stdout.close()

    def gpreempt(self, *arguments):
        done = subprocess.run([GPREEMPT, *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def priorities(self):
        return {job["pid"]: job["priority"] for job in json.loads(self.gpreempt("top", "--json"))["jobs"]}


class Log(Daemon):
    """A hundred lines that say the same are one with a count."""

    def test_lines_that_say_the_same_are_one_with_a_count(self):
        self.start_daemon("repeats", "100")
        shown = self.gpreempt("log").splitlines()
        self.assertEqual([line for line in shown if "trainer" in line], shown[-1:])
        self.assertRegex(shown[-1], r"\(100 times until \d\d:\d\d:\d\d\.\d{6}\)$")
        self.assertEqual(self.gpreempt("log", "--each").count("trainer"), 100)
        self.assertEqual(sum(json.loads(line)["job"]["name"] == "trainer" for line in
                             self.gpreempt("log", "--json").splitlines() if json.loads(line)["job"]), 100)

    def test_as_many_lines_as_were_asked_for_are_shown_however_often_each_is_repeated(self):
        self.start_daemon("repeats", "100")

        def shown(*options):  # each command converts times to those of the day, which differ by a microsecond
            return re.sub(r"\d\d:\d\d:\d\d\.\d{6}", "TIME", self.gpreempt("log", *options)).splitlines()
        whole = shown()
        self.assertEqual(shown("-n", "1"), whole[-1:])
        self.assertEqual(shown("-n", "2"), whole[-2:])
        self.assertEqual(len(self.gpreempt("log", "-n", "2", "--each").splitlines()), 2)
        self.assertEqual(self.gpreempt("log", "-n", "0"), "")

    def test_csv_has_a_head_and_a_row_per_decision(self):
        self.start_daemon("repeats", "3")
        rows = list(csv.DictReader(io.StringIO(self.gpreempt("log", "--format", "csv"))))
        costs = [int(row["cost_ns"]) for row in rows if row["job_name"] == "trainer"]
        self.assertEqual(costs, [2000000, 3000000, 4000000])
        self.assertEqual({row["waited_ns"] for row in rows if row["job_name"] == "trainer"}, {""})
        watched = list(csv.DictReader(io.StringIO(
            self.gpreempt("log", "--watch", "10ms", "--count", "2", "--lines", "1", "--format", "csv"))))
        self.assertEqual([row["cost_ns"] for row in watched], ["4000000"] * 2)
        self.assertLessEqual(float(watched[0]["time"]), float(watched[1]["time"]))

    def test_followed_lines_come_at_once_and_repeats_with_a_count(self):
        self.start_daemon("repeats", "0")
        with subprocess.Popen([GPREEMPT, "log", "--follow"], env=self.env, stdout=subprocess.PIPE, text=True) as log:
            try:
                self.daemon.stdin.write("x")
                self.daemon.stdin.flush()
                line = next(line for line in log.stdout if "trainer" in line)
                self.assertNotIn("times", line)
                self.daemon.stdin.write("x" * 7)
                self.daemon.stdin.flush()
                counts = []
                while sum(counts) < 7:
                    line = log.stdout.readline()
                    self.assertIn("trainer", line)
                    found = re.search(r"\((\d+) times until", line)
                    counts.append(int(found.group(1)) if found else 1)
                self.assertEqual(sum(counts), 7)
                self.assertLess(len(counts), 7)
            finally:
                log.terminate()

    def test_followed_repeats_are_shown_although_there_is_no_end_of_them(self):
        self.start_daemon("repeats", "0")
        with subprocess.Popen([GPREEMPT, "log", "--follow"], env=self.env, stdout=subprocess.PIPE) as log:
            try:
                end, text = time.monotonic() + LIMIT, b""
                os.set_blocking(log.stdout.fileno(), False)
                while not re.search(rb"\(\d+ times until", text):
                    self.assertLess(time.monotonic(), end, text)
                    self.daemon.stdin.write("x")
                    self.daemon.stdin.flush()
                    time.sleep(0.05)
                    text += log.stdout.read() or b""
                log.send_signal(signal.SIGTERM)
                self.assertEqual(log.wait(LIMIT), -signal.SIGTERM)
            finally:
                log.kill()


class Lists(Daemon):
    """What has rows has --watch and --format csv."""

    def test_every_list_is_repeated_and_written_as_csv(self):
        self.start_daemon()
        for command in (["ps"], ["status"], ["stats"], ["stats", "--jobs"], ["why", self.low], ["log"]):
            with self.subTest(command):
                shown = self.gpreempt_quietly(*command, "--watch", "10ms", "--count", "3", "--format", "csv")
                rows = list(csv.reader(io.StringIO(shown)))
                self.assertEqual(rows[0][0], "time")
                self.assertEqual({len(row) for row in rows}, {len(rows[0])})
                self.assertEqual(sum(row[0] == "time" for row in rows), 1)
                lines = self.gpreempt_quietly(*command, "--watch", "10ms", "--count", "3", "--json").splitlines()
                self.assertEqual(len([json.loads(line)["time"] for line in lines]), 3)
        jobs = list(csv.DictReader(io.StringIO(self.gpreempt("stats", "--jobs", "--format", "csv"))))
        self.assertEqual({job["pid"] for job in jobs}, {self.low, self.high})
        jobs = list(csv.DictReader(io.StringIO(self.gpreempt("top", "--format", "csv"))))
        self.assertEqual({job["pid"]: job["priority"] for job in jobs}, {self.low: "500", self.high: "2000"})

    def gpreempt_quietly(self, *arguments):
        """The machine of the test may have no GPU, which is said once."""
        done = subprocess.run([GPREEMPT, *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stdout


class Commands(Daemon):
    def test_a_cost_that_was_not_measured_is_not_said(self):
        """The job is held for the first time: nothing is known of its resume."""
        self.start_daemon("busy")
        deadline = time.monotonic() + LIMIT
        while not any(job["suspends"] for job in json.loads(self.gpreempt("top", "--json"))["jobs"]):
            self.assertLess(time.monotonic(), deadline)
        self.assertNotIn("expected to take unknown", self.gpreempt("why", self.low))
        self.assertNotIn("resuming it unknown", self.gpreempt("why", self.low))

    def test_a_time_that_is_over_is_explained_by_what_was_decided_before(self):
        self.start_daemon("busy")
        deadline = time.monotonic() + LIMIT
        while not any(job["suspends"] for job in json.loads(self.gpreempt("top", "--json"))["jobs"]):
            self.assertLess(time.monotonic(), deadline)
        lines = [json.loads(line) for line in self.gpreempt("log", "--json").splitlines()]
        held = next(line for line in lines if line["kind"] == "suspend" and str(line["job"]["pid"]) == self.low)
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(held["time_ns"] // 10**9))
        shown = self.gpreempt("why", "--at", at, self.low)
        self.assertIn(f"At {at} it was held, since {at}.\n", shown)
        self.assertNotIn("In total", shown)
        self.assertIn(f"At {at} it was not held.", self.gpreempt("why", "--at", at, self.high))
        self.assertIs(json.loads(self.gpreempt("why", "--at", at, self.low, "--json"))["held_at"], True)
        self.assertIsNone(json.loads(self.gpreempt("why", self.low, "--json"))["held_at"])
        before = "2020-01-01 00:00"
        self.assertEqual(self.gpreempt("why", "--at", before, self.low),
                         f"The record has no decision about it from before {before}.\n")
        for wrong in (("--at", "noon"), ("--at", "12:00", "--driver"), ("--at", "2999-01-01 00:00")):
            done = subprocess.run([GPREEMPT, "why", *wrong, self.low], env=self.env, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_log_of_the_last_hour_has_what_is_in_it(self):
        self.start_daemon("busy")
        deadline = time.monotonic() + LIMIT
        while not any(job["suspends"] for job in json.loads(self.gpreempt("top", "--json"))["jobs"]):
            self.assertLess(time.monotonic(), deadline)
        whole, since = ([json.loads(line) for line in self.gpreempt("log", "--json", *options).splitlines()]
                        for options in ((), ("--since", "1h")))
        self.assertGreater(len(whole), 2)
        self.assertEqual([line["id"] for line in since][:len(whole)], [line["id"] for line in whole])
        last = whole[-1]["time_ns"]
        while time.time_ns() < last + 2 * 10**6:
            pass
        ids = [json.loads(line)["id"] for line in self.gpreempt("log", "--json", "--since", "1ms").splitlines()]
        self.assertFalse(set(ids) & {line["id"] for line in whole})

    def test_what_renice_answers_is_what_the_daemon_schedules_by(self):
        self.start_daemon()
        self.assertEqual(self.priorities(), {int(self.low): 500, int(self.high): 2000})
        self.assertEqual(self.gpreempt("renice", "60000", self.low), f"process {self.low}: priority 60000\n")
        self.assertEqual(self.priorities(), {int(self.low): 60000, int(self.high): 2000})

    def test_a_renice_is_recorded_with_its_user(self):
        self.start_daemon()
        user = pwd.getpwuid(os.getuid()).pw_name
        self.assertIn('"reniced": false', self.gpreempt("why", self.low, "--json"))
        self.gpreempt("renice", "online", self.low)
        self.gpreempt("renice", "700", self.low)
        said = [f"priority set to {priority} by user {user} (renice)" for priority in (2000, 700)]
        for command in (("log",), ("why", self.low)):
            self.assertEqual([line.split(": ", 1)[1] for line in self.gpreempt(*command).splitlines() if "(renice)" in line
                              and "set to" in line], said, command)
        self.assertIn("\nIts priority was set by a user (renice).\n", self.gpreempt("why", self.low))
        self.assertNotIn("renice", self.gpreempt("why", self.high))
        why = json.loads(self.gpreempt("why", self.low, "--json"))
        self.assertTrue(why["reniced"])
        self.assertEqual([(line["why"], line["job_priority"]) for line in why["decisions"] if line["kind"] == "set"],
                         [(None, 2000), (None, 700)])

    def test_a_renice_of_one_process_names_its_group_and_overrides_the_rule(self):
        self.start_daemon("group")
        self.assertEqual(self.gpreempt("renice", "online", self.high), "group 'training' (2 processes): priority 2000\n")
        self.assertEqual(json.loads(self.gpreempt("renice", "online", self.high, "--json")),
                         {"pid": int(self.high), "group": "training", "processes": 2, "priority": 2000, "pending": False})
        self.assertIn("The rule 'training' of the configuration applies to it.\n"
                      "Its priority was set by a user (renice), which overrides the rule.\n", self.gpreempt("why", self.low))

    def test_why_tells_a_stream_s_priority_from_the_job_s(self):
        self.start_daemon("busy")
        shown = self.gpreempt("why", self.high)
        self.assertIn("is a job of class online with priority 2000: 1 process, 1 queue; queues with work: 1.", shown)
        self.assertIn("Other jobs were suspended 1 time to let it run; its work waited ", shown)
        self.assertNotIn("unknown", shown)
        self.assertRegex(shown, r"priority 1900\b")
        self.assertIn("raised or lowered some of these priorities by 100", shown)
        self.assertNotIn("raised or lowered", self.gpreempt("why", self.low))

    def test_a_name_does_not_drive_the_terminal(self):
        self.start_daemon()
        for command in (("log", "--all"), ("why", self.high), ("top", "--once")):
            shown = self.gpreempt(*command)
            self.assertIn("pro??gram", shown)
            self.assertNotIn("\x9b", shown)


class Terminal(unittest.TestCase):
    def open(self):
        """A shell with job control, so that stopping is what a person sees; in self.env."""
        self.place = tempfile.mkdtemp(prefix="gpt")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.env["TMUX_TMPDIR"] = self.place
        self.addCleanup(self.end_tmux)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "PS1='$ ' sh -i")
        self.type("echo be''fore\n")
        self.until(lambda s: "before" in s)

    def end_tmux(self):
        """The terminal hangs up on the programs in it, which end them."""
        subprocess.run(["tmux", "kill-server"], env=self.env, stderr=subprocess.DEVNULL, timeout=LIMIT)

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", *arguments], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text.replace("\n", "\r"))

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def until(self, condition):
        deadline = time.monotonic() + LIMIT
        while True:
            shown = self.screen()
            if condition(shown):
                return shown
            self.assertLess(time.monotonic(), deadline, shown)
            time.sleep(0.05)

    def row(self, shown, pid):
        """The fields of a job's line, or none."""
        for line in shown.splitlines():
            fields = line.replace(">", " ").split()
            if fields[:1] == [pid]:
                return fields
        return []


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Top(Daemon, Terminal):
    def setUp(self):
        self.start_daemon(*[mode for mode in ("limit", "observe") if mode in self.id()])
        self.open()
        self.type(f"'{GPREEMPT}' top; echo ended=$?\n")
        self.until(self.listed)

    def listed(self, shown):
        return bool(self.row(shown, self.low) and self.row(shown, self.high))

    def select_low(self):
        self.type("j")
        self.until(lambda s: re.search(rf"^> *{self.low} ", s, re.M))

    def answer(self, keys, question, answer):
        self.type(keys)
        self.until(lambda s: question in s and "(y/n)" in s)
        self.type(answer)
        return self.until(lambda s: "(y/n)" not in s)

    def test_jobs_are_shown_in_80_columns(self):
        # The last line is drawn last.
        shown = self.until(lambda s: self.listed(s) and "q quit" in s)
        self.assertIn("mode act: 2 jobs, 0 held", shown)
        self.assertRegex(shown, r"(?s)GPU 0 +\[[| ]{12}\].*1267")
        self.assertEqual(self.row(shown, self.low)[1:6], ["0", "offline", "500", "running", "1/1"])
        self.assertEqual(self.row(shown, self.high)[1:6], ["0", "online", "2000", "idle", "0/1"])
        self.assertEqual(self.row(shown, self.low)[-1], "program")
        self.assertRegex(shown, r" QUEUES +BUSY% HELD% SUSPENDS NAME\b")
        # A reading later the GPU's part of the time is known: somebody always has work.
        self.until(lambda s: re.search(r"\|\] +\d+%", s))

    def test_a_job_is_suspended_and_continued_only_when_confirmed(self):
        self.select_low()
        shown = self.answer("s", "Suspend", "n")
        self.assertEqual(self.row(shown, self.low)[4], "running")
        self.answer("s", "Suspend", "y")
        self.until(lambda s: self.row(s, self.low)[4:5] == ["held"])
        self.answer("c", "Resume", "y")
        self.until(lambda s: self.row(s, self.low)[4:5] == ["running"])
        self.type("v")  # totals
        self.tmux("resize-window", "-x", "120", "-y", "24")
        self.until(lambda s: self.row(s, self.low)[-2:-1] == ["1"] and "SUSPENDS NAME" in s)

    def test_the_end_of_a_suspension_at_its_limit_is_said(self):
        self.select_low()
        for _ in range(2):  # it can be asked for again
            self.answer("s", "Suspend", "y")
            self.until(lambda s: f"process {self.low} runs again: the suspension ended after" in s)
            self.assertEqual(self.row(self.screen(), self.low)[4], "running")
            self.type("k")
            self.until(lambda s: "runs again" not in s)
            self.select_low()

    def test_a_daemon_that_observes_suspends_nothing_and_says_so(self):
        self.select_low()
        self.answer("s", "Suspend", "y")
        shown = self.until(lambda s: "gpreemptd only observes: nothing was suspended" in s)
        self.assertNotIn("is suspended for", shown)

    def test_renice(self):
        self.select_low()
        self.type("n")
        self.until(lambda s: "Priority (0 to 65535)" in s)
        self.answer("700\n", "to 700?", "y")
        self.until(lambda s: self.row(s, self.low)[3:4] == ["700"])
        self.type("nx\n")
        self.until(lambda s: "'x' is not a priority" in s)

    def test_order_and_filter(self):
        self.type("o")
        self.until(lambda s: "order: ran" in s)
        self.type(f"/{self.low}\n")
        self.until(lambda s: self.row(s, self.low) and not self.row(s, self.high) and f"filter: {self.low}" in s)

    def test_help_detail_pause_and_interval(self):
        self.type("?")
        self.until(lambda s: "any key goes back" in s and "PgUp PgDn" in s)
        self.type(" ")
        self.until(self.listed)
        self.type("\n")
        self.until(lambda s: "Last decisions about it" in s and "new job: " in s and "is a job of class online" in s)
        self.tmux("resize-window", "-x", "80", "-y", "10")
        self.until(lambda s: "lines: 0 more above" in s and f"{self.high}" in s)
        self.tmux("send-keys", "End")
        self.until(lambda s: ", 0 more below" in s and "new job: " in s)
        self.tmux("send-keys", "PPage", "PPage", "PPage")
        self.until(lambda s: "lines: 0 more above" in s and f"Process         {self.high}" in s)
        self.tmux("send-keys", "Right")
        self.until(lambda s: f"Process         {self.low}" in s)
        self.tmux("send-keys", "Left")
        self.tmux("resize-window", "-x", "80", "-y", "24")
        self.tmux("send-keys", "Escape")
        self.until(self.listed)
        # A tree of single processes would look as before.
        self.type("t")
        self.until(lambda s: "every job has one process" in s)
        self.type("d2s\n")
        self.until(lambda s: "every 2 s" in s)
        self.type("d5\n")
        self.until(lambda s: "every 2 s" in s and "'5'" in s)
        self.type(" ")
        self.until(lambda s: "PAUSED" in s)
        self.type(" ")
        self.until(lambda s: "PAUSED" not in s)

    def test_escape_clears_the_filter_and_keys_and_mouse_select(self):
        self.type(f"/{self.low}\n")
        self.until(lambda s: not self.row(s, self.high))
        self.tmux("send-keys", "Escape")
        self.until(self.listed)
        self.tmux("send-keys", "End")
        shown = self.until(lambda s: re.search(rf"^> *{self.low} ", s, re.M))
        self.tmux("send-keys", "Home")
        self.until(lambda s: re.search(rf"^> *{self.high} ", s, re.M))
        line = next(i for i, text in enumerate(shown.splitlines()) if self.row(text, self.low))
        self.type(f"\033[M\040\041{chr(33 + line)}")  # a press of the first button, as xterm sends it
        self.until(lambda s: re.search(rf"^> *{self.low} ", s, re.M))

    def test_size_stop_and_continue(self):
        self.tmux("resize-window", "-x", "100", "-y", "12")
        self.until(lambda s: "SUSPENDS" in s and self.listed(s))
        self.tmux("send-keys", "C-z")
        self.until(lambda s: "Stopped" in s and "before" in s and not self.listed(s))
        self.type("fg; echo again=$?\n")
        self.until(self.listed)
        self.type("q")
        self.until(lambda s: "again=0" in s)

    def test_the_terminal_is_as_it_was(self):
        self.type("q")
        shown = self.until(lambda s: "ended=0" in s)
        self.assertIn("before", shown)
        self.assertFalse(self.listed(shown))
        # What is typed is shown again.
        self.type("echo aft''er")
        self.until(lambda s: "echo aft''er" in s)

    def test_signals_end_it(self):
        self.tmux("send-keys", "C-c")
        shown = self.until(lambda s: "ended=0" in s)
        self.assertIn("before", shown)


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class NoDaemon(Terminal):
    def test_what_is_missing_is_said_until_the_daemon_comes(self):
        directory = tempfile.mkdtemp(prefix="gpt")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        self.env = environment(GPREEMPT_DIR=directory)
        self.open()
        self.type(f"'{GPREEMPT}' top; echo ended=$?\n")
        shown = self.until(lambda s: "q quit" in s)
        self.assertIn("gpreemptd is not running; start it with", shown)
        self.assertIn("Processes that use a GPU now", shown)
        daemon = subprocess.Popen([os.path.join(BIN, "gpreemptd"), "--config", "/dev/null"], env=self.env,
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait, LIMIT)
        self.addCleanup(daemon.terminate)
        self.until(lambda s: "0 jobs" in s and "No jobs. A program becomes one" in s)
        self.type("q")
        self.until(lambda s: "ended=0" in s)


SCHED = "policy=priority poll_us=1000 polls=121\njobs={0} queues=3 held={0} events=137 suspends=1 resumes=0 errors=0\n"
JOB = ("job pid=4711 priority=500 state=suspended queues=2 busy=1 for=0 held_ns=44000000 ran_ns=31000000 suspends=1 "
       "declined=0 failures=0\n")


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Many(Daemon, Terminal):
    """Twenty jobs on eight GPUs, on screens of every size."""

    def setUp(self):
        self.start_daemon("many", "8")
        self.open()
        self.type(f"'{GPREEMPT}' top; echo ended=$?\n")
        self.until(lambda s: self.row(s, self.low))

    @staticmethod
    def is_whole(shown, height):
        """Every job and every GPU is on the screen, or counted as not fitting."""
        jobs = len(re.findall(r"^[> ] +\d+ +\d+ (?:online|offline) ", shown, re.M))
        more = re.search(r"(\d+) more above, (\d+) more below", shown)
        gpus = len(re.findall(r"^GPU \d ", shown, re.M))
        more_gpus = re.search(r"(\d+) more GPUs?", shown)
        return (len(shown.splitlines()) >= height - 1 and "q quit" in shown and "llm-server" in shown and
                jobs + (int(more[1]) + int(more[2]) if more else 0) == 20 and
                gpus + (int(more_gpus[1]) if more_gpus else 0) == 8)

    def test_wanted_columns_stay_and_the_rest_is_announced(self):
        for width, height in ((60, 20), (80, 24), (120, 40), (200, 60)):
            self.tmux("resize-window", "-x", str(width), "-y", str(height))
            shown = self.until(lambda s, h=height: self.is_whole(s, h) and "P99" in s)
            titles = next(line.split() for line in shown.splitlines() if "PID" in line)
            self.assertLessEqual({"PID", "GPU", "STATE", "P99", "NAME"}, set(titles))

    def test_jobs_and_gpus_that_do_not_fit_are_scrolled_to(self):
        self.tmux("resize-window", "-x", "80", "-y", "24")
        self.until(lambda s: "more below" in s and "more GPUs" in s)
        self.tmux("send-keys", "End")
        self.until(lambda s: ", 0 more below" in s)
        self.type("]" * 8)
        self.until(lambda s: re.search(r"^GPU 7 ", s, re.M))
        self.type("g")
        self.until(lambda s: "order: gpu" in s and re.search(r"^GPU \d  \S", s, re.M))


class Batch(Daemon):
    def test_a_pipe_a_dumb_terminal_and_once_print_the_same(self):
        self.start_daemon()
        heads = [self.gpreempt(*command).splitlines()[-3].split() for command in (("top",), ("top", "--once"))]
        self.assertEqual(heads[0], heads[1])
        self.assertLessEqual({"PID", "GPU", "STATE", "RAN", "NAME"}, set(heads[0]))
        # No latency is known yet: a line says so, instead of two empty columns.
        self.assertNotIn("P99", heads[0])
        self.assertIn("No latency (P50, P99) yet", self.gpreempt("top", "--once"))
        self.assertIn("latency_p99_ns", json.loads(self.gpreempt("top", "--json"))["jobs"][0])

    def test_colour_is_chosen(self):
        self.start_daemon()
        self.assertNotIn("\033[", self.gpreempt("top", "--once"))
        self.assertIn("\033[", self.gpreempt("top", "--once", "--color", "always"))

    def test_batch_prints_again(self):
        self.start_daemon()
        child = subprocess.Popen([GPREEMPT, "top", "-b", "-d", "100ms", "--json"], env=self.env, stdout=subprocess.PIPE, text=True)
        try:
            for _ in range(3):
                self.assertEqual(len(json.loads(child.stdout.readline())["jobs"]), 2)
        finally:
            child.terminate()
            child.stdout.close()
            child.wait(LIMIT)


@unittest.skipUnless(shutil.which("tmux"), "tmux is not installed")
class Driver(Terminal):
    def write(self, text):
        """Whole at every moment, as the kernel's is."""
        path = os.path.join(self.place, "root/sys/kernel/debug/kfd/sched")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)

    def test_the_drivers_jobs_are_read_again_and_not_changed(self):
        self.env = environment()
        self.open()
        self.write(SCHED.format(1) + JOB)
        self.type(f"'{GPREEMPT}' top --driver --root '{self.place}/root'; echo ended=$?\n")
        shown = self.until(lambda s: self.row(s, "4711") and "q quit" in s)
        self.assertIn("driver scheduler, policy priority: 1 job, 1 held", shown)
        self.assertEqual(self.row(shown, "4711")[:5], "4711 - 500 held 1/2".split())
        self.assertNotIn("renice", shown)
        self.type("n")
        self.until(lambda s: "cannot change these jobs" in s)
        self.write(SCHED.format(0))
        self.until(lambda s: "0 jobs, 0 held" in s and not self.row(s, "4711"))
        self.write("")
        self.until(lambda s: "has an unknown format" in s)
        self.write(SCHED.format(1) + JOB)
        self.until(lambda s: self.row(s, "4711") and "has an unknown format" not in s)
        self.type("q")
        self.until(lambda s: "ended=0" in s)


if __name__ == "__main__":
    unittest.main()
