# SPDX-License-Identifier: MIT
"""Owners, holders and programs are killed at random, beside programs that are stopped, frozen or mute.

GP_STORM_KILLS (40; `make soak` has 200 in each of its rounds) and GP_STORM_SEED as in tests/vgpu/test_storm.py. Asserts that nothing stays
suspended and no dispatch is lost; prints how soon the survivors ran again, which depends on the load of the machine.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
BUILD = os.path.dirname(BIN)
SOURCE = os.path.dirname(os.path.dirname(os.environ["GP_FIXTURES"]))
GPREEMPT = os.path.join(BIN, "gpreempt")
STORM = os.path.join(BUILD, "tests", "vgpu", "programs", "hsa_storm")
KILLS = int(os.environ.get("GP_STORM_KILLS", "40"))
SEED = int(os.environ.get("GP_STORM_SEED", "1"))
LIMIT = 60
SURVIVORS, QUEUES, PACKETS = 2, 2, 20000
FREEZER = "/sys/fs/cgroup/freezer"

os.environ["GPREEMPT_LIBRARY"] = os.path.join(BUILD, "lib", "libgpreempt.so.0")
os.environ["GPREEMPT_HOLDER"] = os.path.join(BIN, "gpreempt-holder")
sys.path.insert(0, os.path.join(SOURCE, "python"))


class Program:
    """hsa_storm with an agent; `pid` is its own, not the launcher's."""

    def __init__(self, env, packets):
        self.process = subprocess.Popen([GPREEMPT, "vgpu", "--", GPREEMPT, "run", "--", STORM, str(QUEUES), str(packets)],
                                        env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        self.pid = int(self.process.stdout.readline())
        self.process.stdin.close()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()


@unittest.skipUnless(os.path.exists(STORM), "built without ROCm's headers")
class Field(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpf")
        self.addCleanup(shutil.rmtree, self.place, True)
        sockets = os.path.join(self.place, "sockets")
        os.mkdir(sockets, 0o700)
        os.environ["GPREEMPT_DIR"] = self.sockets = sockets
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place)
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)
        import gpreempt  # with the directory above
        self.gpreempt = gpreempt
        self.random = random.Random(SEED)
        self.programs, self.owners, self.ran_after = [], [], []
        self.group = self.make_group()
        subprocess.run([GPREEMPT, "vgpu", "start", "--speed", "4"], env=self.env, check=True, timeout=LIMIT,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tearDown(self):
        if self.group:
            self.freeze("THAWED")
        for owner in self.owners:
            owner.kill()
            owner.wait()
        for program in self.programs:
            program.kill()
        subprocess.run([GPREEMPT, "release", "--all"], env=self.env, timeout=LIMIT, stdout=subprocess.DEVNULL)
        subprocess.run([GPREEMPT, "vgpu", "stop"], env=self.env, timeout=LIMIT, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        if self.group:
            self.until(self.remove_group, "the group of the freezer stays")

    # ---- the host ----

    def make_group(self):
        path = os.path.join(FREEZER, f"gpreempt-field-{os.getpid()}")
        try:
            os.mkdir(path)
        except OSError:
            return None  # no freezer here, or not for this user
        return path

    def remove_group(self):
        try:
            os.rmdir(self.group)
        except OSError:
            return False
        return True

    def freeze(self, state):
        with open(os.path.join(self.group, "freezer.state"), "w") as file:
            file.write(state)

    def join_freezer(self, pid):
        try:
            with open(os.path.join(self.group, "cgroup.procs"), "w") as file:
                file.write(str(pid))
        except ProcessLookupError:
            pass

    # ---- programs ----

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                self.fail(f"seed {SEED}: {message() if callable(message) else message}")
            time.sleep(0.002)

    def start(self, packets=PACKETS):
        program = Program(self.env, packets)
        self.programs.append(program)
        return program

    def ended(self, program):
        """True: it has ended, with every dispatch complete once and in order."""
        if program.process.poll() is None:
            return False
        self.programs.remove(program)
        out = program.process.stdout.read()
        program.process.stdout.close()
        self.assertEqual((program.process.returncode, out), (0, "done\n"), f"seed {SEED}: a dispatch was lost")
        return True

    def queues(self, program):
        """None: it is gone."""
        try:
            with self.gpreempt.Target(program.pid) as target:
                return target.queues()
        except (self.gpreempt.Error, OSError):
            return None

    def runs(self, program, since):
        """Waits until all its queues run and one of them moves, or it has ended."""
        before = None
        def moved():
            nonlocal before
            queues = self.queues(program)
            if queues is None:
                return program.process.poll() is not None
            if any(queue.state != self.gpreempt.QueueState.RUNNING for queue in queues):
                return False
            indices = [queue.read_index for queue in queues]
            was, before = before, indices
            return program.process.poll() is not None or (was is not None and was != indices)
        self.until(moved, lambda: f"process {program.pid} stays suspended: {self.describe(program)}")
        self.ran_after.append(time.monotonic() - since)

    def describe(self, program):
        """For the message of a failure."""
        try:
            with open(f"/proc/{program.pid}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError as error:
            state = str(error)
        frozen = self.group and open(os.path.join(self.group, "freezer.state")).read().strip()
        out = subprocess.run([GPREEMPT, "status", str(program.pid)], env=self.env, timeout=LIMIT, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        return f"process state {state}, freezer {frozen}, {self.queues(program)}\n{out}"

    # ---- what is killed ----

    def own(self, program):
        """A process that suspends it and keeps the lease."""
        owner = subprocess.Popen([GPREEMPT, "suspend", str(program.pid), "--lease", "1h"], env=self.env,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.owners.append(owner)
        time.sleep(self.random.random() * 0.1)  # wherever it is then
        return owner

    def kill_owner(self, owner):
        owner.kill()
        owner.wait()
        self.owners.remove(owner)

    def kill_holder(self):
        """Only what is a holder: the file is empty while one starts."""
        try:
            with open(os.path.join(self.sockets, "holder.lock")) as file:
                pid = int(file.read() or 0)
            if pid > 1 and os.readlink(f"/proc/{pid}/exe") == os.path.realpath(os.path.join(BIN, "gpreempt-holder")):
                os.kill(pid, signal.SIGKILL)
        except (OSError, ValueError):
            pass

    def kill_something(self, survivor, mute):
        what = self.random.random()
        owners = [self.own(survivor)]
        if what < 0.2:
            owners.append(self.own(mute))
        if what > 0.8:
            victim = self.start(1000000)
            owners.append(self.own(victim))
            victim.kill()
            self.programs.remove(victim)
        elif what > 0.65:
            self.kill_holder()
        since = time.monotonic()
        for owner in owners:
            self.kill_owner(owner)
        return since

    def disturb(self, survivor):
        """Stops or freezes it; returns what continues it."""
        what = self.random.random()
        if what < 0.25:
            self.signal(survivor, signal.SIGSTOP)
            return lambda: self.signal(survivor, signal.SIGCONT)
        if what < 0.45 and self.group:
            self.join_freezer(survivor.pid)
            self.freeze("FROZEN")
            return lambda: self.freeze("THAWED")
        return lambda: None

    @staticmethod
    def signal(program, number):
        try:
            os.kill(program.pid, number)
        except ProcessLookupError:
            pass

    def test_nothing_stays_suspended_and_no_dispatch_is_lost(self):
        mute = [self.start(1000000) for _ in range(2)]
        for program in mute:
            os.kill(program.pid, signal.SIGSTOP)
        survivors = [self.start() for _ in range(SURVIVORS)]
        for kill in range(KILLS):
            for i, program in enumerate(survivors):
                if self.ended(program):
                    survivors[i] = self.start()
            survivor = self.random.choice(survivors)
            go_on = lambda: None
            if self.random.random() < 0.5 and survivor.process.poll() is None:
                go_on = self.disturb(survivor)
            try:
                since = self.kill_something(survivor, self.random.choice(mute))
                time.sleep(self.random.random() * 0.02)
            finally:
                go_on()
            self.runs(survivor, max(since, time.monotonic()))
        for program in survivors:
            self.until(lambda: self.ended(program), "a survivor does not come to its end")
        self.ran_after.sort()
        print(f"# {KILLS} kills: survivors ran again after {1000 * self.ran_after[len(self.ran_after) // 2]:.0f} ms (median), "
              f"{1000 * self.ran_after[-1]:.0f} ms (at most)", flush=True)


if __name__ == "__main__":
    unittest.main()
