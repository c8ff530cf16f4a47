# SPDX-License-Identifier: MIT
"""A terminal that goes away ends the programs that were started on it, as with 'ssh -t HOST gpreempt vgpu -- PROGRAM': the
kernel tells only the leader of the session, which is gpreempt."""
import os
import pty
import signal
import tempfile
import time
import unittest

GPREEMPT = os.path.join(os.environ["GP_BIN"], "gpreempt")
LIMIT = 40


class Hangup(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def on_terminal(self, *command):
        """The leader of a new session on a terminal of its own, the terminal, and what the program wrote of itself."""
        note = os.path.join(self.place.name, "pid")
        env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place.name)
        pid, terminal = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
            os.chdir(self.place.name)
            os.execve(GPREEMPT, [GPREEMPT, *command, "sh", "-c", f"echo $$ > {note}.new; mv {note}.new {note}; exec sleep 1000"], env)
        self.until(lambda: os.path.exists(note) or self.fail_if_ended(pid), "the program does not start")
        with open(note, encoding="ascii") as file:
            return pid, terminal, int(file.read())

    def fail_if_ended(self, pid):
        self.assertEqual(os.waitpid(pid, os.WNOHANG), (0, 0), "gpreempt has ended")

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), deadline, message)
            time.sleep(0.02)

    def ends_with_its_terminal(self, *command):
        leader, terminal, program = self.on_terminal(*command)
        os.close(terminal)
        try:
            self.until(lambda: os.waitpid(leader, os.WNOHANG)[0], "it outlives its terminal")
        except AssertionError:
            os.kill(program, signal.SIGKILL)
            os.waitpid(leader, 0)
            raise
        self.assertFalse(os.path.exists(f"/proc/{program}"), "the program outlives its terminal")

    def test_ends_a_virtual_gpu_and_its_program(self):
        self.ends_with_its_terminal("vgpu", "--")

    def test_ends_a_trace_and_its_program(self):
        self.ends_with_its_terminal("trace", "-o", os.path.join(self.place.name, "trace"), "--")


if __name__ == "__main__":
    unittest.main()
