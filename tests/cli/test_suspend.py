# SPDX-License-Identifier: MIT
"""suspend, resume, status, renice and release as a person runs them, against a holder of a few lines."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from gp import GPREEMPT, run

LIMIT = 60


class Commands(unittest.TestCase):
    """Each test has its own directory of sockets, a process to act on, and leaves no holder."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gps")
        self.env = dict(os.environ, LC_ALL="C.UTF-8", GPREEMPT_DIR=self.place,
                        GPREEMPT_HOLDER=os.environ["FAKE_HOLDER_PROGRAM"], FAKE_HOLDER_STAYS="1")
        self.env.pop("LANGUAGE", None)
        self.keepers = []
        self.target = subprocess.Popen(["sleep", "infinity"])
        self.pid = str(self.target.pid)

    def tearDown(self):
        for process in self.keepers + [self.target]:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT)
            if process.stdout:
                process.stdout.close()
        holder = self.holder()
        if holder:
            try:
                fd = os.pidfd_open(holder)
            except ProcessLookupError:
                fd = -1
            if fd >= 0:
                try:
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                self.wait_for_end(fd)
        shutil.rmtree(self.place)

    def wait_for_end(self, fd):
        import select
        ready = select.select([fd], [], [], LIMIT)[0]
        os.close(fd)
        self.assertTrue(ready, "the holder did not end")

    def holder(self):
        """The pid of the running holder, or None."""
        try:
            with open(os.path.join(self.place, "holder.lock")) as file:
                pid = int(file.read() or 0)
            with open(f"/proc/{pid}/comm") as file:
                return pid if file.read().strip() == "fake_holder" else None
        except (FileNotFoundError, ProcessLookupError):
            return None

    def until_state(self, letter):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            with open(f"/proc/{self.pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == letter:
                    return
            time.sleep(0.01)
        self.fail(f"the target is never in state {letter}")

    def stop_target(self):
        self.target.send_signal(signal.SIGSTOP)
        self.until_state("T")

    def command(self, *arguments, **env):
        return run(GPREEMPT, *arguments, env=dict(self.env, **env))

    def keep(self, *arguments):
        """A `gpreempt suspend` that holds its target; its first line of JSON."""
        keeper = subprocess.Popen([GPREEMPT, "suspend", "--json", "--lease", "1h", *arguments],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)
        self.keepers.append(keeper)
        first = json.loads(keeper.stdout.readline())
        self.assertEqual(first["event"], "suspended")
        return keeper, first

    def start(self, *command, **env):
        process = subprocess.Popen(command, env=dict(self.env, **env))
        self.keepers.append(process)
        return str(process.pid)

    def until_runs(self, pid, name):
        """`gpreempt run` has become the program, with the environment that it gives it."""
        deadline = time.monotonic() + LIMIT
        while pathlib.Path("/proc", pid, "comm").read_text() != name + "\n":
            self.assertLess(time.monotonic(), deadline, f"not {name} yet")
            time.sleep(0.01)

    def events(self, keeper):
        """What a keeper still says, and how it ends."""
        out = keeper.communicate(timeout=LIMIT)[0]
        return [json.loads(line)["event"] for line in out.splitlines() if line.startswith("{")], keeper.returncode


class Suspend(Commands):
    def test_ctrl_c_lets_go(self):
        # The last is what `gpreempt resume` sends, here by hand, and so without the id of a queue.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGRTMIN + 5):
            keeper, first = self.keep(self.pid)
            self.assertEqual((first["pid"], first["queues"]), (int(self.pid), 3))
            keeper.send_signal(number)
            self.assertEqual(self.events(keeper), (["resumed"], 0))

    def test_for_ends_by_itself(self):
        done = self.command("suspend", self.pid, "--for", "20ms", "--lease", "1h")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"^process {self.pid}: 3 queues suspended\n"
                                      rf"process {self.pid}: 3 queues resumed after [0-9.]+ s\n$")

    def test_the_working_directory_does_not_decide_which_holder_runs(self):
        bad, marker = os.path.join(self.place, "bad"), os.path.join(self.place, "marker")
        os.mkdir(bad)
        for name in ("gpreempt", "gpreempt-holder"):
            with open(os.path.join(bad, name), "w") as file:
                file.write(f"#!/bin/sh\n: > {marker}\n")
            os.chmod(os.path.join(bad, name), 0o755)
        env = dict(self.env, PATH=os.path.dirname(GPREEMPT))
        del env["GPREEMPT_HOLDER"]
        done = subprocess.run(["gpreempt", "suspend", self.pid, "--for", "10ms"], env=env, cwd=bad, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
        self.assertFalse(os.path.exists(marker), done.stdout)

    def test_swapping_needs_a_driver_that_can(self):
        done = self.command("suspend", self.pid, "--swap", "--for", "20ms")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "--swap needs an NVIDIA GPU: the driver of process [0-9]+ has no call that moves "
                                      "its GPU memory")

    def test_one_that_ends_says_who_else_holds(self):
        other, _ = self.keep(self.pid)
        done = self.command("suspend", self.pid, "--for", "20ms", "--lease", "1h")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, rf"process {self.pid}: released after [0-9.]+ s; still suspended by process {other.pid}\n$")
        done = self.command("suspend", self.pid, "--for", "20ms", "--lease", "1h", "--json")
        last = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((last["event"], last["owner_pid"]), ("let_go", other.pid))

    def test_a_stopped_process_is_said_to_be_stopped(self):
        stopped = "is stopped and cannot answer until it continues"
        done = self.command("suspend", self.pid, FAKE_HOLDER_MUTE="1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertNotIn(stopped, done.stderr)
        self.stop_target()
        done = self.command("suspend", self.pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"process {self.pid} {stopped}", done.stderr)

    def on_a_virtual_gpu(self):
        process = subprocess.Popen(["sleep", "infinity"], env=dict(os.environ, GPREEMPT_VGPU="/tmp/machine"))
        self.keepers.append(process)
        return str(process.pid)

    def test_a_process_on_a_virtual_gpu_is_said_to_be_there(self):
        pid = self.on_a_virtual_gpu()
        for command in (("suspend", pid), ("renice", "7", pid), ("status", pid), ("resume", pid), ("release", pid)):
            done = self.command(*command, FAKE_HOLDER_REFUSES="1")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(f"process {pid} runs on a virtual GPU", done.stderr)
            self.assertIn("GPREEMPT_VGPU=/tmp/machine gpreempt vgpu -- gpreempt " + " ".join(command), done.stderr)
        done = self.command("suspend", pid, GPREEMPT_VGPU="/tmp/machine")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the holder was built without this mechanism", done.stderr)

    def test_one_with_an_agent_is_stopped_wherever_it_runs(self):
        pid = self.on_a_virtual_gpu()
        for command in (("suspend", pid, "--for", "20ms"), ("renice", "7", pid)):
            done = self.command(*command)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)

    def test_verbose_says_how_and_why(self):
        done = self.command("suspend", self.pid, "--for", "20ms", "--lease", "1h", "--verbose")
        self.assertIn("mechanism kfd-debug: a debug session (DBG_TRAP) can suspend the process", done.stderr)
        self.assertRegex(done.stderr, r"took [0-9.]+ us")

    def test_copy_engines_are_no_choice_where_they_are_queues(self):
        done = self.command("suspend", self.pid, "--for", "20ms", "--lease", "1h", "--copy-engines")
        self.assertEqual(done.returncode, 0)
        self.assertIn("has no effect with kfd-debug", done.stderr)
        self.assertIn("3 queues suspended", done.stdout)
        done = self.command("suspend", self.pid, "0", "--copy-engines")
        self.assertEqual(done.returncode, 2)

    def test_named_queues_only(self):
        keeper, first = self.keep(self.pid, "0", "2")
        self.assertEqual(first["queues"], 2)
        for named in ((), ("0",)):
            self.assertIn(f"process {self.pid}: partly suspended for ", self.command("status", self.pid, *named).stdout)
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(self.events(keeper)[1], 0)
        done = self.command("suspend", self.pid, "5000", "--for", "20ms")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("one of the specified queues does not exist", done.stderr)

    def test_a_lost_lease_is_said_and_fails(self):
        done = self.command("suspend", "--group", "lose", "--json", "--lease", "1h")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lease lost", done.stderr)
        self.assertEqual([json.loads(line)["event"] for line in done.stdout.splitlines()],
                         ["suspended", "lease_lost"])

    def test_a_group_nobody_is_in_is_said(self):
        for command in (("status",), ("status", "--json"), ("renice", "5"), ("suspend",), ("suspend", "--json")):
            done = self.command(*command, "--group", "nobody")
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn("group 'nobody': no process of the group is running, or none has used the GPU yet", done.stderr)
        self.assertIn("--wait", done.stderr)

    def test_a_group_that_is_waited_for_is_said_at_once(self):
        keeper = subprocess.Popen([GPREEMPT, "suspend", "--group", "nobody", "--wait", "--lease", "1h"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)
        self.keepers.append(keeper)
        self.assertIn("group 'nobody': no process of the group is running, or none has used the GPU yet; waiting to suspend its processes as they start",
                      keeper.stdout.readline())
        self.assertIsNone(keeper.poll())
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.communicate(timeout=LIMIT)[0].count("nobody is here"), 0)
        self.assertEqual(keeper.returncode, 0)

    def test_the_lease_is_renewed(self):
        # The holder forgets one hold; only a renewal can find that out, as no event is sent.
        done = self.command("suspend", "--group", "forget", "--lease", "50ms")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lease lost", done.stderr)

    def test_the_holders_death_is_said_and_fails(self):
        keeper, _ = self.keep(self.pid)
        os.kill(self.holder(), signal.SIGKILL)
        self.assertEqual(self.events(keeper), (["lease_lost"], 1))

    def test_what_cannot_be_suspended_says_why(self):
        done = self.command("suspend", "--group", "refused")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("the holder was built without this mechanism", done.stderr)

    def test_the_reason_comes_before_the_command_for_another_virtual_gpu(self):
        pid = self.start("sleep", "infinity", GPREEMPT_VGPU="/somewhere")
        done = self.command("suspend", pid, "5000", "--for", "20ms", "--mechanism", "auto")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        reason, hint = done.stderr.splitlines()
        self.assertIn("one of the specified queues does not exist", reason)
        self.assertTrue(hint.startswith("gpreempt suspend: note: "), hint)
        self.assertIn(f"process {pid} runs on a virtual GPU", hint)
        command = hint.split("gpreempt vgpu -- gpreempt ")[1].split()
        self.assertEqual(sorted(command), sorted(["suspend", pid, "5000", "--for", "20ms", "--mechanism", "auto"]))
        done = self.command("release", pid)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"GPREEMPT_VGPU=/somewhere gpreempt vgpu -- gpreempt release {pid}", done.stderr)

    def test_a_program_that_has_not_reached_the_gpu_is_said_to_be_early(self):
        env = {name: value for name, value in self.env.items() if name != "GPREEMPT_HOLDER"}
        pid = self.start(GPREEMPT, "run", "--", "sleep", "infinity")
        self.until_runs(pid, "sleep")
        for command in (("suspend", pid), ("suspend", pid, "--for", "20ms"), ("status", pid)):
            done = run(GPREEMPT, *command, env=env)
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn(f"process {pid} was started with 'gpreempt run' but has not used the GPU yet", done.stderr)
        for mechanism in ("kfd-module", "nv-suspend"):
            done = run(GPREEMPT, "suspend", pid, "--mechanism", mechanism, env=env)
            self.assertIn(f"mechanism {mechanism} is not available for process {pid}: ", done.stderr)
            self.assertNotIn("try again", done.stderr)
        os.kill(int(pid), signal.SIGSTOP)
        while True:  # kill() returns before the process has stopped
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "T":
                    break
            time.sleep(0.001)
        done = run(GPREEMPT, "status", pid, env=env)
        os.kill(int(pid), signal.SIGCONT)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertTrue(done.stderr.startswith(f"gpreempt status: process {pid} is stopped and cannot answer"), done.stderr)
        done = run(GPREEMPT, "suspend", self.pid, env=env)
        self.assertIn(f"process {self.pid} was not started with 'gpreempt run'", done.stderr)
        with open(os.path.join(self.place, "holder.lock")) as file:
            fd = os.pidfd_open(int(file.read()))
        signal.pidfd_send_signal(fd, signal.SIGKILL)
        self.wait_for_end(fd)

    def test_a_process_that_does_not_exist_is_said(self):
        for command in (("suspend",), ("resume",), ("resume", "--json"), ("status",), ("release",), ("renice", "7")):
            done = self.command(*command, "2147483646")
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn("process 2147483646 does not exist", done.stderr)

    def test_a_directory_that_cannot_be_entered_is_not_an_empty_one(self):
        closed = os.path.join(self.place, "closed")
        os.mkdir(closed, 0o700)
        missing = os.path.join(self.place, "missing")
        os.chmod(self.place, 0o755)
        for place, user in ((missing, {}), (closed, {"user": 65534, "group": 65534, "extra_groups": []})):
            if user and os.geteuid() != 0:
                continue
            for command in (("status",), ("status", "--json"), ("release", "--all")):
                done = run(GPREEMPT, *command, env=dict(self.env, GPREEMPT_DIR=place), **user)
                self.assertEqual((done.returncode, done.stdout), (1, ""), (place, command))
                self.assertIn(f"cannot look for suspensions in {place}: ", done.stderr)

    def test_bad_usage(self):
        for arguments, said in ((("suspend",), "--group"), (("suspend", "x"), "'x'"),
                                (("suspend", self.pid, "-1"), "-1"), (("suspend", self.pid, "q"), "'q'"),
                                (("suspend", self.pid, "--for", "soon"), "'soon'"),
                                (("suspend", self.pid, "--for", "2h"), "'2h'"),
                                (("suspend", self.pid, "--lease", "10ms"), "'10ms'"),
                                (("suspend", self.pid, "--mechanism", "magic"), "'magic'"),
                                (("suspend", "--group", "a", self.pid), self.pid),
                                (("suspend", "--wait", self.pid), "--wait"), (("status", self.pid, "q"), "'q'"),
                                (("resume",), "process"), (("status", "x"), "'x'"),
                                (("renice", "70000", self.pid), "'70000'"), (("renice", "5"), "--group"),
                                (("release",), "--all"), (("release", "--all", self.pid), "--all"),
                                (("release", "--all", "--timeout", "never"), "'never'")):
            done = self.command(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(said, done.stderr)
        self.assertIsNone(self.holder())


class Resume(Commands):
    def test_ends_the_keeper(self):
        keeper, _ = self.keep(self.pid)
        done = self.command("resume", self.pid)
        self.assertEqual((done.returncode, done.stdout), (0, f"process {self.pid}: released\n"))
        self.assertEqual(self.events(keeper), (["resumed"], 0))

    def test_of_a_group_ends_the_keepers_of_its_processes(self):
        pair = [self.start("sleep", "infinity", GPREEMPT_GROUP="my pair") for _ in range(2)]
        keepers = [self.keep(pid)[0] for pid in pair]
        alone, _ = self.keep(self.pid)
        done = self.command("resume", "--group", "another")
        self.assertEqual((done.returncode, done.stdout), (0, "group 'another': not held by 'gpreempt suspend'\n"))
        done = self.command("resume", "--group", "my pair", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)),
                         (0, {"pid": None, "group": "my pair", "resumed": 2, "others": 0}))
        self.assertEqual([self.events(keeper) for keeper in keepers], [(["resumed"], 0)] * 2)
        self.assertIsNone(alone.poll())
        keepers = [self.keep(pid)[0] for pid in pair]
        done = self.command("release", "--group", "my pair")
        self.assertEqual((done.returncode, done.stdout), (0, "2 suspensions ended\n"))
        self.assertEqual([self.events(keeper)[1] for keeper in keepers], [1, 1])
        self.assertIsNone(alone.poll())
        for command in (("resume", "--group", "a", self.pid), ("release", "--group", "a", self.pid),
                        ("release", "--group", "a", "--all")):
            self.assertEqual(self.command(*command).returncode, 2, command)

    def test_of_one_queue_leaves_the_keeper(self):
        keeper, _ = self.keep(self.pid, "0", "1")
        done = self.command("resume", self.pid, "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), {"pid": int(self.pid), "group": None, "resumed": 1, "others": 0})
        self.assertEqual(json.loads(keeper.stdout.readline())["queue"], 1)
        self.assertIsNone(keeper.poll())
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(self.events(keeper), (["resumed"], 0))

    def test_of_what_nobody_holds_is_no_error(self):
        done = self.command("resume", self.pid)
        self.assertEqual(done.returncode, 0)
        self.assertIn("not held by 'gpreempt suspend'", done.stdout)
        self.assertIsNone(self.holder())

    def test_never_signals_a_program_that_is_no_keeper(self):
        # A stopped keeper has not blocked the signal any less; one whose mask lacks it is left alone.
        owner = subprocess.Popen([os.environ["HOLD_PROGRAM"], self.pid], stdout=subprocess.PIPE, text=True,
                                 env=self.env)
        self.keepers.append(owner)
        self.assertEqual(owner.stdout.readline(), "held\n")
        done = self.command("resume", self.pid)
        self.assertEqual(done.returncode, 0)
        self.assertIn(": still held by 1 other process", done.stderr)
        self.assertIsNone(owner.poll())


class OtherUsers(Commands):
    @unittest.skipIf(os.geteuid() != 0 or not shutil.which("setpriv"), "another user is needed to be one")
    def test_their_processes_are_said_to_be_theirs(self):
        if run("setpriv", "--reuid", "65534", "--clear-groups", GPREEMPT, "--version").returncode:
            self.skipTest("the build is not for others to read")
        for command in ("resume", "release"):
            with tempfile.TemporaryDirectory() as place:
                os.chown(place, 65534, 65534)
                done = run("setpriv", "--reuid", "65534", "--clear-groups", GPREEMPT, command, self.pid,
                           env=dict(self.env, GPREEMPT_DIR=place))
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn(f"process {self.pid} belongs to another user", done.stderr)


class Status(Commands):
    def test_a_user_reads_what_cannot_be_seen(self):
        """Only root may ask the holders of all users."""
        if os.geteuid() == 0:
            place = os.path.join(self.place, "own")
            os.mkdir(place, 0o700)
            os.chown(place, 65534, 65534)
            os.chmod(self.place, 0o711)
            user = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/"}
            done = run(GPREEMPT, "status", env=dict(self.env, GPREEMPT_DIR=place), **user)
            self.assertNotIn("visible", self.command("status").stdout)
        else:
            done = self.command("status")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("You hold nothing suspended.\n", done.stdout)
        self.assertIn("Suspensions by root and other users are not visible to you: 'sudo gpreempt status'", done.stdout)

    def test_without_a_holder_nothing_is_suspended_and_none_is_started(self):
        done = self.command("status")
        said = ("Nothing is suspended: no holder is running.\n" if os.geteuid() == 0 else "You hold nothing suspended.\n")
        self.assertEqual((done.returncode, done.stdout[:len(said)]), (0, said))
        self.assertEqual(json.loads(self.command("status", "--json").stdout),
                         {"holder": 0, "holds": [], "swapped": [], "all_users": os.geteuid() == 0})
        self.assertIsNone(self.holder())

    def test_lists_who_holds_what(self):
        keeper, _ = self.keep(self.pid)
        line = self.command("status").stdout.splitlines()[1].split()
        self.assertEqual((line[0], line[1], line[2]), (self.pid, "all", "kfd-debug"))
        self.assertEqual(line[3:5], [str(keeper.pid), "gpreempt"])
        hold = json.loads(self.command("status", "--json").stdout)["holds"][0]
        self.assertEqual((hold["pid"], hold["owner_pid"], hold["queues"]), (int(self.pid), keeper.pid, None))

    def test_of_a_process_lists_its_queues(self):
        done = self.command("status", self.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"process {self.pid}: running, priority 1000", done.stdout)
        self.assertIn("0x7f0000010000", done.stdout)
        result = json.loads(self.command("status", self.pid, "--json").stdout)
        self.assertEqual([queue["kfd_id"] for queue in result["queues"]], [0, 1, 2])
        self.assertEqual((result["mechanism"], result["suspended"], result["held_s"]), ("kfd-debug", False, None))
        self.assertIsNone(result["queues"][0]["read_index"])
        self.assertIsNone(result["queues"][0]["busy"])

    def test_of_named_queues_lists_them_alone(self):
        result = json.loads(self.command("status", self.pid, "2", "0", "--json").stdout)
        self.assertEqual([queue["kfd_id"] for queue in result["queues"]], [2, 0])
        done = self.command("status", self.pid, "1", "77")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"process {self.pid} has no queue with KFD id 77", done.stderr)


class Language(Commands):
    """The real holder, started by somebody who reads Chinese."""

    def setUp(self):
        super().setUp()
        del self.env["GPREEMPT_HOLDER"]
        self.served = subprocess.Popen([os.path.join(os.path.dirname(GPREEMPT), "gpreempt-holder"), "--foreground",
                                        "--idle", "0"], env=dict(self.env, LC_ALL="zh_CN.UTF-8"))
        self.keepers.append(self.served)
        deadline = time.monotonic() + LIMIT
        while not json.loads(self.command("status", "--json").stdout)["holder"]:  # no event tells that it listens
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(self.served.poll())

    def test_everybody_reads_it_in_their_own_language(self):
        english = self.command("suspend", self.pid)
        self.assertEqual(english.returncode, 1)
        self.assertIn(f"process {self.pid} was not started with 'gpreempt run', or has not used the GPU yet; ", english.stderr)
        chinese = self.command("suspend", self.pid, LC_ALL="zh_CN.UTF-8")
        self.assertEqual(chinese.returncode, 1)
        self.assertIn(f"进程 {self.pid} 不是用 'gpreempt run' 启动的", chinese.stderr)
        self.assertIsNone(self.served.poll())


class Run(unittest.TestCase):
    def deadline(self, text):
        done = run(GPREEMPT, "run", "--deadline", text, "--", "sh", "-c", "echo $GPREEMPT_DEADLINE_US")
        return done.stdout.strip() if done.returncode == 0 else done.returncode

    def test_a_deadline_has_a_unit(self):
        for text, microseconds in (("5ms", "5000"), ("500us", "500"), ("2s", "2000000"), ("1.5ms", "1500"), ("5 m", "300000000")):
            self.assertEqual(self.deadline(text), microseconds, text)
        for text in ("", "0", "5", "ms", "5x", "-1ms", "99999999999999999999", "9999999s", "999ns"):
            self.assertEqual(self.deadline(text), 2, text)


class Renice(Commands):
    def test_sets_the_priority_by_number_and_by_name(self):
        for given, number in (("7", 7), ("online", 2000), ("normal", 1000), ("default", 1000), ("offline", 500)):
            done = self.command("renice", given, self.pid)
            self.assertEqual((done.returncode, done.stdout), (0, f"process {self.pid}: priority {number}\n"))
            self.assertEqual(json.loads(self.command("status", self.pid, "--json").stdout)["priority"], number)


    def test_of_a_stopped_process_takes_effect_later_and_says_so(self):
        self.stop_target()
        done = self.command("renice", "7", self.pid, FAKE_HOLDER_MUTE="1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"process {self.pid}: priority 7 requested; it takes effect when the process continues\n")
        done = self.command("renice", "7", self.pid, "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["pending"]), (0, True))
        self.target.send_signal(signal.SIGCONT)
        self.until_state("S")
        done = self.command("renice", "7", self.pid)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("timed out", done.stderr)


class Release(Commands):
    def test_ends_every_suspension(self):
        keepers = [self.keep(self.pid)[0], self.keep(self.pid)[0]]
        done = self.command("release", "--all")
        self.assertEqual((done.returncode, done.stdout), (0, "2 suspensions ended\n"))
        for keeper in keepers:
            self.assertEqual(self.events(keeper), (["lease_lost"], 1))
        self.assertEqual(self.command("release", self.pid).stdout, "nothing was suspended\n")

    def test_without_a_holder_is_no_error(self):
        done = self.command("release", "--all", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout), {"released": 0, "holder_killed": False, "nvidia_processes": 0,
                                                   "swapped_in": 0})

    def test_ends_a_hung_holder(self):
        keeper, _ = self.keep(self.pid)
        holder = self.holder()
        fd = os.pidfd_open(holder)
        os.kill(holder, signal.SIGSTOP)
        done = self.command("release", "--all", "--timeout", "300ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"the holder (pid {holder}) did not answer and was killed", done.stderr)
        self.wait_for_end(fd)
        self.assertEqual(self.events(keeper), (["lease_lost"], 1))

    def test_ends_a_hung_holder_that_takes_no_connections(self):
        self.keep(self.pid)
        holder = self.holder()
        fd = os.pidfd_open(holder)
        os.kill(holder, signal.SIGSTOP)
        import socket
        full = []
        self.addCleanup(lambda: [one.close() for one in full])
        try:
            while len(full) < 10000:
                one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                one.setblocking(False)
                full.append(one)
                one.connect(os.path.join(self.place, "holder.sock"))
        except BlockingIOError:
            pass
        done = self.command("release", "--all", "--timeout", "300ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"the holder (pid {holder}) did not answer and was killed", done.stderr)
        self.wait_for_end(fd)


if __name__ == "__main__":
    unittest.main()
