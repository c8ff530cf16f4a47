# SPDX-License-Identifier: MIT
"""Programs that do not answer, or mean harm: the others are preempted as before."""
import os
import re
import signal
import subprocess
import sys
import unittest

import test_gpreemptd as rig
import test_users

HOSTILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile_agent.py")
HEADER = os.path.join(os.path.dirname(HOSTILE), "..", "..", "src", "proto", "proto.h")
with open(HEADER) as lines:
    VERSION = re.search(r"GP_PROTO_VERSION = (\d+)", lines.read()).group(1)
TIMES = 20


class Strangers(rig.Daemon):
    def trainers(self):
        return {job["pid"]: job for job in self.json("top")["jobs"] if job["name"] == "offline_trainer"}

    def preempted(self, pid, message):
        """Many times: one that waits for another for seconds each time does not get there."""
        before = self.trainers()[pid]["suspends"]
        self.until(lambda: self.trainers()[pid]["suspends"] >= before + TIMES, message)

    def test_a_stopped_trainer_does_not_keep_the_other_from_being_preempted(self):
        self.daemon(rig.ACT)
        self.program("online", "online_server", 600)
        self.program("offline", "offline_trainer", 600)
        self.program("offline", "offline_trainer", 600)
        self.until(lambda: len(self.trainers()) == 2, "not two trainers")
        first, second = self.trainers()
        for pid in (first, second):
            self.preempted(pid, "not preempted while both run")
        os.kill(first, signal.SIGSTOP)
        try:
            self.preempted(second, "not preempted beside a stopped one")
            os.kill(first, signal.SIGCONT)
            self.preempted(first, "not preempted after it was continued")
        finally:
            os.kill(first, signal.SIGCONT)


@unittest.skipUnless(test_users.may_be_another_user(), "another user is needed to be one")
class Hostile(test_users.Everybody):
    test_roots_daemon_holds_a_users_program_and_the_user_has_a_say_in_it = None

    def hostile(self, mode):
        process = subprocess.Popen(**self.user(test_users.STRANGER, sys.executable, HOSTILE,
                                               os.path.join(self.sockets, "agents"), mode, VERSION))
        self.started.append(process)
        self.assertEqual(process.stdout.readline(), "ready\n")

    def test_agents_of_another_user_do_not_keep_a_trainer_from_being_preempted(self):
        self.daemon(rig.ACT)
        self.program("online", "online_server", 600)
        self.program("offline", "offline_trainer", 600)
        self.held_again("offline_trainer")
        for mode in ("mute", "half", "closes", "hello", "floods"):
            for _ in range(2):
                self.hostile(mode)
            for _ in range(3):
                self.held_again("offline_trainer")
        # Programs that come now, and a holder that starts now, get through as well.
        self.program("offline", "offline_trainer", 600)
        self.until(lambda: sum(job["name"] == "offline_trainer" for job in self.json("top")["jobs"]) == 2,
                   "a new program is not found")
        self.held_again("offline_trainer")


if __name__ == "__main__":
    unittest.main()
