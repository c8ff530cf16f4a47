# SPDX-License-Identifier: MIT
"""Runs in the container that `run` boots, as root: gpreemptd as the installed systemd unit, with programs of several
users, on the virtual GPU and on the stand-in for NVIDIA's resource manager."""
import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = os.environ["GP_PREFIX"]
GPREEMPT = f"{PREFIX}/bin/gpreempt"
LIMIT = 120
ALICE, BOB = 2001, 2002
UNIT = "gpreemptd.service"
DROP_IN = f"/run/systemd/system/{UNIT}.d"
# What is decided must not depend on how slow this machine is.
ACT = ("[daemon]\nmode = act\nstand_down = no\noperation_timeout = 30s\nlease = 2s\nmax_suspend = 50s\nscan_interval = 100ms\n"
       "[device *]\nlinger = 0\n")


def systemctl(*words, check=True):
    done = subprocess.run(["systemctl", "--no-pager", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT, check=False)
    if check and done.returncode:
        raise AssertionError(f"systemctl {' '.join(words)}: {done.stdout}\n{journal_text()}")
    return done.stdout.strip()


def unit(name):
    return systemctl("show", "--value", "--property", name, UNIT)


def journal(since=None):
    """Its lines as dictionaries; `since`: a cursor."""
    subprocess.run(["journalctl", "--sync"], check=False)
    place = ["--after-cursor", since] if since else []
    out = subprocess.run(["journalctl", "--unit", UNIT, "--output", "json", "--all", *place], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def journal_text(since=None):
    return "\n".join(str(line.get("MESSAGE")) for line in journal(since))


def cursor():
    subprocess.run(["journalctl", "--sync"], check=False)
    out = subprocess.run(["journalctl", "--lines", "1", "--output", "json"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(out)["__CURSOR"] if out.strip() else None


def as_user(uid, *command):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *command] if uid else list(command)


class Service(unittest.TestCase):
    """The unit, started with an environment for the GPU of the test; every process that a test starts is ended."""

    def setUp(self):
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "GPREEMPT_DIR": "/run/gpreempt"}
        self.gpu, self.device = {}, None
        self.started = []
        for uid in (0, ALICE, BOB):
            os.makedirs(f"/run/user/{uid}", 0o700, exist_ok=True)
            os.chown(f"/run/user/{uid}", uid, uid)
        os.chmod("/run/user", 0o755)
        self.addCleanup(self.clear)
        self.start_gpu()
        self.drop_in()
        self.configure(ACT)

    def clear(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                try:
                    process.wait(LIMIT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        systemctl("stop", UNIT, check=False)
        self.gpreempt("release", "--all")
        self.gpreempt("release", "--all", uid=ALICE)
        self.end_holder()
        self.stop_gpu()
        shutil.rmtree(DROP_IN, ignore_errors=True)
        systemctl("reset-failed", check=False)

    def end_holder(self):
        """Root's would serve the next test, on another GPU."""
        try:
            with open("/run/gpreempt/holder.lock") as file:
                pid = int(file.read())
            holder = os.pidfd_open(pid)
            with open(f"/proc/{pid}/comm") as file:
                if file.read().startswith("gpreempt-holder"):
                    signal.pidfd_send_signal(holder, signal.SIGTERM)
                    self.assertTrue(select.select([holder], [], [], LIMIT)[0], "the holder does not end")
            os.close(holder)
        except (OSError, ValueError):
            pass

    def drop_in(self, more=""):
        os.makedirs(DROP_IN, exist_ok=True)
        with open(f"{DROP_IN}/test.conf", "w") as file:
            file.write("[Unit]\nStartLimitIntervalSec=0\n[Service]\n")
            file.writelines(f"Environment={name}={value}\n" for name, value in self.gpu.items())
            file.write(self.paths + more)
        systemctl("daemon-reload")

    def configure(self, text):
        path = re.search(r"--config (\S+)", unit("ExecStart"))[1]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    # ---- commands ----

    def gpreempt(self, *words, uid=0):
        return subprocess.run(as_user(uid, GPREEMPT, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.env_of(uid), cwd="/", timeout=LIMIT, check=False)

    def env_of(self, uid, **more):
        return dict(self.env, XDG_RUNTIME_DIR=f"/run/user/{uid}", HOME="/tmp", **more)

    def json(self, *words):
        done = self.gpreempt(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def begin(self, uid, *command):
        process = subprocess.Popen(as_user(uid, *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
                                   env=self.env_of(uid, **self.gpu), pass_fds=[self.device] if self.device else [])
        self.started.append(process)
        return process

    def until(self, condition, message, limit=LIMIT):
        deadline = time.monotonic() + limit
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                self.fail("\n".join([message, systemctl("status", "--full", UNIT, check=False), journal_text()] + [
                    self.gpreempt(*command).stdout for command in (("top", "--once"), ("log", "--all", "--lines", "20"))]))
            time.sleep(0.05)

    def jobs(self):
        done = self.gpreempt("top", "--json")
        return {job["name"]: job for job in json.loads(done.stdout)["jobs"]} if done.returncode == 0 else {}

    def job(self, name):
        return self.until(lambda: self.jobs().get(name), f"{name} is not a job")

    def says(self, pattern, since=None):
        self.until(lambda: re.search(pattern, journal_text(since)), f"the journal does not say '{pattern}'")

    def main_pid(self):
        return int(unit("MainPID"))


class OnVirtualGpu(Service):
    """Alice has a virtual GPU; its programs are hers and root's."""
    paths, machine = "", []

    def start_gpu(self):
        done = self.gpreempt("vgpu", "start", *self.machine, uid=ALICE)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in self.gpreempt("vgpu", "--", "env", uid=ALICE).stdout.splitlines():
            if line.startswith(("GPREEMPT_VGPU=", "LD_PRELOAD=")):
                self.gpu.update([line.split("=", 1)])
        self.gpu["GPREEMPT_DIR"] = "/run/gpreempt"  # by default a virtual GPU has a directory of its own

    def stop_gpu(self):
        self.gpreempt("vgpu", "stop", uid=ALICE)

    def program(self, uid, job_class, name):
        return self.begin(uid, GPREEMPT, "run", "--class", job_class, "--", f"{HERE}/examples/{name}", "--seconds", "1000")

    def pair(self):
        """A trainer of Alice's and a server of root's."""
        return self.program(ALICE, "offline", "offline_trainer"), self.program(0, "online", "online_server")

    def held_again(self, name="offline_trainer"):
        before = self.job(name)["suspends"]
        self.until(lambda: self.jobs().get(name, {"suspends": before})["suspends"] > before, f"{name} is never held")

    def runs(self, pid):
        """Not suspended by any holder, and its queues move."""
        self.until(lambda: not self.json("status", str(pid))["suspended"], f"process {pid} is still suspended")


class Amd(OnVirtualGpu):
    def test_programs_before_the_daemon_and_after(self):
        trainer, server = self.pair()
        self.until(lambda: glob.glob("/run/gpreempt/agents/*.sock"), "the server has no agent")
        systemctl("enable", "--now", UNIT)
        # Type=notify: it answers as soon as systemctl returns.
        self.assertEqual(self.gpreempt("top", "--once").returncode, 0)
        self.assertEqual((self.job("offline_trainer")["pid"], self.job("online_server")["pid"]), (trainer.pid, server.pid))
        self.assertEqual(self.jobs()["offline_trainer"]["uid"], ALICE)
        self.held_again()
        self.assertEqual(os.stat("/run/gpreempt/agents").st_mode & 0o7777, 0o1777)
        self.assertEqual(systemctl("is-active", "run-gpreempt-agents.mount"), "active")
        server.terminate()
        self.until(lambda: "online_server" not in self.jobs(), "the server's job stays")
        later = self.program(0, "online", "online_server")
        self.until(lambda: self.jobs().get("online_server", {}).get("pid") == later.pid, "a later server is not found")
        self.held_again()
        self.assertEqual(systemctl("is-enabled", UNIT), "enabled")
        systemctl("disable", UNIT)

    def test_reload(self):
        systemctl("start", UNIT)
        self.pair()
        self.held_again()
        pid, since = self.main_pid(), cursor()
        self.configure(ACT + "[rule late]\nexecutable = offline_trainer\nclass = offline\npriority = 321\n")
        systemctl("reload", UNIT)
        self.says("configuration reloaded; mode act", since)
        self.until(lambda: self.job("offline_trainer")["priority"] == 321, "the new rule is not applied")
        since = cursor()
        self.configure(ACT + "[rule late]\nexecutable = offline_trainer\npriority = much\n")
        systemctl("reload", UNIT)
        self.says("keeping the old configuration", since)
        self.assertRegex(journal_text(since), r"gpreemptd.conf:\d+: .*much")
        self.assertEqual((self.main_pid(), unit("ActiveState"), unit("NRestarts")), (pid, "active", "0"))
        self.assertEqual(self.job("offline_trainer")["priority"], 321)
        self.held_again()

    def test_restart(self):
        systemctl("start", UNIT)
        trainer, server = self.pair()
        self.held_again()
        before = self.main_pid()
        self.until(lambda: self.jobs()["offline_trainer"]["held"], "the trainer is never held")
        systemctl("stop", UNIT)
        self.runs(trainer.pid)
        self.assertEqual((trainer.poll(), server.poll()), (None, None))
        self.assertNotEqual(self.gpreempt("top", "--once").returncode, 0)
        systemctl("start", UNIT)
        self.assertNotEqual(self.main_pid(), before)
        self.held_again()
        self.assertEqual(self.job("offline_trainer")["pid"], trainer.pid)
        systemctl("restart", UNIT)
        self.held_again()
        self.assertEqual((trainer.poll(), server.poll(), self.json("stats")["failures"]), (None, None, 0))

    def test_a_manual_suspension_outlives_a_restart(self):
        systemctl("start", UNIT)
        trainer = self.program(ALICE, "offline", "offline_trainer")
        self.job("offline_trainer")
        keeper = self.begin(0, GPREEMPT, "suspend", str(trainer.pid), "--lease", "1h", "--json")
        self.assertIn("suspended", keeper.stdout.readline())
        with open("/run/gpreempt/holder.lock") as file:
            holder = file.read()
        systemctl("restart", UNIT)
        self.job("offline_trainer")
        self.assertTrue(self.json("status", str(trainer.pid))["suspended"])
        with open("/run/gpreempt/holder.lock") as file:
            self.assertEqual(file.read(), holder)
        self.until(lambda: self.jobs()["offline_trainer"]["away"] == "hand", "the new daemon does not know of the suspension")
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(LIMIT), 0)
        self.runs(trainer.pid)

    def test_a_daemon_that_hangs_is_restarted_and_holds_nothing_meanwhile(self):
        self.drop_in("WatchdogSec=30s\n")  # on a busy host, too, the lease of 2 s ends first
        systemctl("start", UNIT)
        trainer, server = self.pair()
        self.held_again()
        before, since = self.main_pid(), cursor()
        self.until(lambda: self.stop_while_holding(before, trainer.pid), "it never hangs with the trainer held")
        self.runs(trainer.pid)  # when the lease is over
        self.assertEqual(self.main_pid(), before, "the watchdog came first")
        self.until(lambda: self.main_pid() not in (0, before), "systemd does not restart it")
        self.says("Watchdog timeout", since)
        self.assertEqual(unit("NRestarts"), "1")
        self.until(lambda: self.gpreempt("top", "--once").returncode == 0, "the new daemon does not answer")
        self.held_again()
        self.assertEqual((trainer.poll(), server.poll()), (None, None))

    def stop_while_holding(self, daemon, trainer):
        os.kill(daemon, signal.SIGSTOP)
        if self.json("status", str(trainer))["suspended"]:
            return True
        os.kill(daemon, signal.SIGCONT)
        return False

    def test_a_daemon_that_answers_the_watchdog_stays(self):
        self.drop_in("WatchdogSec=1s\n")
        systemctl("start", UNIT)
        pid = self.main_pid()
        time.sleep(4)
        self.assertEqual((self.main_pid(), unit("NRestarts")), (pid, "0"))

    def test_the_journal(self):
        since = cursor()
        systemctl("start", UNIT)
        self.pair()
        self.held_again()
        systemctl("stop", UNIT)
        lines = [line for line in journal(since) if line.get("_COMM") == "gpreemptd"]
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(line["SYSLOG_IDENTIFIER"], "gpreemptd", line)
            self.assertNotRegex(line["MESSAGE"], r"^<\d>")
        by_text = {line["MESSAGE"]: line["PRIORITY"] for line in lines}
        self.assertEqual(by_text.get("gpreemptd: mode act, 1 GPU"), "6", by_text)
        limit = re.search(r"LimitRTPRIO=(\d+)", systemctl("cat", UNIT))
        self.assertEqual(limit[1], "1")
        self.assertTrue(any(re.fullmatch("gpreemptd: CPU scheduling class: (normal|nice|realtime)", text) for text in by_text))
        # Nothing went wrong: no warning, no error.
        self.assertEqual([text for text, level in by_text.items() if int(level) < 6], [])

    def test_decisions_are_fields_of_the_journal(self):
        """Of a real journald: found by any of them, and complete."""
        self.configure(ACT.replace("[daemon]\n", "[daemon]\ndecision_log = journal\n", 1))
        since = cursor()
        systemctl("start", UNIT)
        trainer, server = self.pair()
        self.held_again()
        pid = self.job("offline_trainer")["pid"]
        found = []

        def entries():
            subprocess.run(["journalctl", "--sync"], check=False)
            out = subprocess.run(["journalctl", "--output", "json", "--all", "--after-cursor", since, "GPREEMPT_KIND=suspend",
                                  f"GPREEMPT_JOB_PID={pid}"], stdout=subprocess.PIPE, text=True, check=False).stdout
            found[:] = [json.loads(line) for line in out.splitlines()]
            return found
        self.until(entries, "no decision is in the journal")
        entry = found[0]
        self.assertEqual((entry["GPREEMPT_JOB_NAME"], entry["GPREEMPT_OTHER_NAME"]), ("offline_trainer", "online_server"))
        self.assertEqual((entry["_SYSTEMD_UNIT"], entry["SYSLOG_IDENTIFIER"], entry["PRIORITY"]), (UNIT, "gpreemptd", "6"))
        self.assertRegex(entry["MESSAGE"], r"suspend: offline_trainer \(pid \d+\), online_server")
        for field in ("GPREEMPT_DECISION", "GPREEMPT_JOB", "GPREEMPT_OTHER_PID", "GPREEMPT_GPU", "GPREEMPT_WHY", "MESSAGE_ID"):
            self.assertIn(field, entry)

    def test_several_users(self):
        systemctl("start", UNIT)
        trainer, _ = self.pair()
        self.held_again()
        pid = str(trainer.pid)
        self.assertEqual(self.gpreempt("renice", "700", pid, uid=ALICE).returncode, 0)
        self.until(lambda: self.job("offline_trainer")["priority"] == 700, "the user's wish is not heard")
        done = self.gpreempt("renice", "600", pid, uid=BOB)
        self.assertEqual((done.returncode, "belongs to another user" in done.stderr), (1, True), done.stderr)
        done = self.gpreempt("config", "reload", uid=ALICE)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(self.gpreempt("top", "--once", uid=BOB).returncode, 0)
        # Class online is above the ceiling of other users; a section grants it.
        second = self.program(ALICE, "online", "case_a_cnn")
        self.assertLess(self.job("case_a_cnn")["priority"], 2000)
        self.configure(ACT + "[user alice]\nmax_priority = 2100\n")
        systemctl("reload", UNIT)
        second.terminate()
        self.until(lambda: "case_a_cnn" not in self.jobs(), "the job stays")
        self.program(ALICE, "online", "case_a_cnn")
        self.assertEqual(self.job("case_a_cnn")["priority"], 2000)
        self.assertEqual(os.stat("/run/gpreempt/gpreemptd.sock").st_mode & 0o777, 0o666)
        self.assertEqual(os.stat("/run/gpreempt/holder.sock").st_mode & 0o077, 0)


class Freeze(OnVirtualGpu):
    """`systemctl freeze` of a unit, where systemd has control groups of version 2 (the container boots with them if it can)."""
    name = "gpreempt-test-trainer.service"
    machine = ["--runtime-enable"]  # a process that cannot answer is suspended from outside

    def trainer(self):
        self.addCleanup(systemctl, "stop", self.name, check=False)
        self.addCleanup(systemctl, "thaw", self.name, check=False)
        variables = [f"--setenv={name}={value}" for name, value in self.env_of(ALICE, **self.gpu).items()]
        done = subprocess.run(["systemd-run", "--unit", self.name, "--uid", str(ALICE), *variables, GPREEMPT, "run", "--class", "offline",
                               "--", f"{HERE}/examples/offline_trainer", "--seconds", "1000"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.until(lambda: (self.jobs().get("offline_trainer") or {}).get("busy_queues"), "the trainer has no work")
        return self.jobs()["offline_trainer"]["pid"]

    def is_off(self, pid):
        """As the machine itself has it: a frozen process answers nothing."""
        for process in json.loads(self.gpreempt("vgpu", "status", "--json", uid=ALICE).stdout)["processes"]:
            if process["pid"] == pid:
                return process["queues"] and not any(queue["mapped"] for queue in process["queues"])
        return False

    def kept(self):
        return self.jobs()["offline_trainer"]["kept"] == "held"

    def test_gpu_work_follows_systemctl_freeze(self):
        if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            self.skipTest("systemd has no control groups of version 2 here, which its freeze needs")
        self.configure(ACT + "[rule all]\nexecutable = *\nfollow_stop = yes\n")
        systemctl("start", UNIT)
        pid = self.trainer()
        for _ in range(2):
            systemctl("freeze", self.name)
            self.assertEqual(systemctl("show", "--value", "--property", "FreezerState", self.name), "frozen")
            self.until(lambda: self.kept() and self.is_off(pid), "its GPU work goes on")
            systemctl("thaw", self.name)
            self.until(lambda: not self.kept() and not self.is_off(pid), "it is not resumed")
            before = self.jobs()["offline_trainer"]["ran_ns"]
            self.until(lambda: self.jobs()["offline_trainer"]["ran_ns"] > before, "it does not run again")


class Upgrade(OnVirtualGpu):
    """Files are replaced as a package manager does it: a new file, renamed over the old one."""

    def install(self, next_version):
        with open(f"{HERE}/next/files.json") as file:
            files = json.load(file)
        for name, path in files.items():
            kept = f"{HERE}/next/{name}.old"
            if not os.path.exists(kept):
                shutil.copy2(path, kept)
            shutil.copy2(f"{HERE}/next/{name}" if next_version else kept, f"{path}.new")
            os.rename(f"{path}.new", path)
        systemctl("daemon-reload")

    def test_the_same_protocol(self):
        systemctl("start", UNIT)
        trainer, server = self.pair()
        self.held_again()
        before = self.main_pid()
        self.install(False)
        self.held_again()  # the old daemon goes on
        self.assertEqual(self.main_pid(), before)
        self.until(lambda: self.jobs()["offline_trainer"]["held"], "the trainer is never held")
        systemctl("restart", UNIT)
        self.held_again()
        self.assertEqual((self.job("offline_trainer")["pid"], self.job("online_server")["pid"]), (trainer.pid, server.pid))

    def test_another_protocol(self):
        systemctl("start", UNIT)
        trainer, server = self.pair()
        self.held_again()
        since = cursor()
        old = self.gpreempt("--version").stdout
        self.install(True)
        self.addCleanup(self.install, False)
        self.assertNotEqual(self.gpreempt("--version").stdout, old)
        # The new command and the new agent meet the old daemon.
        done = self.gpreempt("top", "--once")
        self.assertEqual((done.returncode, "gpreemptd is a different version; restart it" in done.stderr), (1, True), done.stderr)
        early = self.program(ALICE, "offline", "offline_trainer")
        self.says(f"process {early.pid} is not scheduled: its agent is a different version", since)
        self.assertEqual(unit("ActiveState"), "active")
        # The old holder ends when it is idle; until then the new daemon says why it cannot preempt.
        since = cursor()
        systemctl("restart", UNIT)
        for process in (trainer, server):
            self.says(f"process {process.pid} is not scheduled: its agent is a different version; restart the program", since)
        self.until(lambda: [job["pid"] for job in self.json("top")["jobs"]] == [early.pid], "the new program is not found")
        self.runs_freely(trainer)
        late = self.program(0, "online", "online_server")
        self.until(lambda: len(self.jobs()) == 2, "the second new program is not found")
        self.held_again()
        self.assertEqual([process.poll() for process in (trainer, server, early, late)], [None] * 4)

    def runs_freely(self, process):
        """No holder has it, of whichever version: its CPU time grows while it feeds the GPU."""
        def used():
            with open(f"/proc/{process.pid}/stat") as file:
                return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
        before = used()
        self.until(lambda: used() > before + 5, f"process {process.pid} makes no progress")


class OnNvidia(Service):
    """Programs of two users on the stand-in. They find root's daemon by themselves: no variable names its directory."""
    paths = "ReadWritePaths=/opt/nvidia\n"
    DEFAULT_US = 2048

    def start_gpu(self):
        del self.env["GPREEMPT_DIR"]
        os.makedirs("/opt/nvidia", exist_ok=True)
        self.keeper = subprocess.Popen([f"{HERE}/fake_keeper"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env=dict(self.env, TMPDIR="/opt/nvidia"))
        place = self.keeper.stdout.readline().strip()
        for directory, folders, files in os.walk(place):
            for name in [directory, *(os.path.join(directory, file) for file in files)]:
                os.chmod(name, 0o777)
        self.gpu = {"GPREEMPT_FAKE_NVIDIA": place, "LD_PRELOAD": f"{HERE}/libfake_nvidia.so"}
        # CUDA programs have the device open, which is how the daemon knows that their queues may exist.
        self.device = os.open(f"{place}/dev/nvidia0", os.O_RDWR | os.O_CREAT, 0o666)
        self.addCleanup(os.close, self.device)

    def stop_gpu(self):
        self.keeper.stdin.close()
        self.keeper.wait(LIMIT)
        self.keeper.stdout.close()

    def ask(self, process, word):
        process.stdin.write(word + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    def slices(self):
        return [int(us) for us in self.ask(self.keeper, "slices").split()]

    def stopped(self):
        return int(self.ask(self.keeper, "channels").split()[1])

    def program(self, uid, job_class, executable="fake_target"):
        process = self.begin(uid, GPREEMPT, "run", "--class", job_class, "--", f"{HERE}/{executable}",
                             self.gpu["GPREEMPT_FAKE_NVIDIA"], "libc")
        process.stdout.readline()
        self.assertEqual(self.ask(process, "context"), "ok 0")
        return process

    def shares(self):
        """One has short slices, the other long ones."""
        found = self.slices()
        return len(found) == 2 and found[0] < self.DEFAULT_US < found[1]

    def pair(self):
        return self.program(ALICE, "offline"), self.program(BOB, "online")

    def config(self, more=""):
        self.configure(ACT + "[user bob]\nmax_priority = 2100\n" + more)


class Nvidia(OnNvidia):
    def test_programs_before_the_daemon_restart_and_stop(self):
        self.config()
        trainer, server = self.pair()
        self.assertEqual(self.slices(), [self.DEFAULT_US] * 2)
        systemctl("start", UNIT)
        self.until(self.shares, "no slices by priority")
        self.assertEqual({job["uid"] for job in self.json("top")["jobs"]}, {ALICE, BOB})
        before = self.main_pid()
        systemctl("restart", UNIT)
        self.assertNotEqual(self.main_pid(), before)
        self.until(self.shares, "no slices after a restart")
        systemctl("stop", UNIT)
        self.until(lambda: self.slices() == [self.DEFAULT_US] * 2, "slices stay")
        self.assertEqual((trainer.poll(), server.poll()), (None, None))

    def test_programs_after_the_daemon_and_reload(self):
        self.config()
        systemctl("start", UNIT)
        self.pair()
        self.until(self.shares, "no slices by priority")
        since = cursor()
        self.configure(ACT.replace("act", "observe"))
        systemctl("reload", UNIT)
        self.says("configuration reloaded; mode observe", since)
        self.until(lambda: self.slices() == [self.DEFAULT_US] * 2, "slices stay")

    def test_a_strict_hold_and_a_daemon_that_hangs(self):
        self.drop_in("WatchdogSec=30s\n")  # on a busy host, too, the lease of 2 s ends first
        shutil.copy(f"{HERE}/fake_target", f"{HERE}/server")
        self.config(f"[rule strict]\nexecutable = {HERE}/server\nstrict = always\n")
        systemctl("start", UNIT)
        trainer, server = self.program(ALICE, "offline"), self.program(BOB, "online", "server")
        self.until(self.stopped, "the trainer is not stopped")
        before, since = self.main_pid(), cursor()
        os.kill(before, signal.SIGSTOP)
        self.until(lambda: not self.stopped(), "the trainer stays stopped")  # when the lease is over
        self.assertEqual(self.main_pid(), before, "the watchdog came first")
        self.until(lambda: self.main_pid() not in (0, before), "systemd does not restart it")
        self.says("Watchdog timeout", since)
        self.until(self.stopped, "the new daemon does not stop the trainer")
        systemctl("stop", UNIT)
        self.until(lambda: not self.stopped(), "the trainer stays stopped")
        self.assertEqual((trainer.poll(), server.poll()), (None, None))


class Swap(OnNvidia):
    """`swap =` of a rule: the helper that moves the memory of a process is started by the unit, with its restrictions."""

    def start_gpu(self):
        super().start_gpu()
        self.gpu["LD_LIBRARY_PATH"] = f"{HERE}/cuda"
        for name in ("server", "trainer"):
            shutil.copy(f"{HERE}/fake_target", f"{HERE}/{name}")

    def state(self, process):
        """2: its memory is in the host's; 0: on the GPU."""
        return int(self.ask(self.keeper, f"state{process.pid}"))

    def begin_swapped(self):
        self.config(f"[rule trainer]\nexecutable = {HERE}/trainer\nswap = after 10ms\n"
                    f"[rule strict]\nexecutable = {HERE}/server\nstrict = always\n")
        systemctl("start", UNIT)
        trainer, server = self.program(ALICE, "offline", "trainer"), self.program(BOB, "online", "server")
        self.until(lambda: self.state(trainer) == 2, "the trainer is not swapped out")
        self.until(lambda: self.jobs()["trainer"]["away"] == "swapped", "top does not show it")
        return trainer, server

    def test_out_and_back(self):
        trainer, server = self.begin_swapped()
        server.stdin.close()
        server.terminate()
        self.until(lambda: self.state(trainer) == 0, "the trainer is not swapped in")
        self.assertIsNone(trainer.poll())

    def test_the_end_of_the_daemon_brings_it_back(self):
        trainer, server = self.begin_swapped()
        systemctl("stop", UNIT)
        self.until(lambda: self.state(trainer) == 0, "the trainer is not swapped in")
        self.assertEqual((trainer.poll(), server.poll()), (None, None))
        systemctl("start", UNIT)
        self.until(lambda: self.state(trainer) == 2, "the next daemon does not swap it out")


def main():
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names, sys.modules[__name__]) if names else loader.loadTestsFromModule(sys.modules[__name__])
    start, failed, number = time.monotonic(), 0, 0
    print(f"1..{suite.countTestCases()}", flush=True)
    for case in flatten(suite):
        number += 1
        result = unittest.TestResult()
        begun = time.monotonic()
        case.run(result)
        problems = result.failures + result.errors
        failed += bool(problems)
        note = f" # SKIP {result.skipped[0][1]}" if result.skipped else ""
        print(f"{'not ok' if problems else 'ok'} {number} - {case.id().split('.', 1)[1]}{note}\n"
              f"# {time.monotonic() - begun:.1f} s", flush=True)
        for _, text in problems:
            print("# " + text.replace("\n", "\n# "), flush=True)
    print(f"# {time.monotonic() - start:.0f} s in all")
    return failed != 0


def flatten(suite):
    for item in suite:
        yield from flatten(item) if isinstance(item, unittest.TestSuite) else [item]


if __name__ == "__main__":
    sys.exit(main())
