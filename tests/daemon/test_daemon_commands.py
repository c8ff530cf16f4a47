# SPDX-License-Identifier: MIT
"""why, log, stats, top and config as a person runs them, with a daemon without clients and with none."""
import errno
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
GPREEMPTD = os.path.join(BIN, "gpreemptd")
HOLDER = os.path.join(BIN, "gpreempt-holder")
LIMIT = 60
HEADER = struct.Struct("=HHIIi")  # version, type, size, serial, status: the same in every version
HELLO = 1


class Commands(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpc")
        self.env = dict(os.environ, LC_ALL="C.UTF-8", GPREEMPT_DIR=self.place)
        self.env.pop("LANGUAGE", None)
        self.daemon = None

    def tearDown(self):
        if self.daemon:
            if self.daemon.poll() is None:
                self.daemon.terminate()
            self.daemon.wait(LIMIT)
            self.daemon.stderr.close()
        shutil.rmtree(self.place)

    def run_it(self, program, *arguments):
        return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.env, timeout=LIMIT)

    def gpreempt(self, *arguments):
        return self.run_it(GPREEMPT, *arguments)

    def file(self, text):
        path = os.path.join(self.place, "conf")
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, *arguments):
        self.begin(lambda: self.gpreempt("stats").returncode == 0, GPREEMPTD, *arguments)

    def begin(self, answers, *command):
        """Starts it and waits until it answers."""
        self.daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=self.env)
        deadline = time.monotonic() + LIMIT
        while not answers():
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(self.daemon.poll())
            time.sleep(0.02)

    def test_without_a_daemon_they_say_how_to_start_it(self):
        for command in (("why", "1"), ("log",), ("stats",), ("top", "--once"), ("config", "reload")):
            done = self.gpreempt(*command)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("gpreemptd is not running; start it with 'gpreemptd'", done.stderr)

    def test_a_directory_that_cannot_be_made_is_named_with_the_reason(self):
        """Not as one of root, and not as a lack of descriptors."""
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        os.chmod(self.place, 0o711)
        os.mkdir(os.path.join(self.place, "closed"), 0o555)
        for path, reason in (("none/sockets", "No such file or directory"), ("closed/sockets", "Permission denied")):
            self.env["GPREEMPT_DIR"] = os.path.join(self.place, path)
            for command in ((GPREEMPTD,), (GPREEMPT, "renice", "online", str(os.getpid()))):
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env,
                                      timeout=LIMIT, cwd="/", **nobody)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(f"cannot use the socket directory {self.env['GPREEMPT_DIR']}: {reason}", done.stderr)
                self.assertNotIn("root", done.stderr)

    def test_the_daemon_says_which_process_ended_it(self):
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        self.daemon.terminate()
        self.assertIn(f"exiting: signal {signal.SIGTERM:d} from process {os.getpid()}\n", self.daemon.communicate(timeout=LIMIT)[1])
        self.assertEqual(self.daemon.returncode, 0)

    def test_an_interrupt_from_the_terminal_names_no_process(self):
        daemon, terminal = pty.fork()
        if daemon == 0:
            os.execve(GPREEMPTD, [GPREEMPTD, "--observe", "--config", "/dev/null"], self.env)
        status = None
        try:
            deadline = time.monotonic() + LIMIT
            while self.gpreempt("stats").returncode:
                self.assertLess(time.monotonic(), deadline)
            os.write(terminal, b"\x03")
            status = os.waitpid(daemon, 0)[1]
            self.assertEqual(status, 0)
            self.assertIn(b"exiting: signal 2\r\n", os.read(terminal, 65536))
        finally:
            if status is None:
                os.kill(daemon, signal.SIGKILL)
                os.waitpid(daemon, 0)
            os.close(terminal)

    def test_an_old_command_is_refused_in_its_own_version(self):
        """A version 1 header is all that an old gpreempt can read: the refusal has it, and a sentence."""
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as old:
            old.settimeout(LIMIT)
            old.connect(os.path.join(self.place, "gpreemptd.sock"))
            hello = struct.pack("=IIIIQ64s64s", os.getpid(), 0, 0, 0, 0, b"", b"gpreempt")
            old.send(HEADER.pack(1, HELLO, HEADER.size + len(hello), 7, 0) + hello)
            answer = old.recv(65536)
            self.assertEqual(HEADER.unpack_from(answer), (1, HELLO, len(answer), 7, -errno.EPROTONOSUPPORT))
            self.assertRegex(answer[HEADER.size:].split(b"\0")[0].decode(),
                             r"^gpreempt \S+ uses protocol version \d+, but this program uses version 1; "
                             "restart the older program$")
            self.assertEqual(old.recv(65536), b"")  # and the connection ends
        self.assertEqual(self.gpreempt("stats").returncode, 0)

    def test_a_daemon_of_another_version_is_named_as_such(self):
        """One that answers in its own version, and version 1, which closes what it cannot read."""
        for answer in (HEADER.pack(1, HELLO, HEADER.size, 1, -errno.EPROTO), b""):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as old:
                path = os.path.join(self.place, "gpreemptd.sock")
                old.settimeout(LIMIT)
                old.bind(path)
                old.listen()
                command = subprocess.Popen([GPREEMPT, "stats"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                           text=True, env=self.env)
                peer = old.accept()[0]
                with peer:
                    self.assertEqual(HEADER.unpack_from(peer.recv(65536))[1], HELLO)
                    if answer:
                        peer.send(answer)
                said = command.communicate(timeout=LIMIT)
                os.unlink(path)
            self.assertEqual(command.returncode, 1)
            self.assertEqual(said[0], "")
            self.assertIn("different version", said[1])
            self.assertIn("restart it", said[1])

    def test_a_stopped_daemon_is_named_as_such_and_not_waited_for(self):
        """Without that, each would end only after its whole timeout; the words are what is asserted, not the time."""
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        os.kill(self.daemon.pid, signal.SIGSTOP)
        try:
            for command in (("top", "--once"), ("stats",), ("log",), ("why", "1"), ("stats", "--jobs")):
                done = self.gpreempt(*command)
                self.assertEqual((done.returncode, done.stdout), (1, ""), command)
                self.assertEqual(done.stderr, f"gpreempt {command[0]}: gpreemptd (pid {self.daemon.pid}) is stopped and "
                                              f"cannot answer; 'kill -CONT {self.daemon.pid}' continues it\n")
            self.assertIn(f"gpreemptd (pid {self.daemon.pid}) does not answer", self.gpreempt("ps").stderr)
        finally:
            os.kill(self.daemon.pid, signal.SIGCONT)
        self.assertEqual(self.gpreempt("top", "--once").returncode, 0)

    def test_a_user_that_does_not_exist_is_an_error(self):
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        done = self.gpreempt("stats", "--user", "no-such-user")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("there is no user 'no-such-user'", done.stderr)
        for user in ("root", "12345"):
            self.assertEqual(self.gpreempt("stats", "--user", user).returncode, 0)

    def restart(self):
        """As systemctl does it, with a moment in which there is none."""
        self.daemon.terminate()
        self.daemon.wait(LIMIT)
        self.daemon.stderr.close()
        self.start("--config", self.file("[daemon]\nmode = observe\n"))

    def test_what_is_followed_or_watched_goes_on_after_a_restart(self):
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        before = self.daemon.pid
        commands = (("log", "--follow"), ("stats", "--watch=100ms"), ("stats", "--jobs", "--watch=100ms"),
                    ("top", "-b", "-d", "100ms"), ("stats", "--watch=100ms", "--json"))
        outputs = [tempfile.TemporaryFile() for _ in commands]
        children = [subprocess.Popen([GPREEMPT, *command], stdout=output, stderr=subprocess.PIPE, text=True, env=self.env)
                    for command, output in zip(commands, outputs)]
        try:
            # Each has an answer; the first has no lines to print, and waits for them or a signal.
            self.until(lambda: "anon_inode:[signalfd]" in self.descriptors(children[0].pid))
            for output in outputs[1:]:
                self.until(lambda file=output: os.fstat(file.fileno()).st_size)
            self.restart()
            for child, command in zip(children, commands):
                said = ""
                while "restarted (pid" not in said:
                    line = child.stderr.readline()
                    self.assertTrue(line, (command, said))
                    said += line
                self.assertIn(f"gpreemptd restarted (pid {self.daemon.pid}", said, command)
                self.assertIsNone(child.poll(), command)
                self.assertNotEqual(before, self.daemon.pid)
                child.send_signal(signal.SIGINT)
                self.assertIn(child.wait(LIMIT), (0, -signal.SIGINT), command)
        finally:
            for child in children:
                child.kill()
                child.wait(LIMIT)
                child.stderr.close()
            for output in outputs:
                output.close()

    def test_follow_says_once_that_the_next_daemon_is_a_different_version(self):
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        child = subprocess.Popen([GPREEMPT, "log", "--follow"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.env)
        try:
            self.until(lambda: "anon_inode:[signalfd]" in self.descriptors(child.pid))
            self.daemon.terminate()
            self.daemon.wait(LIMIT)
            path = os.path.join(self.place, "gpreemptd.sock")
            if os.path.exists(path):
                os.unlink(path)
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
                other.settimeout(LIMIT)
                other.bind(path)
                other.listen()
                for _ in range(5):
                    other.accept()[0].close()
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=LIMIT)[1]
        finally:
            child.kill()
            child.wait(LIMIT)
        self.assertEqual(said.count("gpreemptd closed the connection; it may be a different version"), 1, said)

    def test_follow_ends_when_nobody_reads_its_output(self):
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        child = subprocess.Popen([GPREEMPT, "log", "--follow"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self.env)
        child.stdout.close()
        self.assertEqual(child.wait(LIMIT), -signal.SIGPIPE)

    @staticmethod
    def descriptors(pid):
        """What they are, as far as they still are there."""
        names = []
        for number in os.listdir(f"/proc/{pid}/fd"):
            try:
                names.append(os.readlink(f"/proc/{pid}/fd/{number}"))
            except FileNotFoundError:
                pass
        return names

    def until(self, condition):
        deadline = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_an_idle_daemon_is_shown(self):
        self.start("--config", self.file("[daemon]\nmode = observe\n"))
        shown = self.gpreempt("top", "--once").stdout
        self.assertIn("0 jobs, 0 would be held", shown)
        self.assertIn("WOULD BE HELD", shown)
        self.assertIn("would be held: 0", self.gpreempt("stats").stdout)
        jobs = self.gpreempt("stats", "--jobs").stdout
        self.assertIn("WOULD BE HELD", jobs)
        self.assertIn("mode act would have held them", jobs)
        self.assertEqual(json.loads(self.gpreempt("top", "--json").stdout)["mode"], "observe")
        self.assertEqual(json.loads(self.gpreempt("stats", "--json").stdout)["jobs"], 0)
        self.assertEqual(self.gpreempt("log").stdout, "")
        for command in (("log", "999999"), ("log", "--json", "999999"), ("why", "999999")):
            done = self.gpreempt(*command)
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn("gpreemptd does not know process 999999", done.stderr)
        done = self.gpreempt("why", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpreemptd does not know process 1", done.stderr)

    def test_systemd_is_told_that_it_is_ready_alive_reloading_and_ending(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(os.path.join(self.place, "notify"))
            systemd.settimeout(LIMIT)
            self.env.update(NOTIFY_SOCKET=systemd.getsockname(), WATCHDOG_USEC="300000")
            self.daemon = subprocess.Popen([GPREEMPTD, "--config", self.file("[daemon]\nmode = observe\n")],
                                           stderr=subprocess.PIPE, text=True, env=self.env)

            def told(what):
                """What comes until that does."""
                said = []
                while not said or what not in said[-1]:
                    said.append(systemd.recv(4096).decode().splitlines())
                return said[:-1]

            self.assertLessEqual({line for lines in told("READY=1") for line in lines}, {"WATCHDOG=1"})
            # It goes on saying so, not only once.
            for _ in range(3):
                self.assertEqual(told("WATCHDOG=1"), [])
            self.daemon.send_signal(signal.SIGHUP)
            self.assertLessEqual({line for lines in told("RELOADING=1") for line in lines}, {"WATCHDOG=1"})
            self.assertLessEqual({line for lines in told("READY=1") for line in lines}, {"WATCHDOG=1"})
            self.daemon.terminate()
            self.assertLessEqual({line for lines in told("STOPPING=1") for line in lines}, {"WATCHDOG=1"})
            self.assertEqual(self.daemon.wait(LIMIT), 0)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
    def test_the_unit_is_one(self):
        data = os.path.join(os.path.dirname(BIN), "data", "gpreemptd.service")
        path = os.path.join(self.place, "gpreemptd.service")
        with open(data) as unit, open(path, "w") as out:
            # What it will be once installed, run from here.
            out.write(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=" + GPREEMPTD, unit.read()))
        done = self.run_it("systemd-analyze", "verify", "--man=no", path)
        if "Failed to" in done.stderr and path not in done.stderr:
            self.skipTest(done.stderr.strip())  # no systemd to ask in this container
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_second_daemon_is_refused(self):
        self.start()
        done = self.run_it(GPREEMPTD)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"another gpreemptd already serves {self.place}", done.stderr)

    @unittest.skipIf(os.geteuid() != 0, "another user is needed to be one")
    def test_without_inotify_instances_the_limit_is_named(self):
        # The limit of a user namespace is ours to set.
        script = 'echo 0 > /proc/sys/user/max_inotify_instances || exit 77; exec "$0" --config "$1"'
        done = self.run_it("unshare", "--user", "--map-root-user", "sh", "-c", script, GPREEMPTD, self.file(""))
        if done.returncode == 77 or "unshare" in done.stderr:
            self.skipTest("no user namespaces")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("fs.inotify.max_user_instances", done.stderr)

    def test_an_agent_that_listened_as_another_user_than_its_process_is_left_alone(self):
        """As when a process that listened has ended and its number is another user's."""
        self.start()
        for uid, said in ((65534, b""), (0, b"gpreemptd")):
            path = os.path.join(self.place, "agents", f"{os.getpid()}-{uid}")
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.settimeout(LIMIT)
                listener.bind(path)
                os.seteuid(uid)
                listener.listen()
                os.seteuid(0)
                os.rename(path, path + ".sock")
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(LIMIT)
                    self.assertIn(said, connection.recv(4096))
                    if not said:
                        self.assertEqual(connection.recv(4096), b"")
            os.unlink(path + ".sock")

    def loses_its_directory(self, status):
        shutil.rmtree(self.place)
        try:
            self.assertEqual(self.daemon.wait(LIMIT), status)
            self.assertRegex(self.daemon.stderr.read(), "(?m)^gpreempt(d|-holder): the socket directory was removed")
            self.assertFalse(os.path.exists(self.place))
        finally:
            os.makedirs(self.place, exist_ok=True)

    def test_a_daemon_whose_directory_is_removed_ends(self):
        self.start()
        self.loses_its_directory(1)  # a failure to whoever would start it again

    def test_a_holder_whose_directory_is_removed_ends(self):
        self.begin(lambda: json.loads(self.gpreempt("status", "--json").stdout)["holder"],
                   HOLDER, "--foreground", "--idle", "0")
        self.loses_its_directory(0)

    def test_reload_keeps_the_old_file_when_the_new_one_is_wrong(self):
        path = self.file("[daemon]\nmode = observe\n")
        self.start("--config", path)
        self.assertEqual(self.gpreempt("config", "reload").returncode, 0)
        self.file("[daemon]\nmode = observer\n")
        done = self.gpreempt("config", "reload")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the old one stays in effect", done.stderr)
        self.daemon.terminate()
        said = self.daemon.stderr.read()
        self.assertEqual(self.daemon.wait(LIMIT), 0)
        self.assertIn(f"{path}:2: mode: invalid value 'observer'; use observe, act", said)

    def test_check_names_file_line_and_fix(self):
        done = self.gpreempt("config", "check", self.file("[daemon]\nmode = act\n[rule x]\nuser = a\nclas = online\n"))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^gpreempt config: \S*conf:5: unknown key 'clas' in \[rule x\]; "
                                      r"did you mean 'class'\?\n")
        done = self.gpreempt("config", "check", self.file("[daemon]\nmode = act\n"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("valid; mode act", done.stdout)
        self.assertEqual(self.gpreempt("config", "check", "/no/such").returncode, 1)

    def test_bad_usage_is_2_and_says_why(self):
        for arguments, said in ((("why",), "specify one process"), (("why", "x"), "'x'"), (("log", "x"), "'x'"),
                                (("log", "--lines", "x"), "'x'"), (("stats", "x"), "'x'"), (("top", "x"), "'x'"),
                                (("top", "--sort", "x"), "'x'"), (("config",), "check FILE"),
                                (("config", "check"), "check FILE"),
                                (("log", "--perfetto", "f", "--json"), "can be combined only with --follow")):
            done = self.gpreempt(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.run_it(GPREEMPTD, "--no-such").returncode, 2)
        done = self.run_it(GPREEMPTD, "--act", "--observe")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--act and --observe cannot be combined", done.stderr)
        self.assertEqual(self.run_it(GPREEMPTD, "extra").returncode, 2)
        self.assertEqual(self.run_it(GPREEMPTD, "--config", "/no/such").returncode, 2)

    def test_output_that_cannot_be_written_is_said(self):
        path = self.file("[daemon]\nmode = act\n")
        for command in ((GPREEMPTD, "--version"), (GPREEMPTD, "--help"), (GPREEMPTD, "--check", path),
                        (GPREEMPT, "config", "check", path)):
            with open("/dev/full", "w") as full:
                done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=self.env,
                                      timeout=LIMIT)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("cannot write the output: No space left on device", done.stderr)

    def test_levels_are_for_the_journal_only(self):
        # The variable is inherited by what a service starts, wherever that writes to.
        path = os.path.join(self.place, "said")
        for ours in (False, True):
            with open(path, "w") as said:
                place = os.fstat(said.fileno())
                self.env["JOURNAL_STREAM"] = f"{place.st_dev}:{place.st_ino + (not ours)}"
                subprocess.run([GPREEMPTD, "--check", "/no/such"], stderr=said, env=self.env, timeout=LIMIT)
            with open(path) as said:
                self.assertTrue(said.read().startswith("<3>gpreemptd: " if ours else "gpreemptd: "))

    def test_it_explains_itself(self):
        self.assertIn("--config", self.run_it(GPREEMPTD, "--help").stdout)
        self.assertRegex(self.run_it(GPREEMPTD, "--version").stdout, r"^gpreemptd \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
