# SPDX-License-Identifier: MIT
"""Root's `status` and `release --all` reach the holders of all users. In namespaces of its own: the directories are
those that every user has, and the kernel's list has no other sockets."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
HOLDER = os.path.join(BIN, "gpreempt-holder")
USERS = (65533, 65534)
LIMIT = 60
INSIDE = "GP_ROOT_INSIDE"


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, **options)


def environment(**more):
    env = dict(os.environ, LC_ALL="C.UTF-8", **more)
    for name in ("GPREEMPT_DIR", "GPREEMPT_VGPU", "LD_PRELOAD", "LANGUAGE", "XDG_RUNTIME_DIR"):
        if name not in more:
            env.pop(name, None)
    return env


def can_be_alone():
    return os.geteuid() == 0 and shutil.which("setpriv") and shutil.which("unshare") and \
        run("unshare", "-n", "-m", "true").returncode == 0


@unittest.skipIf(os.environ.get(INSIDE), "the outer half")
@unittest.skipUnless(can_be_alone(), "root with namespaces is needed")
class Alone(unittest.TestCase):
    def test_root_reaches_the_holders_of_all_users(self):
        done = run("unshare", "-n", "-m", "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", sys.executable,
                   os.path.abspath(__file__), env=dict(os.environ, **{INSIDE: "1"}))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@unittest.skipUnless(os.environ.get(INSIDE), "the inner half")
class Root(unittest.TestCase):
    """A holder per user, each with a suspension of an empty group: it needs no GPU."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpr")
        os.chmod(self.place, 0o755)
        self.started = []
        for uid in USERS:
            home = os.path.join(self.place, str(uid))
            os.mkdir(home, 0o700)
            os.chown(home, uid, uid)

    def tearDown(self):
        for process in self.started:
            process.kill()
            process.wait()
        self.until(self.is_removed, f"left behind: {self.place}")

    def is_removed(self):
        """A holder whose client was killed may write in its directory while that is removed."""
        shutil.rmtree(self.place, ignore_errors=True)
        return not os.path.exists(self.place)

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > deadline:
                self.fail(message)
            time.sleep(0.02)

    def hold(self, uid):
        env = environment(XDG_RUNTIME_DIR=os.path.join(self.place, str(uid)), GPREEMPT_HOLDER=HOLDER)
        code = ("import ctypes, os, sys, time\n"
                "lib = ctypes.CDLL(os.path.join(os.path.dirname(os.environ['GP_BIN']), 'lib', 'libgpreempt.so.0'))\n"
                "context, target = ctypes.c_void_p(), ctypes.c_void_p()\n"
                "assert lib.gpreempt_open(ctypes.byref(context)) == 0\n"
                "assert lib.gpreempt_group_open(context, b'empty', None, ctypes.byref(target)) == 0\n"
                "options = (ctypes.c_size_t * 4)()\n"
                "ctypes.memmove(options, (8 + 8).to_bytes(8, 'little') + (3600000).to_bytes(4, 'little') * 2, 16)\n"
                "assert lib.gpreempt_target_suspend(target, options) == 0\n"
                "time.sleep(3600)\n")
        self.started.append(subprocess.Popen(["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups",
                                              sys.executable, "-c", code], env=env, cwd="/"))

    def holds(self, **more):
        done = run(GPREEMPT, "status", "--json", env=environment(**more))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["holds"]

    def test_status_and_release(self):
        for uid in USERS:
            self.hold(uid)
        self.until(lambda: len(self.holds()) == len(USERS), "the suspensions of the users are not shown")
        self.assertEqual(sorted(hold["owner_pid"] for hold in self.holds()),
                         sorted(process.pid for process in self.started))
        # One directory was chosen: only that one's.
        with tempfile.TemporaryDirectory(prefix="gpr") as empty:
            self.assertEqual(self.holds(GPREEMPT_DIR=empty), [])
            done = run(GPREEMPT, "release", "--all", "--json", env=environment(GPREEMPT_DIR=empty))
            self.assertEqual((done.returncode, json.loads(done.stdout)["released"]), (0, 0), done.stderr)
        done = run(GPREEMPT, "release", "--all", "--json", env=environment())
        self.assertEqual((done.returncode, json.loads(done.stdout)["released"]), (0, len(USERS)), done.stderr)
        self.assertEqual(self.holds(), [])


if __name__ == "__main__":
    unittest.main()
