# SPDX-License-Identifier: MIT
"""gpreempt suspend --swap on a stand-in for CUDA's checkpoint functions: out and back, refusals, failures and kills at
every step."""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import unittest

from nvidia_stage import GPREEMPT, LIMIT, DaemonStage

LOCK, CHECKPOINT, RESTORE, UNLOCK = 1, 2, 3, 4
FAILS, BEFORE, AFTER, FAILS_LATE = 1, 2, 3, 4
STEPS = [(step, when) for step in (LOCK, CHECKPOINT, RESTORE, UNLOCK) for when in (BEFORE, AFTER)]


class Swap(DaemonStage):
    def setUp(self):
        super().setUp()
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]
        self.keepers = []

    def tearDown(self):
        self.keeper.ask("swap0")
        for process in self.keepers:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT)
            process.stdout.close()
            process.stderr.close()
        super().tearDown()

    def suspend(self, pid, *options, after="50ms"):
        process = subprocess.Popen([GPREEMPT, "suspend", str(pid), "--swap-after", after, "--json", *options],
                                   env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.keepers.append(process)
        return process

    def event(self, process, name):
        """The next event, which must be this one."""
        line = process.stdout.readline()
        self.assertTrue(line, process.stderr.read() if process.poll() is not None else "no event")
        event = json.loads(line)
        self.assertEqual(event["event"], name, event)
        return event

    def state(self, program):
        return int(self.keeper.ask(f"state{program.process.pid}"))

    def swap_out(self):
        program = self.program()
        process = self.suspend(program.process.pid)
        self.event(process, "suspended")
        self.assertEqual(self.event(process, "swapped_out")["bytes"], 64 << 20)
        self.assertEqual(self.state(program), 2)
        return program, process

    def records(self):
        return [name for name in os.listdir(self.place) if name.startswith("swapped-")]

    def runs(self, program):
        self.assertEqual(self.state(program), 0)
        self.assertEqual(self.keeper.ask("running"), "1")
        self.assertEqual(self.records(), [])
        self.assertIsNone(program.process.poll())

    def end(self, process):
        """Its exit status and what it said."""
        _, said = process.communicate(timeout=LIMIT)
        return process.returncode, said

    def test_out_and_back(self):
        program, process = self.swap_out()
        pid = program.process.pid
        shown = json.loads(self.gpreempt("status", "--json").stdout)["swapped"]
        self.assertEqual([(one["pid"], one["bytes"], one["out"]) for one in shown], [(pid, 64 << 20, True)])
        self.assertRegex(self.gpreempt("status").stdout, f"(?m)^ *{pid} +64.0 MiB")
        seen = json.loads(self.gpreempt("ps", "--json").stdout)
        self.assertEqual([(one["pid"], one["bytes"]) for one in seen["swapped"]], [(pid, 64 << 20)])
        self.assertEqual(self.gpreempt("resume", str(pid)).returncode, 0)
        self.event(process, "swapped_in")
        self.assertEqual(self.end(process)[0], 0)
        self.runs(program)

    def test_metrics(self):
        program, _ = self.swap_out()
        self.start_daemon(self.with_metrics())
        text = self.metrics()
        self.assertIn("gpreempt_swapped_processes 1\n", text)
        self.assertIn(f"gpreempt_swapped_bytes {64 << 20}\n", text)
        self.assertEqual(self.state(program), 2)

    def test_twenty_cycles(self):
        program = self.program()
        for _ in range(20):
            process = self.suspend(program.process.pid, after="0")
            self.event(process, "suspended")
            self.event(process, "swapped_out")
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.end(process)[0], 0)
            self.runs(program)

    def test_a_hold_that_ends_sooner_moves_nothing(self):
        program = self.program()
        process = self.suspend(program.process.pid, "--for", "100ms", after="1h")
        self.event(process, "suspended")
        self.event(process, "resumed")
        self.assertEqual(self.end(process)[0], 0)
        self.runs(program)

    # ---- refused, before anything is touched ----

    def refused(self, program, words):
        switches = self.keeper.ask("channels")
        process = self.suspend(program.process.pid)
        status, said = self.end(process)
        self.assertEqual(status, 1)
        self.assertIn(words, said)
        self.assertEqual(self.keeper.ask("channels"), switches)
        self.runs(program)

    def test_host_memory_that_does_not_suffice(self):
        self.keeper.ask("used100000000")
        self.refused(self.program(), "of host memory while it is out")

    def test_ranks_that_use_nccl(self):
        library = shutil.copy(os.environ["GP_FAKE_PRELOAD"], os.path.join(self.place, "libnccl.so.2"))
        clean, self.env = self.env, dict(self.env, WORLD_SIZE="2", LD_PRELOAD=library)
        program = self.program()
        self.env = clean
        self.refused(program, "NCCL")

    def test_one_rank_alone_may_have_loaded_nccl(self):
        library = shutil.copy(os.environ["GP_FAKE_PRELOAD"], os.path.join(self.place, "libnccl.so.2"))
        clean, self.env = self.env, dict(self.env, WORLD_SIZE="1", LD_PRELOAD=library)
        program = self.program()
        self.env = clean
        process = self.suspend(program.process.pid)
        self.event(process, "suspended")
        self.event(process, "swapped_out")

    def test_libcuda_without_the_functions(self):
        del self.env["LD_LIBRARY_PATH"]
        self.refused(self.program(), "libcuda cannot be loaded or lacks the checkpoint functions")

    def test_a_process_that_is_swapped_out_already(self):
        program, process = self.swap_out()
        second = self.suspend(program.process.pid)
        status, said = self.end(second)
        self.assertEqual(status, 1)
        self.assertEqual(self.state(program), 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 0)

    def test_groups_and_queues(self):
        self.assertEqual(self.gpreempt("suspend", "--group", "x", "--swap").returncode, 2)
        self.assertEqual(self.gpreempt("suspend", "4711", "3", "--swap").returncode, 2)

    # ---- failures ----

    def test_endless_work_stays_suspended_and_where_it_is(self):
        self.keeper.ask("endless1")
        program = self.program()
        process = self.suspend(program.process.pid)
        self.event(process, "suspended")
        self.event(process, "swap_failed")
        self.event(process, "suspended")
        self.assertEqual((self.state(program), self.records()), (0, []))
        self.assertEqual(self.keeper.ask("channels"), "8 8")
        process.send_signal(signal.SIGINT)
        status, said = self.end(process)
        self.assertEqual(status, 0)
        self.assertIn("its work did not end within 5 s", said)
        self.runs(program)

    def test_a_step_that_fails_on_the_way_out(self):
        for step in (LOCK, CHECKPOINT):
            self.keeper.ask(f"swap{step * 10 + FAILS}")
            program = self.program()
            process = self.suspend(program.process.pid)
            self.event(process, "suspended")
            self.event(process, "swap_failed")
            self.event(process, "suspended")
            self.assertEqual((self.state(program), self.records()), (0, []))
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.end(process)[0], 0)
            self.runs(program)
            program.close()

    def test_a_lock_that_fails_is_not_called_a_timeout(self):
        self.keeper.ask(f"swap{LOCK * 10 + FAILS}")
        process = self.suspend(self.program().process.pid)
        self.event(process, "suspended")
        self.event(process, "swap_failed")
        process.send_signal(signal.SIGINT)
        _, said = self.end(process)
        self.assertIn("CUDA error 999 at step 'lock'", said)
        self.assertNotIn("did not end within", said)

    def test_a_lock_that_was_given_although_its_call_failed_is_taken_back(self):
        for blind in (0, 1):
            self.keeper.ask(f"swap{LOCK * 10 + FAILS_LATE}")
            self.keeper.ask(f"blind{blind}")
            program = self.program()
            process = self.suspend(program.process.pid)
            self.event(process, "suspended")
            self.event(process, "swap_failed")
            self.event(process, "suspended")
            self.assertEqual((self.state(program), self.records()), (0, []), blind)
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.end(process)[0], 0)
            self.runs(program)
            program.close()

    def test_a_state_that_cannot_be_read_is_not_called_running(self):
        self.keeper.ask(f"swap{LOCK * 10 + FAILS_LATE}")
        self.keeper.ask("blind9")
        program = self.program()
        process = self.suspend(program.process.pid)
        self.event(process, "suspended")
        self.event(process, "swap_failed")
        self.assertEqual((self.state(program), len(self.records())), (1, 1))
        process.kill()
        process.wait(LIMIT)
        self.assertIn(f"'gpreempt release {program.process.pid}' brings it back", process.stderr.read())
        self.keeper.ask("blind0")
        self.assertEqual(self.gpreempt("release", str(program.process.pid)).returncode, 0)
        self.runs(program)

    def test_memory_of_several_gpus_together(self):
        """It may have been on several, so what one of them lacks does not keep it out."""
        program, process = self.swap_out()
        self.keeper.ask("gpus2")
        self.keeper.ask("free40")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 0)
        self.runs(program)

    def test_a_single_queue_of_a_process_that_is_out_stays_where_it_is(self):
        program, process = self.swap_out()
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.sigqueue(process.pid, signal.SIGRTMIN + 5, ctypes.c_void_p(3)), 0)
        self.assertIn("is swapped out; its queues resume together", process.stderr.readline())
        self.assertEqual(self.state(program), 2)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 0)
        self.runs(program)

    def test_a_step_that_fails_on_the_way_back_can_be_repeated(self):
        for step in (RESTORE, UNLOCK):
            program, process = self.swap_out()
            self.keeper.ask(f"swap{step * 10 + FAILS}")
            process.send_signal(signal.SIGINT)
            status, said = self.end(process)
            self.assertEqual(status, 1)
            self.assertIn(f"'gpreempt release {program.process.pid}' brings it back", said)
            self.assertEqual(len(self.records()), 1)
            self.keeper.ask("swap0")
            self.assertEqual(self.gpreempt("release", str(program.process.pid)).returncode, 0)
            self.runs(program)
            program.close()

    def test_gpu_memory_that_does_not_suffice_for_the_way_back(self):
        program, process = self.swap_out()
        self.keeper.ask("free1")
        process.send_signal(signal.SIGINT)
        status, said = self.end(process)
        self.assertEqual((status, self.state(program)), (1, 2))
        self.assertIn("it needs 64.0 MiB on the GPU, and 1.0 MiB are free", said)
        self.keeper.ask("free1024")
        self.assertEqual(self.gpreempt("release", "--all").returncode, 0)
        self.runs(program)

    # ---- kills ----

    def reach(self, step, when):
        """A program and the command that suspends it, with a helper that stands still at this step."""
        program = self.program()
        if step in (LOCK, CHECKPOINT):
            self.keeper.ask(f"swap{step * 10 + when}")
        process = self.suspend(program.process.pid)
        self.event(process, "suspended")
        if step in (RESTORE, UNLOCK):
            self.event(process, "swapped_out")
            self.keeper.ask(f"swap{step * 10 + when}")
            process.send_signal(signal.SIGINT)
        self.until(lambda: int(self.keeper.ask("helper")), f"step {step}.{when} is not reached")
        return program, process, int(self.keeper.ask("swap0"))

    def test_the_helper_is_killed_at_every_step(self):
        for step, when in STEPS:
            with self.subTest(step=step, when=when):
                program, process, helper = self.reach(step, when)
                os.kill(helper, signal.SIGKILL)
                if step in (LOCK, CHECKPOINT):
                    self.event(process, "swap_failed")
                    self.event(process, "suspended")
                    self.assertEqual((self.state(program), self.keeper.ask("channels")), (0, "8 8"))
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(self.end(process)[0], 0)
                else:
                    self.assertEqual(self.end(process)[0], 1)
                    self.gpreempt("release", str(program.process.pid))
                self.runs(program)
                program.close()

    def test_the_command_and_its_helper_are_killed_at_every_step(self):
        for step, when in STEPS:
            with self.subTest(step=step, when=when):
                program, process, helper = self.reach(step, when)
                process.kill()
                process.wait(LIMIT)
                os.kill(helper, signal.SIGKILL)
                released = self.gpreempt("release", str(program.process.pid))
                self.assertEqual(released.returncode, 0, released.stderr)
                self.runs(program)
                program.close()

    def test_the_command_is_killed_while_the_memory_is_out(self):
        program, process = self.swap_out()
        process.kill()
        process.wait(LIMIT)
        self.assertEqual(self.state(program), 2)
        self.assertIn("swapped in 1 process", self.gpreempt("release", "--all").stdout)
        self.runs(program)

    def test_a_record_that_is_lost_is_not_needed(self):
        program, process = self.swap_out()
        process.kill()
        process.wait(LIMIT)
        os.unlink(os.path.join(self.place, self.records()[0]))
        self.assertEqual(self.gpreempt("release", str(program.process.pid)).returncode, 0)
        self.runs(program)

    def test_released_by_another_command(self):
        program, process = self.swap_out()
        self.assertEqual(self.gpreempt("release", str(program.process.pid)).returncode, 0)
        self.event(process, "lease_lost")
        self.assertEqual(self.end(process)[0], 1)
        self.runs(program)

    def test_a_process_that_ends_while_its_memory_is_out(self):
        program, process = self.swap_out()
        program.close()
        self.event(process, "gone")
        self.assertEqual((self.end(process)[0], self.records()), (0, []))


if __name__ == "__main__":
    unittest.main()
