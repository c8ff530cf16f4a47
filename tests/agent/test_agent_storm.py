# SPDX-License-Identifier: MIT
"""Nothing is lost or done twice, whoever suspends and resumes whatever and whenever.

A tenth of GP_STORM_PACKETS (per queue) and GP_STORM_SEED as in tests/vgpu/test_storm.py; `make soak` runs it for long.
"""
import os
import random
import time
import unittest

from agentwire import PROGRAMS, Client, Gone, Refused, Stage

STORM = os.path.join(PROGRAMS, "hsa_storm")
STREAMS = os.path.join(PROGRAMS, "hip_streams")
PACKETS = max(600, int(os.environ.get("GP_STORM_PACKETS", "0")) // 10)
SEED = int(os.environ.get("GP_STORM_SEED", "1"))


class Storm(Stage):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.machine("--speed", "4")

    def meddle(self, programs, paths):
        """Suspends and resumes at random over several connections until the programs have ended."""
        clients = []
        changes = 0
        while any(program.poll() is None for program in programs):
            if len(clients) < 4 or self.random.random() < 0.02:
                clients = self.reconnect(clients, paths)
            if not clients:
                break
            client = self.random.choice(clients)
            try:
                changes += self.change(client)
            except Gone:  # the program has ended, or this connection was cut
                client.close()
                clients.remove(client)
            except Refused as refused:
                self.assertIn(refused.errno, (2, 37), refused)  # ENOENT, ENOLCK: it was faster
            time.sleep(self.random.random() * 0.002)
        for client in clients:
            client.close()
        return changes

    def reconnect(self, clients, paths):
        """One more connection, or the oldest one cut in the middle of whatever it holds."""
        if len(clients) >= 4:
            clients.pop(0).close()
        path = self.random.choice(paths)
        try:
            return clients + [Client(path)]
        except (Gone, ConnectionError, FileNotFoundError):
            return clients

    def change(self, client):
        what = self.random.random()
        if what < 0.35:
            return client.suspend(lease=self.random.choice((50, 200)))[0]
        if what < 0.5:
            ids = list(client.queues())
            some = self.random.sample(ids, self.random.randint(1, len(ids))) if ids else []
            return client.suspend(some, lease=100)[0] if some else 0
        if what < 0.6:
            return client.renew()
        return client.resume()

    def storm(self):
        programs = [self.start(STORM, "3", str(PACKETS)) for _ in range(2)]
        for program in programs:
            program.stdout.readline()
        # Together: the first may be done before the second has started.
        for program in programs:
            program.stdin.write("go\n")
            program.stdin.flush()
        paths = self.until(lambda: len(self.sockets()) == 2 and self.sockets(), "there are not two agents")
        changes = self.meddle(programs, paths)
        for program in programs:
            self.assertEqual(self.finish(program), "done\n", f"seed {SEED}")
        return changes

    @unittest.skipUnless(os.path.exists(STORM), "built without ROCm's headers")
    def test_every_dispatch_completes_once_and_in_order(self):
        # On a busy host the programs may be done before anything is suspended.
        self.assertTrue(any(self.storm() for _ in range(10)), "nothing was suspended")

    @unittest.skipUnless(os.path.exists(STREAMS), "built without HIP's headers")
    def test_a_hip_program_does_not_notice(self):
        program = self.start(STREAMS)
        self.until(lambda: self.sockets() or program.poll() is not None, "no agent listens")
        self.meddle([program], self.sockets() or [""])
        self.finish(program)


if __name__ == "__main__":
    unittest.main()
