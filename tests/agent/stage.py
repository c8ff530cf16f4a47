# SPDX-License-Identifier: MIT
"""hsa_stage, a program that does with a GPU what it is told, with an agent inside."""
import os

import agentwire

STAGE = os.path.join(agentwire.BUILD, "tests", "agent", "hsa_stage")
BUILT = os.path.exists(STAGE)
# Workgroups, on a machine started with SLOW: a kernel that does not end while a test runs (more than 6 s), and one
# that takes a fifth of a second.
ENDLESS, LONG = 1 << 25, 1000000
SLOW = ("--speed", "0.02")
SHORT = 1


class Program:
    def __init__(self, test, run=(), launch=None, env=()):
        self.test = test
        self.process = launch(STAGE) if launch else test.start(STAGE, run=run, env=env)
        test.line(self.process, "ready")

    def tell(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, text, expected):
        self.tell(text)
        self.test.line(self.process, expected)

    def queues(self, count):
        for index in range(count):
            self.ask("queue", f"queue {index}")

    def quit(self):
        self.test.finish(self.process, "quit\n")
