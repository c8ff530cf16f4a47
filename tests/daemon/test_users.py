# SPDX-License-Identifier: MIT
"""A daemon of root's serves everybody: it finds and holds other users' programs, each of whom has a say in its own."""
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

import test_gpreemptd as rig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agent"))
import agentwire as wire  # here, because another user may not be able to read the modules of Python

USER, STRANGER = 65534, 65533


def may_be_another_user():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return False
    return subprocess.run(["setpriv", "--reuid", str(USER), "--clear-groups", rig.GPREEMPT, "--version"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless(may_be_another_user(), "another user is needed to be one")
class Everybody(rig.Daemon):
    """Root has the directory of sockets and the daemon; the user has the virtual machine, the programs and a
    holder of its own."""

    def setUp(self):
        super().setUp()
        os.chmod(self.place, 0o755)
        os.chmod(self.sockets, 0o755)
        for uid in (USER, STRANGER):
            os.mkdir(self.home(uid), 0o700)
            os.chown(self.home(uid), uid, uid)
        done = self.as_user("vgpu", "start")
        self.assertEqual(done.returncode, 0, done.stderr)

    def tearDown(self):
        for process in self.started:
            process.terminate()
            process.wait(rig.LIMIT)
        for uid in (USER, STRANGER):
            self.as_user("release", "--all", uid=uid)
        self.as_user("vgpu", "stop")
        self.until(lambda: not self.others_holders(), "a user's holder stays")
        super().tearDown()

    def others_holders(self):
        with open("/proc/net/unix") as lines:
            return [line for line in lines if self.place + "/home" in line and line.rstrip().endswith("holder.sock")]

    def begin(self, *command):
        """Root's processes use the user's machine, which is the one whose queues the daemon can check."""
        machine = dict(line.split("=", 1) for line in self.as_user("vgpu", "--", "env").stdout.splitlines()
                       if line.startswith(("GPREEMPT_VGPU", "LD_PRELOAD=")))
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env=dict(self.env, **machine))
        self.started.append(process)
        return process

    def home(self, uid):
        return os.path.join(self.place, f"home{uid}")

    def user(self, uid, *command):
        """A command line and its environment."""
        return {"args": ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *command],
                "env": dict(self.env, XDG_RUNTIME_DIR=self.home(uid), HOME=self.home(uid)), "cwd": "/", "text": True,
                "stdout": subprocess.PIPE}

    def as_user(self, *arguments, uid=USER):
        return subprocess.run(**self.user(uid, rig.GPREEMPT, *arguments), stderr=subprocess.PIPE, timeout=rig.LIMIT)

    def begin_as_user(self, *command):
        process = subprocess.Popen(**self.user(USER, *command), stderr=subprocess.STDOUT)
        self.started.append(process)

    def program(self, job_class, name, seconds):
        self.begin_as_user(rig.GPREEMPT, "vgpu", "--", rig.GPREEMPT, "run", "--class", job_class, "--",
                           os.path.join(rig.EXAMPLES, name), "--seconds", str(seconds))

    def test_roots_daemon_holds_a_users_program_and_the_user_has_a_say_in_it(self):
        self.daemon(rig.ACT)
        self.assertEqual(os.stat(os.path.join(self.sockets, "agents")).st_mode & 0o7777, 0o1777)
        self.program("online", "online_server", 600)
        self.program("offline", "offline_trainer", 600)
        job = self.job("offline_trainer")
        self.assertEqual(job["uid"], USER)
        self.held_again("offline_trainer")
        pid = str(job["pid"])

        done = self.as_user("renice", "700", pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.until(lambda: self.jobs()["offline_trainer"]["priority"] == 700, "the user's wish is not heard")
        done = self.as_user("renice", "60000", pid)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("exceeds your configured limits", done.stderr)
        done = self.as_user("renice", "600", pid, uid=STRANGER)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("belongs to another user", done.stderr)
        self.assertEqual(self.jobs()["offline_trainer"]["priority"], 700)

        # What the user stops is held by a holder of the user's own, away from root's.
        server = str(self.job("online_server")["pid"])
        self.begin_as_user(rig.GPREEMPT, "suspend", server, "--lease", "1h")
        self.until(lambda: '"suspended": true' in self.as_user("status", server, "--json").stdout, "never suspended")
        self.assertIn("by another user's holder", self.gpreempt("status", server).stdout)
        self.assertTrue(os.path.exists(os.path.join(self.home(USER), "gpreempt", "holder.sock")))
        self.assertEqual(os.stat(os.path.join(self.sockets, "holder.sock")).st_uid, 0)


    def test_a_stranger_without_a_gpu_cannot_hold_up_a_users_trainer(self):
        daemon = self.daemon(rig.ACT)
        self.program("offline", "offline_trainer", 600)
        self.job("offline_trainer")
        self.until(lambda: self.jobs()["offline_trainer"]["busy_queues"], "the trainer has no work")
        gpus = len(self.json("top")["devices"])
        liars = [self.liar(gpu) for gpu in (self.json("top")["devices"][0]["gpu_id"], 4711)]
        for pid in liars:
            self.until(lambda pid=pid: "gpreemptd ignores them" in self.gpreempt("why", str(pid)).stdout, "the liar is believed")
        job = self.jobs()["offline_trainer"]
        self.assertEqual((job["suspends"], job["held"]), (0, False))
        self.assertEqual(len(self.json("top")["devices"]), gpus)
        daemon.terminate()
        self.assertIn("the driver does not list them", daemon.communicate(timeout=rig.LIMIT)[0])

    def liar(self, gpu_id):
        """A process of another user with an agent of its own making: class online, busy, on this GPU."""
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setresgid(STRANGER, STRANGER, STRANGER)
                os.setresuid(STRANGER, STRANGER, STRANGER)
                lie(os.path.join(self.sockets, "agents"), gpu_id)
            finally:
                os._exit(1)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        return pid


def lie(directory, gpu_id):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = os.path.join(directory, f".{os.getpid()}")
    listener.bind(path)
    listener.listen(8)
    os.rename(path, os.path.join(directory, f"{os.getpid()}.sock"))
    signal.alarm(rig.LIMIT)
    queue = wire.QUEUE.pack(os.getpid(), gpu_id, 0x7f, 3, 3, 0, 0, 0x1000, 4096, 0x2000, 0, 5, 7, 2100, 1, 0, 0)
    answers = {wire.HELLO: (wire.HELLO_BODY.pack(os.getpid(), 2100, 1, 1, 0, b"", b"liar"), 0),
               wire.WATCH: (b"", 0), wire.QUEUES: (struct.pack("=II", 1, 0) + queue, 1)}
    peers = [listener]
    while True:
        for ready in select.select(peers, [], [], 1)[0]:
            if ready is listener:
                peers.append(listener.accept()[0])
                continue
            data = ready.recv(65536)
            if not data:
                peers.remove(ready)
                continue
            _, kind, _, serial, _ = wire.HEADER.unpack_from(data)
            body, status = answers.get(kind, (b"", -95))
            ready.send(wire.HEADER.pack(wire.VERSION, kind, wire.HEADER.size + len(body), serial, status) + body)
            edge = wire.EDGE_BODY.pack(time.monotonic_ns(), 1, 3)
            if kind == wire.QUEUES:
                ready.send(wire.HEADER.pack(wire.VERSION, wire.EDGE, wire.HEADER.size + len(edge), 0, 0) + edge)


if __name__ == "__main__":
    unittest.main()
