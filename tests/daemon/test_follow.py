# SPDX-License-Identifier: MIT
"""GPU work follows the host's stop, and is held by name, on the virtual GPU: what stops is suspended, what continues
runs on and loses nothing."""
import os
import signal
import socket
import struct
import sys
import time
import unittest

import test_gpreemptd as rig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agent"))
import agentwire as wire

FREEZER = "/sys/fs/cgroup/freezer"
FOLLOW = rig.ACT + "[rule all]\nexecutable = *\nfollow_stop = yes\n"
HOLD = 139  # GP_MSG_DAEMON_HOLD


class Owner:
    """Asks gpreemptd to hold groups by name, as Slurm's plugin does."""

    def __init__(self, sockets):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(rig.LIMIT)
        self.socket.connect(os.path.join(sockets, "gpreemptd.sock"))
        self.serial = 0
        self.ask(wire.HELLO, wire.HELLO_BODY.pack(os.getpid(), 0, 0, 0, 0, b"", b"owner"))

    def ask(self, kind, body):
        self.serial += 1
        self.socket.send(wire.HEADER.pack(wire.VERSION, kind, wire.HEADER.size + len(body), self.serial, 0) + body)
        while True:
            answer = self.socket.recv(65536)
            _, _, _, serial, status = wire.HEADER.unpack_from(answer)
            if serial == self.serial:
                return status, answer[wire.HEADER.size:]

    def hold(self, group, on=True):
        status, body = self.ask(HOLD, struct.pack("64s64sII", b"slurm", group.encode(), on, 0))
        return struct.unpack_from("II", body) if not status else status


class Follow(rig.Daemon):
    def setUp(self):
        super().setUp()
        self.gpreempt("vgpu", "stop")
        done = self.gpreempt("vgpu", "start", "--runtime-enable")
        self.assertEqual(done.returncode, 0, done.stderr)

    def trainer(self, *options):
        process = self.begin(rig.GPREEMPT, "run", "--class", "offline", *options, "--",
                             os.path.join(rig.EXAMPLES, "offline_trainer"), "--seconds", "1000")
        pid = self.until(self.only_job, "no job")["pid"]
        self.until(lambda: self.only_job()["busy_queues"], "the trainer has no work")
        self.addCleanup(self.continue_all, pid)
        return process, pid

    def only_job(self):
        jobs = self.json("top")["jobs"]
        return jobs[0] if jobs else None

    def continue_all(self, pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def is_off(self, pid):
        """As the machine itself has it: a stopped process answers nothing. An agent leaves queues that have rested for a
        second where they are, and stops them when they get work."""
        queues = [queue for process in self.json("vgpu", "status")["processes"] if process["pid"] == pid
                  for queue in process["queues"]]
        return (any(not queue["mapped"] for queue in queues) and
                not any(queue["mapped"] and queue["submitted"] > queue["completed"] for queue in queues))

    def was(self, how, pid):
        """By the record of a moment ago."""
        at = time.strftime("%Y-%m-%d %H:%M:%S")
        said = self.gpreempt("why", "--at", at, str(pid)).stdout
        return f"At {at} it was {how}, since " in said and self.json("why", "--at", at, str(pid))["held_at"]

    def kept(self):
        return self.only_job()["kept"] == "held"

    def goes_on(self, pid, message):
        self.until(lambda: not self.kept() and not self.is_off(pid), message)
        before = self.only_job()["ran_ns"]
        self.until(lambda: self.only_job()["ran_ns"] > before, message)

    def test_a_stopped_process_is_suspended_as_well_and_runs_when_it_is_continued(self):
        self.daemon(FOLLOW)
        process, pid = self.trainer()
        for _ in range(2):
            os.kill(pid, signal.SIGSTOP)
            self.until(lambda: self.kept() and self.is_off(pid), "its GPU work goes on")
            self.assertRegex(self.gpreempt("top", "--once").stdout, rf"(?m)^ *{pid} .* held ")
            self.assertIn("Its GPU work is suspended until then.", self.gpreempt("why", str(pid)).stdout)
            os.kill(pid, signal.SIGCONT)
            self.goes_on(pid, "it is not resumed")
        self.assertEqual(self.gpreempt("log").stdout.count("suspended as well"), 2)
        self.assertIsNone(process.poll())

    @unittest.skipUnless(os.access(FREEZER, os.W_OK), "no freezer of cgroup v1, or not for this user")
    def test_a_frozen_process_is_suspended_as_well(self):
        group = os.path.join(FREEZER, f"gpreempt-follow-{os.getpid()}")
        self.daemon(FOLLOW)
        _, pid = self.trainer()
        os.mkdir(group)
        try:
            self.put(group, "cgroup.procs", str(pid))
            self.put(group, "freezer.state", "FROZEN")
            self.until(lambda: self.kept() and self.is_off(pid), "its GPU work goes on")
            self.put(group, "freezer.state", "THAWED")
            self.goes_on(pid, "it is not resumed")
        finally:
            self.put(group, "freezer.state", "THAWED")
            self.put(FREEZER, "cgroup.procs", str(pid))
            os.rmdir(group)

    def put(self, group, name, text):
        with open(os.path.join(group, name), "w") as file:
            file.write(text)

    def test_a_hold_by_name_survives_the_stop_of_the_process(self):
        daemon = self.daemon(rig.ACT.replace("lease = 10s", "lease = 1s"))
        _, pid = self.trainer("--group", "slurm-17")
        self.until(lambda: self.only_job()["ran_ns"] > 2_000_000_000, "it does not run")  # queues that rest by then are left on
        owner = Owner(self.sockets)
        self.assertEqual(owner.hold("slurm-17"), (1, 1))
        # On a busy host its agent may be late for the lease, resume, and be asked again.
        self.until(lambda: self.kept() and self.is_off(pid), "its GPU work goes on")
        self.assertIn("It has been held by slurm", self.gpreempt("why", str(pid)).stdout)
        self.assertRegex(self.gpreempt("top", "--once").stdout, rf"(?m)^ *{pid} .* by slurm ")
        self.until(lambda: self.was("held by slurm", pid), "the record does not say that it was held")
        # On a busy host it is not held for an instant, and there is nothing to say.
        self.until(lambda: "still held by slurm; only slurm can end that hold" in self.gpreempt("resume", str(pid)).stderr,
                   "gpreempt resume does not name the owner")
        os.kill(pid, signal.SIGSTOP)
        self.until(self.kept, "it was asked again when it was stopped, and is left alone")
        # The holder gives up an agent that does not answer for five seconds.
        until = time.monotonic() + 7
        while time.monotonic() < until:
            self.assertTrue(self.kept(), self.gpreempt("log", "--all").stdout)
            time.sleep(0.2)
        os.kill(pid, signal.SIGCONT)
        self.until(lambda: self.kept() and self.is_off(pid), "it runs although it is held")
        owner.hold("slurm-17", False)
        self.goes_on(pid, "it is not resumed")

        # The end of the owner, and the end of the daemon, are the end of the hold.
        self.assertEqual(owner.hold("slurm-17"), (1, 1))
        owner.socket.close()
        self.goes_on(pid, "the owner has ended")
        owner = Owner(self.sockets)
        self.assertEqual(owner.hold("slurm-17"), (1, 1))
        os.kill(self.json("top")["pid"], signal.SIGKILL)
        daemon.wait(rig.LIMIT)
        self.daemon(rig.ACT)
        self.until(self.only_job, "the new daemon does not know it")
        self.goes_on(pid, "the daemon has ended")
        owner.socket.close()


if __name__ == "__main__":
    unittest.main()
