# SPDX-License-Identifier: MIT
"""What the agent shows of a program's work: edges, drained queues, priorities, hints."""
import mmap
import unittest

from agentwire import REQUEST, REQUEST_BODY, Activity, Client, Stage
from stage import BUILT, ENDLESS, SHORT, SLOW, Program


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Watch(Stage):
    def setUp(self):
        super().setUp()
        self.machine(*SLOW)
        self.program = Program(self)
        self.program.queues(2)
        self.client = self.connect()
        self.first, self.second = self.client.rings()
        self.activity = self.client.watch()
        self.addCleanup(self.activity.close)

    def settles(self, queue, state):
        self.until(lambda: self.activity.slot(queue)["state"] == state,
                   f"queue {queue} is {self.activity.slot(queue)}, not in state {state}")

    def test_new_queues_are_drained(self):
        self.assertEqual(self.activity.head(), {"magic": 0x67706163, "slots": 1024, "busy_queues": 0,
                                                "open_requests": 0, "edges": 0})
        slot = self.activity.slot(self.first)
        self.assertEqual((slot["state"], slot["doorbells"], slot["generation"] % 2, slot["logical_priority"]),
                         (Activity.DRAINED, 0, 0, 1000))
        self.assertEqual(slot["ring"], self.client.queues()[self.first]["ring"])

    def test_the_memory_cannot_be_written(self):
        with self.assertRaises(PermissionError):
            mmap.mmap(self.activity.fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)

    def test_an_edge_when_work_arrives_and_one_when_all_is_done(self):
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        edge = self.client.edge()
        self.assertEqual((edge["busy"], edge["queue"]), (1, self.first))
        self.assertEqual(edge["now_ns"], self.activity.slot(self.first)["last_ring_ns"])
        self.assertEqual(self.client.edge()["busy"], 0)
        self.program.ask("done 0", "done 1")
        self.assertEqual(self.activity.head()["busy_queues"], 0)
        self.assertEqual(self.activity.slot(self.first)["doorbells"], 1)

    def test_busy_while_the_kernel_runs_though_the_read_index_has_caught_up(self):
        self.program.ask(f"kernel 0 {ENDLESS}", "ok")
        self.assertEqual(self.client.edge()["busy"], 1)
        self.until(lambda: self.client.queues()[self.first]["read_index"] == 1, "it is not launched")
        self.assertNotEqual(self.activity.slot(self.first)["state"], Activity.DRAINED)
        # Its signal is a claim with a limit, which this kernel takes longer than.
        self.settles(self.first, Activity.UNKNOWN)
        self.assertEqual(self.client.queues()[self.first]["valid"] & 64, 0)
        self.assertEqual(self.client.edge()["busy"], Activity.UNKNOWN)

    def test_a_signal_that_is_set_again_does_not_look_like_work(self):
        for how in ("store", "silent", "new", "add", "store"):
            self.program.ask(f"rearm 0 {how}", "ok")
            # Seen through the runtime; added to behind its back, it is in doubt unless the agent looked just then. On a slow host
            # the kernel itself outlasts its claim, and is in doubt until it ends.
            ends = (Activity.DRAINED, Activity.UNKNOWN) if how == "add" else (Activity.DRAINED,)
            self.until(lambda: self.client.edge()["busy"] == Activity.BUSY, f"{how}: no work is seen")
            self.until(lambda: self.client.edge()["busy"] in ends, f"{how}: it looks like work")
            self.assertIn(self.activity.slot(self.first)["state"], ends, how)

    def test_a_last_packet_without_a_signal_is_unknown(self):
        self.program.ask(f"mute 0 {SHORT}", "ok")
        self.settles(self.first, Activity.UNKNOWN)
        self.assertEqual(self.client.queues()[self.first]["valid"] & 64, 0)
        self.assertEqual(self.client.edge()["busy"], Activity.BUSY)
        self.assertEqual(self.client.edge()["busy"], Activity.UNKNOWN)
        # The next one is an edge again: whoever gave up waiting must hear of it.
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.assertEqual(self.client.edge()["busy"], 1)
        self.assertEqual(self.client.edge()["busy"], 0)

    def test_a_held_queue_stays_busy_and_says_that_it_is_held(self):
        self.client.suspend()
        self.assertEqual(self.activity.slot(self.first)["suspended"], 1)
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.assertEqual(self.client.edge()["busy"], 1)
        self.assertEqual(self.client.queues()[self.first]["busy"], 1)
        self.client.resume()
        self.assertEqual(self.activity.slot(self.first)["suspended"], 0)
        self.assertEqual(self.client.edge()["busy"], 0)

    def test_every_watcher_hears_of_an_edge_and_others_do_not(self):
        watcher, other = Client(self.sockets()[0]), Client(self.sockets()[0])
        self.addCleanup(watcher.close)
        self.addCleanup(other.close)
        watcher.watch().close()
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.assertEqual((self.client.edge()["busy"], watcher.edge()["busy"]), (1, 1))
        self.program.ask("wait 0", "done 1")
        other.queues()
        self.assertEqual(other.events, [])

    def test_who_stops_watching_hears_nothing(self):
        self.client.watch(edges=False).close()
        self.program.ask(f"kernel 0 {SHORT}", "ok")
        self.program.ask("wait 0", "done 1")
        self.assertEqual(self.client.queues()[self.first]["busy"], 0)
        self.assertEqual(self.client.events, [])

    def test_a_destroyed_queue_leaves_an_empty_slot(self):
        self.program.ask(f"kernel 0 {ENDLESS}", "ok")
        self.assertEqual(self.activity.head()["busy_queues"], 1)
        self.program.ask("destroy 0", "ok")
        self.assertEqual(self.activity.slot(self.first)["ring"], 0)
        self.assertEqual(self.activity.head()["busy_queues"], 0)

    def test_priorities_are_shown(self):
        self.client.priority(65500)
        self.program.ask("priority 0 2", "ok")
        self.program.ask("priority 1 0", "ok")
        self.assertEqual([self.activity.slot(queue)["logical_priority"] for queue in (self.first, self.second)],
                         [65535, 65400])

    def test_hints_reach_watchers(self):
        for word, begin, deadline, now_open in (("begin 5000", 1, 5000, 1), ("begin 0", 1, 0, 2), ("end", 0, 0, 1),
                                                ("end", 0, 0, 0)):
            self.program.ask(word, "ok")
            _, deadline_us, began, still = REQUEST_BODY.unpack(self.client.event(REQUEST))
            self.assertEqual((began, deadline_us, still), (begin, deadline, now_open))
            self.assertEqual(self.activity.head()["open_requests"], now_open)
        self.program.ask("end", "ok")  # one too many
        self.assertEqual(self.activity.head()["open_requests"], 0)


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Blind(Stage):
    """Without the runtime's tables the rings are looked at."""

    def test_edges_come_without_doorbells(self):
        self.machine()
        program = Program(self, launch=lambda stage: self.start("env", "-u", "HSA_TOOLS_LIB", stage))
        program.queues(1)
        client = self.connect()
        activity = client.watch()
        self.addCleanup(activity.close)
        program.ask("kernel 0 20000", "ok")
        self.assertEqual(client.edge()["busy"], 1)
        program.ask("wait 0", "done 1")
        self.assertEqual(client.edge()["busy"], 0)
        self.assertEqual(activity.slot(client.rings()[0])["doorbells"], 0)


if __name__ == "__main__":
    unittest.main()
