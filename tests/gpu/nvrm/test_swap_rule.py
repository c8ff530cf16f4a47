# SPDX-License-Identifier: MIT
"""swap = after TIME | on pressure of a rule, on a stand-in for CUDA's checkpoint functions: out and back, refusals,
failures, kills, and what is shown."""
import json
import os
import shutil
import signal
import time
import unittest

from nvidia_stage import ACT, LIMIT, OFFLINE_US, ONLINE_US, DaemonStage

MIB = 1 << 20


class SwapRule(DaemonStage):
    def setUp(self):
        super().setUp()
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]
        self.server = shutil.copy(os.environ["GP_FAKE_TARGET"], os.path.join(self.place, "server"))
        self.trainer = shutil.copy(os.environ["GP_FAKE_TARGET"], os.path.join(self.place, "trainer"))

    def tearDown(self):
        self.keeper.ask("swap0")
        for program in self.programs:  # of whatever state, without its memory
            if program.process.poll() is None:
                self.gpreempt("release", str(program.process.pid))
        super().tearDown()

    def start(self, swap="after 10ms", strict="always", more="", lease="10s"):
        self.start_daemon(ACT.replace("lease = 10s", f"lease = {lease}") + more + f"[rule trainer]\nexecutable = {self.trainer}\nswap = {swap}\n"
                          f"[rule server]\nexecutable = {self.server}\nstrict = {strict}\n")

    def train(self, *options):
        return self.program("--class", "offline", *options, executable=self.trainer)

    def serve(self):
        return self.program("--class", "online", executable=self.server)

    def state(self, program):
        return int(self.keeper.ask(f"state{program.process.pid}"))

    def job(self, program):
        return next((job for job in self.jobs() if job["pid"] == program.process.pid), {})

    def until_out(self, program):
        self.until(lambda: self.job(program).get("away") == "swapped" and self.state(program) == 2, "it is not swapped out")
        self.until(lambda: self.job(program)["swapped_bytes"] == 64 * MIB, "its size is not known")

    def until_back(self, program):
        self.until(lambda: self.state(program) == 0 and self.job(program).get("away", 0) is None and not self.records(),
                   "it is not back")
        self.assertIsNone(program.process.poll())

    def records(self):
        return [name for name in os.listdir(self.place) if name.startswith("swapped-")]

    def why(self, program):
        return self.gpreempt("why", str(program.process.pid)).stdout

    def until_said(self, program, words):
        def said():
            text = self.gpreempt("why", "--json", str(program.process.pid)).stdout
            return text and words in (json.loads(text)["not_swapped"] or "")
        self.until(said, f"why does not say '{words}'")

    # ---- out and back ----

    def test_out_while_a_strict_job_is_served_and_back_when_it_ends(self):
        self.start()
        trainer, server = self.train(), self.serve()
        self.until_out(trainer)
        pid = trainer.process.pid
        self.assertRegex(self.gpreempt("top", "--once").stdout, f"(?m)^ *{pid} +0 +offline +500 +swapped ")
        self.assertRegex(self.why(trainer), r"It has been swapped out for .*: 64.0 MiB of GPU memory are in host memory")
        self.assertIn("is moved to host memory", self.gpreempt("log", "--all").stdout)
        status = json.loads(self.gpreempt("status", "--json").stdout)["swapped"]
        self.assertEqual([(one["pid"], one["bytes"], one["out"]) for one in status], [(pid, 64 * MIB, True)])
        seen = json.loads(self.gpreempt("ps", "--json").stdout)["swapped"]
        self.assertEqual([(one["pid"], one["bytes"]) for one in seen], [(pid, 64 * MIB)])
        self.assertIsNone(server.process.poll())
        server.close()
        self.until_back(trainer)
        self.assertEqual(self.keeper.ask("running"), "1")
        log = self.gpreempt("log", "--all").stdout
        self.assertRegex(log, "is released after .*: its GPU memory is moved to host memory")
        self.assertIn("is scheduled again after being swapped out for", log)
        self.assertNotRegex(log, "stopped|by hand")

    def test_requests_of_a_strict_job_and_again(self):
        self.start(strict="requests")
        trainer, server = self.train(), self.serve()
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "no slices by priority")
        for _ in range(2):
            self.assertEqual(server.ask("begin"), "ok 0")
            self.until_out(trainer)
            self.assertEqual(server.ask("end"), "ok 0")
            self.until_back(trainer)

    def test_a_hold_that_does_not_last_moves_nothing(self):
        self.start(swap="after 900s")
        trainer, _ = self.train(), self.serve()
        self.until(lambda: self.job(trainer).get("held"), "it is not held")
        self.assertEqual((self.state(trainer), self.records()), (0, []))

    def test_slices_are_set_again_when_it_is_back(self):
        self.start(strict="requests")
        trainer, server = self.train(), self.serve()
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "no slices by priority")
        server.ask("begin")
        self.until_out(trainer)
        server.ask("end")
        self.until_back(trainer)
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "the slices are not those that it had")

    def test_metrics(self):
        self.start(more=self.with_metrics(""))
        trainer, _ = self.train(), self.serve()
        self.until_out(trainer)
        text = self.metrics()
        self.assertIn("gpreempt_swapped_processes 1\n", text)
        self.assertIn(f"gpreempt_swapped_bytes {64 * MIB}\n", text)

    # ---- pressure ----

    def test_on_pressure(self):
        self.start(swap="on pressure", strict="no")
        self.keeper.ask("free51200")  # MiB, of 100 GiB
        trainer, server = self.train(), self.serve()
        self.keeper.ask(f"know{trainer.process.pid}")
        self.until(lambda: self.job(trainer).get("memory_bytes") == 64 * MIB, "its memory is not known")
        self.assertIn("It has 64.0 MiB of GPU memory.", self.why(trainer))
        self.assertEqual(self.state(trainer), 0)
        self.keeper.ask("free1024")
        self.until_out(trainer)
        # A little more is not enough for it; room is.
        self.keeper.ask("free51200")
        self.until_back(trainer)
        self.keeper.ask("free1024")
        self.until_out(trainer)
        server.close()
        self.until_back(trainer)

    def test_no_pressure_without_a_job_with_precedence(self):
        self.start(swap="on pressure", strict="no")
        self.keeper.ask("free1")
        trainer = self.train()
        self.keeper.ask(f"know{trainer.process.pid}")
        self.until(lambda: self.job(trainer).get("memory_bytes") == 64 * MIB, "its memory is not known")
        self.assertEqual(self.state(trainer), 0)

    # ---- ends ----

    def test_back_when_the_daemon_ends(self):
        for end in (signal.SIGTERM, signal.SIGKILL):
            self.start()
            trainer, server = self.train(), self.serve()
            self.until_out(trainer)
            if end == signal.SIGTERM:
                self.stop_daemon()
            else:
                self.kill_daemon()
            self.until(lambda: self.state(trainer) == 0 and not self.records(), "it stays out")
            trainer.close(), server.close()

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait(LIMIT)
        self.daemon.stdout.close()
        self.daemon = None

    def test_jobs_that_are_held_resume_before_the_daemon_waits_for_memory(self):
        self.start(lease="60s")
        trainer, _ = self.train(), self.serve()
        self.until_out(trainer)
        other = self.program("--class", "offline")
        self.until(lambda: self.job(other).get("held"), "it is not held")
        self.keeper.ask("swap32")  # the helper stands still before it moves anything back
        self.daemon.terminate()
        start = time.monotonic()
        self.until(lambda: int(self.keeper.ask("helper")), "the memory is not moved back")
        self.until(lambda: self.keeper.ask("channels").split()[1] == "0", "it stays suspended while memory is moved")
        self.assertLess(time.monotonic() - start, 30, "the end of its lease resumed it, and not the daemon")
        self.assertIsNone(self.daemon.poll())
        os.kill(int(self.keeper.ask("swap0")), signal.SIGCONT)
        self.daemon_ended()
        self.assertEqual((self.state(trainer), self.records()), (0, []))

    def test_the_next_daemon_brings_it_back(self):
        self.start()
        trainer, server = self.train(), self.serve()
        self.until_out(trainer)
        self.keeper.ask("free1")  # MiB: there is no room for it
        self.stop_daemon()
        self.assertEqual((self.state(trainer), len(self.records())), (2, 1))
        server.close()
        self.start()
        self.until_out(trainer)
        self.keeper.ask("free51200")
        self.until_back(trainer)

    def keeper_of(self):
        with open(os.path.join(self.place, self.records()[0])) as file:
            return int(file.read().split()[1])

    def test_a_keeper_that_is_killed_is_replaced(self):
        self.start()
        trainer, _ = self.train(), self.serve()
        self.until_out(trainer)
        os.kill(self.keeper_of(), signal.SIGKILL)
        self.until_back(trainer)

    def test_released_by_hand_it_stays_for_a_while(self):
        self.start()
        trainer, _ = self.train(), self.serve()
        self.until_out(trainer)
        self.assertEqual(self.gpreempt("release", str(trainer.process.pid)).returncode, 0)
        self.until_back(trainer)
        self.until_said(trainer, "was released and is running again")
        self.assertRegex(self.why(trainer), "It was not swapped out: .* was released")
        self.assertEqual(self.state(trainer), 0)

    def test_a_process_that_ends_while_it_is_out(self):
        self.start()
        trainer, _ = self.train(), self.serve()
        self.until_out(trainer)
        trainer.close()
        self.until(lambda: not self.job(trainer) and not self.records(), "it is still known")

    def test_a_rule_that_goes_brings_it_back(self):
        self.start()
        trainer, _ = self.train(), self.serve()
        self.until_out(trainer)
        path = os.path.join(self.place, "gpreemptd.conf")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("swap = after 10ms", "swap = no"))
        self.daemon.send_signal(signal.SIGHUP)
        self.until_back(trainer)

    def test_both_are_killed_at_every_step_and_release_brings_it_back(self):
        for step, when in [(step, when) for step in (1, 2) for when in (2, 3)]:
            with self.subTest(step=step, when=when):
                self.start()
                self.keeper.ask(f"swap{step * 10 + when}")
                trainer, server = self.train(), self.serve()
                self.until(lambda: int(self.keeper.ask("helper")), "the step is not reached")
                helper = int(self.keeper.ask("swap0"))
                keeper = self.keeper_of()
                self.kill_daemon()
                try:
                    os.kill(keeper, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                os.kill(helper, signal.SIGKILL)
                self.assertEqual(self.gpreempt("release", str(trainer.process.pid)).returncode, 0)
                self.until(lambda: self.state(trainer) == 0 and not self.records(), "it stays out")
                trainer.close(), server.close()

    # ---- refused, or failed: it runs or is held as before ----

    def not_swapped(self, program, words):
        self.until_said(program, words)
        self.assertEqual((self.state(program), self.records()), (0, []))
        self.until(lambda: self.job(program).get("held"), "it is not held any more")
        self.assertIn(words, self.stop_daemon())

    def test_endless_work(self):
        self.keeper.ask("endless1")
        self.start()
        trainer, _ = self.train(), self.serve()
        self.not_swapped(trainer, "its work did not end within 5 s")

    def test_a_step_that_fails(self):
        for step, name in ((1, "lock"), (2, "checkpoint")):
            self.keeper.ask(f"swap{step * 10 + 1}")
            self.start()
            trainer, server = self.train(), self.serve()
            self.not_swapped(trainer, f"CUDA error 999 at step '{name}'")
            trainer.close(), server.close()

    def test_host_memory(self):
        self.start(more="swap_memory = 32MiB\n")
        trainer, _ = self.train(), self.serve()
        self.not_swapped(trainer, "processes that are swapped out would take more than 32.0 MiB of host memory")

    def test_ranks_that_use_nccl(self):
        library = shutil.copy(os.environ["GP_FAKE_PRELOAD"], os.path.join(self.place, "libnccl.so.2"))
        clean, self.env = self.env, dict(self.env, WORLD_SIZE="2", LD_PRELOAD=library)
        trainer = self.train()
        self.env = clean
        self.start()
        self.serve()
        self.not_swapped(trainer, "NCCL")

    def test_several_processes(self):
        self.start()
        trainer, _ = self.train("--group", "ranks"), self.train("--group", "ranks")
        self.serve()
        self.until_said(trainer, "its job has several processes")
        self.assertEqual((self.state(trainer), self.records()), (0, []))

    def test_memory_that_does_not_fit_back_is_tried_again(self):
        self.start()
        trainer, server = self.train(), self.serve()
        self.until_out(trainer)
        self.keeper.ask("free1")
        server.close()
        self.until_said(trainer, "it needs 64.0 MiB on the GPU")
        self.assertEqual(self.state(trainer), 2)
        self.keeper.ask("free1024")
        self.until_back(trainer)


if __name__ == "__main__":
    unittest.main()
