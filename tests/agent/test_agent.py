"""The agent inside real ROCm programs on a virtual GPU, driven over its socket."""
import os
import unittest

import agentwire
from agentwire import RUNNING, SUSPENDED, Stage

STAGE = os.path.join(agentwire.BUILD, "tests", "agent", "hsa_stage")
ENDLESS = 1 << 25  # workgroups: minutes of a kernel
SHORT = 1


class Program:
    """hsa_stage with an agent, by its commands."""

    def __init__(self, test, run=(), **options):
        self.test = test
        self.process = test.start(STAGE, run=run, **options)
        test.line(self.process, "ready")

    def tell(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, text, expected):
        self.tell(text)
        self.test.line(self.process, expected)

    def queue(self, index):
        self.ask("queue", f"queue {index}")

    def quit(self):
        self.test.finish(self.process, "quit\n")


@unittest.skipUnless(os.path.exists(STAGE), "built without ROCm's headers")
class Suspend(Stage):
    def setUp(self):
        super().setUp()
        self.machine()

    def test_hello_says_what_run_was_told(self):
        program = Program(self, run=("--class", "online", "--priority", "2500", "--group", "g1", "--weight", "3",
                                     "--deadline", "20"))
        program.queue(0)
        hello = self.connect().hello
        self.assertEqual({key: hello[key] for key in ("priority", "class", "weight", "deadline_us", "group", "name")},
                         {"priority": 2500, "class": 1, "weight": 3, "deadline_us": 20000, "group": "g1",
                          "name": "hsa_stage"})
        program.quit()
        self.assertEqual(self.sockets(), [])

    def test_only_named_queues_stand_still(self):
        program = Program(self)
        program.queue(0)
        program.queue(1)
        client = self.connect()
        first, second = client.rings()
        count, done = client.suspend([first])
        self.assertEqual((count, done["queues"], done["processes"]), (1, 1, 1))
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask(f"kernel 1 {SHORT}", "ok")
        program.ask("wait 1", "done 1")
        program.ask("done 0", "done 0")
        states = client.queues()
        self.assertEqual((states[first]["state"], states[second]["state"]), (SUSPENDED, RUNNING))
        self.assertEqual(states[first]["owner_pid"], os.getpid())
        self.assertEqual(client.resume(), 1)
        program.ask("wait 0", "done 1")
        program.quit()


if __name__ == "__main__":
    unittest.main()
