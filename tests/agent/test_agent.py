# SPDX-License-Identifier: MIT
"""The agent's suspensions in a real ROCm program on a virtual GPU, asked for over its socket."""
import errno
import os
import signal
import struct
import subprocess
import sys
import unittest

import agentwire
from agentwire import QUEUES, RUNNING, SUSPENDED, Client, Gone, Refused, Stage
from stage import BUILT, ENDLESS, LONG, SHORT, SLOW, Program

# A client in a process of its own, to be stopped or killed: holds, says so, and waits.
HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
import agentwire
client = agentwire.Client(sys.argv[2])
assert client.suspend(lease=int(sys.argv[3]))[0] >= 2
print("held", flush=True)
sys.stdin.read()
"""


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Suspend(Stage):
    def setUp(self):
        super().setUp()
        self.machine(*SLOW)
        self.program = Program(self, run=("--class", "online", "--priority", "2500", "--group", "g1", "--weight", "3",
                                          "--deadline", "20ms"))
        self.program.queues(2)
        self.client = self.connect()
        self.first, self.second = self.client.rings()

    def state(self, queue):
        return self.client.queues()[queue]["state"]

    def done(self):
        """How many kernels of the first queue have ended."""
        self.program.tell("done 0")
        return int(self.program.process.stdout.readline().split()[1])

    def test_hello_says_what_run_was_told(self):
        hello = self.client.hello
        self.assertEqual({key: hello[key] for key in ("priority", "class", "weight", "deadline_us", "group", "name")},
                         {"priority": 2500, "class": 1, "weight": 3, "deadline_us": 20000, "group": "g1",
                          "name": "hsa_stage"})

    def test_the_socket_goes_with_the_program(self):
        self.program.quit()
        self.assertEqual(self.sockets(), [])
        with self.assertRaises(Gone):
            self.client.queues()

    def test_only_named_queues_stand_still(self):
        count, done = self.client.suspend([self.first])
        self.assertEqual((count, done["queues"], done["processes"]), (1, 1, 1))
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.program.ask(f"kernel 1 {SHORT}", "ok")
        self.program.ask("wait 1", "done 1")
        self.program.ask("done 0", "done 0")
        queues = self.client.queues()
        self.assertEqual((queues[self.first]["state"], queues[self.second]["state"]), (SUSPENDED, RUNNING))
        self.assertEqual(queues[self.first]["owner_pid"], os.getpid())
        self.assertEqual(queues[self.second]["owner_pid"], 0)
        self.assertEqual(self.client.resume(), 1)
        self.program.ask("wait 0", "done 1")
        self.program.quit()

    def test_a_kernel_stops_in_the_middle_and_goes_on(self):
        for rounds in range(20):
            self.program.ask(f"kernel 0 {LONG}", "ok")
            self.until(lambda: self.client.queues()[self.first]["read_index"] == rounds + 1, "it is not launched")
            self.client.suspend([self.first])
            if self.done() == rounds:
                break
            self.client.resume()  # on a busy machine it had ended before it was stopped
        # It began first and is not longer, and is still not done.
        self.program.ask(f"kernel 1 {LONG}", "ok")
        self.program.ask("wait 1", "done 1")
        self.assertEqual(self.done(), rounds)
        self.client.resume()
        self.program.ask("wait 0", f"done {rounds + 1}")
        self.program.quit()

    def test_all_means_also_queues_created_later(self):
        self.client.suspend()
        self.program.ask("queue", "queue 2")
        third = self.client.rings()[-1]
        self.assertEqual(self.state(third), SUSPENDED)
        self.program.ask(f"kernel 2 {SHORT}", "ok")
        self.program.ask("done 2", "done 0")
        self.client.resume()
        self.program.ask("wait 2", "done 1")
        self.program.quit()

    def test_a_change_of_priority_does_not_wake_a_held_queue(self):
        self.client.suspend([self.first])
        self.program.ask("priority 0 2", "ok")
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.program.ask(f"kernel 1 {SHORT}", "ok")
        self.program.ask("wait 1", "done 1")
        self.program.ask("done 0", "done 0")
        queue = self.client.queues()[self.first]
        self.assertEqual((queue["state"], queue["logical_priority"]), (SUSPENDED, 2600))
        self.assertGreater(queue["hardware_priority"], 7)
        self.client.resume()
        self.program.ask("wait 0", "done 1")
        self.program.ask("priority 0 0", "ok")
        self.assertEqual(self.client.queues()[self.first]["logical_priority"], 2400)
        self.program.quit()

    def test_a_held_queue_can_be_destroyed_and_its_id_is_free_again(self):
        self.program.ask(f"kernel 0 {ENDLESS}", "ok")
        self.client.suspend([self.first])
        self.program.ask("destroy 0", "ok")
        self.assertNotIn(self.first, self.client.queues())
        self.program.ask("queue", "queue 2")
        self.assertEqual(self.state(self.first), RUNNING)
        self.program.ask(f"kernel 2 {SHORT}", "ok")
        self.program.ask("wait 2", "done 1")
        self.client.resume()
        self.program.quit()

    def test_it_runs_when_every_owner_has_let_go(self):
        other = Client(self.sockets()[0])
        self.addCleanup(other.close)
        self.client.suspend()
        other.suspend([self.first])
        self.client.suspend()  # a repeat is harmless
        self.client.resume()
        self.assertEqual((self.state(self.first), self.state(self.second)), (SUSPENDED, RUNNING))
        self.assertEqual(self.client.resume(), 0)
        other.resume()
        self.assertEqual(self.state(self.first), RUNNING)

    def test_a_lease_that_is_not_renewed_ends(self):
        self.client.suspend(lease=50)
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.program.ask("wait 0", "done 1")  # it runs again though nobody resumed it
        with self.assertRaises(Refused) as refused:
            self.client.renew()
        self.assertEqual(refused.exception.errno, errno.ENOLCK)
        self.program.quit()

    def test_renewing_moves_the_end_but_not_the_limit(self):
        self.client.suspend(lease=60000, limit=300)
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        with self.assertRaises(Refused) as refused:
            for _ in range(1000000):
                self.client.renew()
        self.assertEqual(refused.exception.errno, errno.ENOLCK)
        self.program.ask("wait 0", "done 1")
        self.program.quit()

    def test_a_program_can_end_while_it_is_held(self):
        self.program.ask(f"kernel 0 {ENDLESS}", "ok")
        self.client.suspend()
        self.program.quit()
        self.assertEqual(self.sockets(), [])

    def descriptors(self):
        """The driver's own of every queue, as text."""
        done = subprocess.run([agentwire.GPREEMPT, "vgpu", "--", "cat", "/sys/kernel/debug/kfd/mqds"], env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=agentwire.LIMIT)
        return done.stdout

    def test_a_share_reaches_the_driver_and_is_taken_back(self):
        self.program.ask("mask 0 ffffffff", "ok")
        # A queue that never had a mask gets all the CUs there are, which reads differently from none.
        self.client.share(500)
        self.client.share(1000)
        before = self.descriptors()
        self.client.share(250)
        narrow = self.descriptors()
        self.assertNotEqual(before, narrow)
        self.client.share(250, first=500)
        self.assertNotIn(self.descriptors(), (before, narrow))
        self.client.share(1000)
        self.assertEqual(before, self.descriptors())
        with self.assertRaises(Refused) as refused:
            self.client.share(0)
        self.assertEqual(refused.exception.errno, errno.EINVAL)

    def test_an_old_runtimes_program_can_also_be_stopped_from_outside(self):
        """RUNTIME_ENABLE was called for it, or the driver would refuse."""
        suspender = self.launch(agentwire.GPREEMPT, "vgpu", "--", os.path.join(agentwire.PROGRAMS, "kfd_suspender"),
                                "1", "100", str(self.client.hello["pid"]))
        self.line(suspender, "attached")
        self.program.quit()
        self.assertRegex(self.finish(suspender), r"^\d+ changes\n$")

    def hold_elsewhere(self, lease):
        holder = self.launch(sys.executable, "-c", HOLDER, os.path.dirname(agentwire.__file__), self.sockets()[0],
                             str(lease))
        self.line(holder, "held")
        return holder

    def test_a_killed_owner_lets_go(self):
        holder = self.hold_elsewhere(600000)
        self.assertEqual({self.state(self.first), self.state(self.second)}, {SUSPENDED})
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        holder.kill()
        self.program.ask("wait 0", "done 1")
        self.program.quit()

    def test_a_stopped_owner_loses_its_lease(self):
        holder = self.hold_elsewhere(1000)
        os.kill(holder.pid, signal.SIGSTOP)
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.program.ask("wait 0", "done 1")
        self.program.quit()

    def test_bad_requests_do_nothing_and_say_why(self):
        for ask, code in ((Client.ask([self.first, 999]), errno.ENOENT), (Client.ask([5000]), errno.ENOENT),
                          (Client.ask(lease=49), errno.EINVAL), (Client.ask(limit=3600001), errno.EINVAL)):
            with self.assertRaises(Refused) as refused:
                self.client.call(agentwire.SUSPEND, ask)
            self.assertEqual(refused.exception.errno, code)
            self.assertTrue(refused.exception.code)
        with self.assertRaises(Refused) as refused:
            self.client.priority(65536)
        self.assertEqual(refused.exception.errno, errno.EINVAL)
        with self.assertRaises(Refused) as refused:
            self.client.call(200)
        self.assertEqual(refused.exception.errno, errno.EOPNOTSUPP)
        self.assertEqual((self.state(self.first), self.state(self.second)), (RUNNING, RUNNING))

    def test_what_is_no_message_ends_the_connection_and_nothing_else(self):
        def lie(client, text):
            client.socket.send(text)

        header = agentwire.HEADER
        lies = (b"x", header.pack(1, QUEUES, 400, 1, 0), header.pack(1, QUEUES, header.size + 4, 1, 0) + b"abcd",
                header.pack(1, agentwire.SUSPEND, header.size, 1, 0),
                header.pack(1, agentwire.SUSPEND, header.size + 32, 1, 0) +
                struct.pack("=IIIIIIQ", 0, 100, 100, 0, 0, 0x40000000, 0), b"\0" * 60000)
        for text in lies:
            bad = Client(self.sockets()[0])
            lie(bad, text)
            with self.assertRaises((Gone, Refused)):
                bad.answer()
                bad.answer()
            bad.close()
        silent = Client(self.sockets()[0], hello=False)
        silent.send(QUEUES)
        with self.assertRaises(Gone):
            silent.answer()
        silent.close()
        for version in (1, 9):
            other = Client(self.sockets()[0], hello=False)
            other.send(agentwire.HELLO, b"\0" * agentwire.HELLO_BODY.size, version=version)
            with self.assertRaises(Refused) as refused:
                other.answer()
            self.assertEqual(refused.exception.errno, errno.EPROTONOSUPPORT)
            self.assertIn(f"this program uses version {version};", refused.exception.text)
            with self.assertRaises(Gone):
                other.answer()
            other.close()
        self.assertEqual(self.state(self.first), RUNNING)

    def test_more_connections_than_it_has_room_for_are_closed(self):
        extra = []
        for _ in range(40):
            try:
                extra.append(Client(self.sockets()[0]))
            except (Gone, ConnectionError):
                pass
        self.assertLess(len(extra), 17)
        for client in extra:
            client.close()
        self.assertEqual(self.state(self.first), RUNNING)
        self.until(self.can_connect, "no room after they left")

    def test_a_socket_whose_name_is_gone_comes_back(self):
        # As where a file system is mounted over agents/.
        os.unlink(self.sockets()[0])
        self.until(self.sockets, "the socket does not come back")
        self.until(self.can_connect, "it does not answer")
        self.assertEqual(self.state(self.first), RUNNING)  # the connection stayed

    def can_connect(self):
        try:
            Client(self.sockets()[0]).close()
            return True
        except (Gone, ConnectionError):
            return False


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Place(Stage):
    def test_a_directory_that_comes_later(self):
        self.machine()
        self.env["GPREEMPT_DIR"] = os.path.join(self.place, "later", "sockets")
        program = Program(self, run=("--class", "online"))
        program.queues(1)
        self.place = os.path.join(self.place, "later")
        os.mkdir(self.place)
        self.assertEqual(self.connect().hello["name"], "hsa_stage")
        program.quit()


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class OlderKernel(Stage):
    def test_the_rules_of_linux_6_1(self):
        self.stops_and_shares("6.1")

    def test_the_rules_of_linux_6_5(self):
        self.stops_and_shares("6.5")

    def stops_and_shares(self, era):
        self.machine("--era", era)
        program = Program(self)
        program.queues(2)
        client = self.connect()
        first, _ = client.rings()
        client.suspend([first])
        client.share(500)
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask(f"kernel 1 {SHORT}", "ok")
        program.ask("wait 1", "done 1")
        program.ask("done 0", "done 0")
        client.resume()
        client.share(1000)
        program.ask("wait 0", "done 1")
        program.quit()


if __name__ == "__main__":
    unittest.main()
