# SPDX-License-Identifier: MIT
"""The Python package, against a holder of a few lines."""
import errno
import gc
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

BUILD = os.path.dirname(os.environ["GP_BIN"])
SOURCE = os.path.dirname(os.path.dirname(os.environ["GP_FIXTURES"]))
os.environ["GPREEMPT_LIBRARY"] = os.path.join(BUILD, "lib", "libgpreempt.so.0")
sys.path.insert(0, os.path.join(SOURCE, "python"))
sys.dont_write_bytecode = True

import gpreempt  # noqa: E402
from gpreempt import Context, Error, EventKind, LeaseLost, Mechanism, QueueState, Target  # noqa: E402

LIMIT = 60


class Scene(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpy")
        os.environ.update(GPREEMPT_DIR=self.place, GPREEMPT_HOLDER=os.environ["FAKE_HOLDER_PROGRAM"])
        os.environ.pop("FAKE_HOLDER", None)
        self.process = subprocess.Popen(["sleep", "infinity"])
        self.pid = self.process.pid

    def tearDown(self):
        self.process.kill()
        self.process.wait(LIMIT)
        gc.collect()
        holder = self.holder()
        if holder is not None:
            # It ends with its last client: one that is still there was forgotten by the package.
            self.assertTrue(select.select([holder], [], [], LIMIT)[0])
            os.close(holder)
        shutil.rmtree(self.place)

    def holder(self):
        try:
            with open(os.path.join(self.place, "holder.lock")) as file:
                return os.pidfd_open(int(file.read()))
        except (FileNotFoundError, ProcessLookupError):
            return None

    def next_event(self, context):
        """The next event, waited for through the context's descriptor."""
        while True:
            self.assertTrue(select.select([context], [], [], LIMIT)[0])
            for event in context.events():
                return event


class Suspending(Scene):
    def test_a_block_holds_the_target(self):
        target = Target(self.pid)
        with target.suspended() as suspension:
            self.assertEqual(suspension.queues, 3)
            self.assertTrue(target.info().mine)
            self.assertEqual([queue.state for queue in target.queues()], [QueueState.SUSPENDED] * 3)
        self.assertFalse(target.info().suspended)

    def test_a_block_holds_the_copy_engines_when_asked_to(self):
        target = Target(self.pid)
        with target.suspended():
            self.assertFalse(target.info().copies)
        with target.suspended(copies=True):
            self.assertTrue(target.info().copies)
        self.assertFalse(target.info().copies)

    def test_the_one_liner(self):
        with Target(self.pid).suspended():
            with Target(self.pid) as other:
                self.assertEqual(len(other.queues()), 3)

    def test_a_target_that_is_not_used_any_more_lets_go_at_once(self):
        gc.disable()
        self.addCleanup(gc.enable)
        target = Target(self.pid)
        gone = weakref.ref(target)
        target.suspend(lease=60, limit=60)
        del target
        self.assertIsNone(gone())
        self.assertFalse(Target(self.pid).info().suspended)

    def test_an_exception_lets_go_and_passes(self):
        target = Target(self.pid)
        with self.assertRaises(KeyError):
            with target.suspended():
                raise KeyError("mine")
        self.assertFalse(target.info().suspended)

    def test_a_lost_lease_is_raised_at_the_end_of_the_block(self):
        with self.assertRaises(LeaseLost) as caught:
            with Target("lose").suspended():
                pass
        self.assertEqual(caught.exception.errno, errno.ENOLCK)

    def test_the_lease_is_renewed_while_the_block_runs(self):
        os.environ["FAKE_HOLDER"] = "forget"  # loses a lease when it is renewed: nothing else ends it
        with self.assertRaises(LeaseLost):
            with Target(self.pid).suspended(lease=0.05) as suspension:
                suspension._renewer.join(LIMIT)
                self.assertIsNotNone(suspension.lost)

    def test_by_hand(self):
        with Target(self.pid) as target:
            self.assertEqual(target.suspend(lease=60, limit=60), 3)
            target.renew()
            latency = target.latency()
            self.assertEqual((latency.issue, latency.driver, latency.queues), (11e-9, 22e-9, 3))
            self.assertGreater(latency.total, 0)
            self.assertEqual(target.resume(), 3)
            with self.assertRaises(LeaseLost):
                target.renew()

    def test_named_queues(self):
        with Target(self.pid) as target:
            self.assertEqual(target.suspend([0, 2]), 2)
            self.assertEqual(target.resume([0, 2]), 2)
            with self.assertRaises(Error) as caught:
                target.suspend([5000])
            self.assertEqual(caught.exception.errno, errno.ENOENT)
            self.assertIn("one of the specified queues does not exist", caught.exception.strerror)


class Reading(Scene):
    def test_what_is_not_known_is_none(self):
        queue = Target(self.pid).queues()[1]
        self.assertEqual((queue.kfd_id, queue.ring, queue.pid), (1, 0x7f0000010000, self.pid))
        for unknown in (queue.hsa_id, queue.object, queue.read_index, queue.busy, queue.hardware_priority,
                        queue.owner_pid, queue.since):
            self.assertIsNone(unknown)

    def test_more_queues_than_the_first_guess(self):
        self.assertEqual([queue.kfd_id for queue in Target("many").queues()], list(range(1300)))

    def test_info_and_priority(self):
        target = Target(self.pid)
        target.set_priority(gpreempt.PRIORITY_ONLINE)
        info = target.info()
        self.assertEqual((info.mechanism, info.priority, info.suspended, info.owner_pid),
                         (Mechanism.KFD_DEBUG, 2000, False, None))
        self.assertEqual(info.why, "a debug session (DBG_TRAP) can suspend the process")

    def test_errors_are_oserrors_with_the_sentence(self):
        with self.assertRaisesRegex(OSError, "the holder was built without this mechanism"):
            Target("refused")
        with self.assertRaises(OSError) as caught:
            Target(0x7ffffffe)
        self.assertEqual(caught.exception.errno, errno.ESRCH)
        with self.assertRaises(Error):
            Target(self.pid).set_priority(70000)
        with self.assertRaises(Error):
            Target(self.pid).share(0)
        for time in (0, -1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                Target(self.pid).suspend(lease=time)

    def test_a_closed_target_says_so(self):
        target = Target(self.pid)
        target.close()
        target.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            target.suspend()

    def test_a_holder_that_cannot_start_says_why(self):
        os.environ["FAKE_HOLDER"] = "fail"
        with self.assertRaisesRegex(Error, "it was told not to"):
            Context()

    def test_version_and_hints(self):
        self.assertRegex(gpreempt.version(), r"^\d+\.\d+\.\d+$")
        with gpreempt.request(deadline=0.005):
            pass


class Events(Scene):
    def test_asynchronous_calls_end_as_events(self):
        with Context() as context:
            target = Target(self.pid, context=context)
            ticket = target.suspend_async(lease=60)
            event = self.next_event(context)
            self.assertEqual((event.kind, event.ticket, event.result), (EventKind.DONE, ticket, 3))
            self.assertIs(event.target, target)
            ticket = target.resume_async()
            self.assertEqual(self.next_event(context).ticket, ticket)

    def test_the_holders_death_is_an_event(self):
        with Context() as context:
            target = Target(self.pid, context=context)
            target.suspend(lease=60, limit=60)
            holder = self.holder()
            signal.pidfd_send_signal(holder, signal.SIGKILL)
            os.close(holder)
            event = self.next_event(context)
            self.assertEqual((event.kind, event.target), (EventKind.LEASE_LOST, target))
            self.assertEqual(target.suspend(lease=60), 3)

    def test_threads_share_a_context(self):
        wrong = []
        with Context() as context:
            def work():
                target = Target(self.pid, context=context)
                for _ in range(50):
                    if target.suspend() != 3 or target.resume() != 3:
                        wrong.append(target)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
