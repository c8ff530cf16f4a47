# SPDX-License-Identifier: MIT
"""gpreemptd and CUDA programs in any order and number, on a fake resource manager: slices, and turns of batch jobs."""
import json
import os
import shutil
import signal
import unittest

from nvidia_stage import ACT, DEFAULT_US, OFFLINE_US, ONLINE_US, DaemonStage


class Orders(DaemonStage):
    def slices_are(self, *wanted):
        self.until(lambda: self.slices() == list(wanted), f"not {wanted}")

    def test_the_daemon_is_there_first_and_libcuda_sets_its_slice_last(self):
        self.start_daemon()
        for job_class, wanted in (("online", [DEFAULT_US]), ("offline", [ONLINE_US, OFFLINE_US])):
            program = self.program("--class", job_class, first="make")
            self.until(lambda: len([job for job in self.jobs() if job["queues"]]) == len(wanted), "it is no job")
            if len(wanted) > 1:  # set as soon as the group was there
                self.until(lambda: self.slices()[-1] == wanted[-1], "no slice by priority")
            self.assertEqual(program.ask("slice"), "ok 0")
            self.slices_are(*wanted)

    def test_the_daemon_comes_between_the_programs(self):
        self.program("--class", "offline")
        self.start_daemon()
        self.program("--class", "online")
        self.slices_are(OFFLINE_US, ONLINE_US)

    def test_the_daemon_comes_last_and_again(self):
        self.program("--class", "offline"), self.program("--class", "online")
        for _ in range(3):
            self.start_daemon()
            self.slices_are(OFFLINE_US, ONLINE_US)
            self.stop_daemon()
            self.slices_are(DEFAULT_US, DEFAULT_US)

    def test_programs_exit_and_start_again(self):
        self.start_daemon()
        self.program("--class", "online")
        for _ in range(3):
            trainer = self.program("--class", "offline", first="make")
            self.assertEqual(trainer.ask("slice"), "ok 0")
            self.slices_are(ONLINE_US, OFFLINE_US)
            trainer.close()
            self.slices_are(DEFAULT_US)

    def test_contexts_that_a_program_without_an_agent_makes_later(self):
        trainer = shutil.copy(os.environ["GP_FAKE_TARGET"], os.path.join(self.place, "trainer"))
        self.start_daemon(ACT + f"[rule one]\nexecutable = {trainer}\nattach = yes\nclass = offline\n")
        program = self.program(executable=trainer)
        self.program("--class", "online")
        self.slices_are(OFFLINE_US, ONLINE_US)
        self.assertEqual(program.ask("make"), "ok 0")
        self.slices_are(OFFLINE_US, ONLINE_US, OFFLINE_US)
        self.assertEqual(program.ask("slice"), "ok 0")
        self.slices_are(OFFLINE_US, ONLINE_US, OFFLINE_US)

    def job(self, program):
        return next((job for job in self.jobs() if job["pid"] == program.process.pid), {})

    def reported(self, program):
        return tuple(self.job(program).get(key) for key in ("slice", "slice_us"))

    def test_what_is_reported_is_what_the_driver_has(self):
        self.start_daemon()
        server = self.program("--class", "online")
        self.until(lambda: self.reported(server) == ("confirmed", DEFAULT_US), "not what it has alone")
        trainer = self.program("--class", "offline")
        self.until(lambda: self.reported(trainer) == ("confirmed", OFFLINE_US), "not confirmed")
        self.until(lambda: self.reported(server) == ("confirmed", ONLINE_US), "not confirmed")
        self.assertRegex(self.gpreempt("top", "--once").stdout, "(?m)offline .* 31 us +fake_target ")
        self.assertIn("The driver reports a time slice of 31 us", self.gpreempt("why", str(trainer.process.pid)).stdout)
        self.assertRegex(self.gpreempt("log").stdout, "the driver reports a time slice of 31 us for fake_target")

    def test_a_slice_that_the_driver_loses_is_not_reported_as_set(self):
        self.start_daemon()
        self.program("--class", "online")
        self.until(lambda: len(self.jobs()) == 1, "it is no job")
        self.keeper.ask("lose1000000")
        trainer = self.program("--class", "offline")
        self.until(lambda: self.reported(trainer) == ("failed", None), "a slice is claimed that is not there")
        self.assertNotIn(OFFLINE_US, self.slices())
        self.assertIn("cannot be set: Input/output error", self.gpreempt("why", str(trainer.process.pid)).stdout)
        self.assertIn("cannot set the time slice of fake_target", self.gpreempt("log").stdout)
        # It is tried again and again.
        self.keeper.ask("lose0")
        self.slices_are(ONLINE_US, OFFLINE_US)
        self.until(lambda: self.reported(trainer) == ("confirmed", OFFLINE_US), "it is set and not reported")

    def test_a_slice_that_cannot_be_set_is_tried_again(self):
        self.start_daemon()
        self.program("--class", "online")
        self.until(lambda: len(self.jobs()) == 1, "it is no job")
        self.keeper.ask("fail9")
        self.program("--class", "offline", first="make")
        self.slices_are(ONLINE_US, OFFLINE_US)

    def test_a_stopped_program_takes_its_priority_when_it_continues(self):
        """Its greeting, which the holder reads first then, has the priority that it had before."""
        program = self.program("--class", "offline")
        pid = program.process.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.gpreempt("renice", "310", str(pid)).returncode, 0)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.until(lambda: json.loads(self.gpreempt("status", str(pid), "--json").stdout or "{}").get("priority") == 310,
                   "another priority is reported")

    # ---- turns ----

    def held(self):
        return sorted(job["pid"] for job in self.jobs() if job["held"])

    def take_turns(self, trainers):
        """All but one of them are held, and each is the one sooner or later."""
        pids, ran = {trainer.process.pid for trainer in trainers}, set()

        def look():
            rest = pids - set(self.held())
            if len(rest) == 1:
                ran.update(rest)
            return ran == pids
        self.until(look, "not all of them had their turn")
        self.until(lambda: self.keeper.ask("channels").split()[1] == str(8 * (len(trainers) - 1)),
                   "not one at a time")

    def test_batch_jobs_take_turns_beside_a_server_and_alone(self):
        self.start_daemon()
        server = self.program("--class", "online")
        trainers = [self.program("--class", "offline") for _ in range(3)]
        # One at a time: its slice, and the server's, do not depend on how many there are.
        self.slices_are(ONLINE_US, OFFLINE_US, OFFLINE_US, OFFLINE_US)
        self.take_turns(trainers)
        self.assertNotIn(server.process.pid, self.held())
        trainers.pop().close()
        self.take_turns(trainers)
        server.close()
        self.slices_are(DEFAULT_US, DEFAULT_US)
        self.take_turns(trainers)
        trainers.pop().close()
        self.until(lambda: not self.held(), "the last one is held")
        self.assertEqual(self.keeper.ask("running"), "1")

    def test_jobs_that_are_not_batch_jobs_run_side_by_side_with_longer_slices(self):
        self.start_daemon()
        self.program("--class", "online")
        self.program("--class", "normal")
        self.slices_are(2048 * 941 // 59, 2048 * 58 // 942)  # one alone is out of the way at once
        self.program("--class", "normal")
        self.slices_are(2048 * 888 // 112, 2048 * 328 // 672, 2048 * 328 // 672)
        self.assertEqual(self.held(), [])

    def test_eight_batch_jobs_and_a_daemon_that_comes_last(self):
        trainers = [self.program("--class", "offline") for _ in range(8)]
        self.start_daemon()
        self.take_turns(trainers)
        self.stop_daemon()
        self.assertEqual(self.keeper.ask("running"), "1")

    def test_the_ranks_of_one_job_have_their_turn_together(self):
        self.start_daemon()
        ranks = [self.program("--class", "offline", "--group", "ddp") for _ in range(2)]
        other = self.program("--class", "offline")
        seen = set()

        def look():
            seen.add(self.keeper.ask("channels"))
            return {"24 8", "24 16"} <= seen
        self.until(look, "no turns")
        for rank in ranks:
            rank.close()
        self.until(lambda: not self.held(), "it is held for nothing")
        other.close()

    def test_turns_end_with_a_daemon_or_holder_that_is_killed(self):
        trainers = [self.program("--class", "offline") for _ in range(2)]
        for _ in range(2):
            self.start_daemon(ACT.replace("lease = 10s", "lease = 100ms"))
            self.take_turns(trainers)
            self.daemon.kill()
            self.daemon.wait(60)
            self.assertEqual(self.keeper.ask("running"), "1")

    def test_observing_stops_nothing(self):
        self.start_daemon(ACT.replace("act", "observe"))
        for _ in range(2):
            self.program("--class", "offline")
        self.until(lambda: self.held(), "no turn was decided")
        self.assertEqual(self.keeper.ask("channels"), "16 0")


if __name__ == "__main__":
    unittest.main()
