# SPDX-License-Identifier: MIT
"""gpreemptd and CUDA programs on a fake resource manager: who came with `gpreempt run`, by rule, or not at all."""
import json
import os
import shutil
import signal
import subprocess
import unittest

from nvidia_stage import ACT, DEFAULT_US, GPREEMPT, LIMIT, OFFLINE_US, ONLINE_US, DaemonStage


class Daemon(DaemonStage):
    def test_a_server_gets_long_slices_and_a_trainer_short_ones(self):
        self.start_daemon()
        trainer = self.program("--class", "offline")
        self.until(lambda: [job["queues"] for job in self.jobs()] == [1], "the trainer is no job")
        self.assertEqual(self.slices(), [DEFAULT_US])  # alone
        self.assertEqual([self.jobs()[0][key] for key in ("busy_queues", "ran_ns", "backlog")], [None] * 3)
        self.assertRegex(self.gpreempt("top", "--once").stdout, f"(?m)^ *{trainer.process.pid} +0 +offline +500 +sharing ")
        self.assertIn("nv-timeslice", self.gpreempt("why", str(trainer.process.pid)).stdout)
        server = self.program("--class", "online")
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "no slices by priority")
        # A context that is made later gets the same slice.
        self.assertEqual(trainer.ask("context"), "ok 0")
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US, OFFLINE_US], "the new context is left out")
        # A program that is alone again has the driver's slice.
        server.close()
        self.until(lambda: self.slices() == [DEFAULT_US] * 2, "slices stay")

    def test_a_changed_priority_changes_the_slices(self):
        self.start_daemon()
        first, _ = self.program("--class", "offline"), self.program("--class", "offline")
        self.until(lambda: len(self.jobs()) == 2, "no jobs")
        done = self.gpreempt("renice", "online", str(first.process.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.until(lambda: self.slices() == [ONLINE_US, OFFLINE_US], "renice changes nothing")

    def test_a_changed_priority_of_a_stopped_program_is_requested(self):
        self.start_daemon()
        pid = self.program("--class", "offline").process.pid
        self.until(lambda: len(self.jobs()) == 1, "no job")
        os.kill(pid, signal.SIGSTOP)
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                self.until(lambda: stat.seek(0) == 0 and stat.read().rsplit(")", 1)[1].split()[0] == "T", "it is not stopped")
            done = self.gpreempt("renice", "online", str(pid))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout, f"process {pid}: priority 2000 requested; it takes effect when the process continues\n")
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.gpreempt("renice", "online", str(pid)).stdout, f"process {pid}: priority 2000\n")

    def test_a_program_without_an_agent_is_taken_by_a_rule(self):
        # A program of its own: other tests' are none of this daemon's business.
        trainer = shutil.copy(os.environ["GP_FAKE_TARGET"], os.path.join(self.place, "trainer"))
        self.start_daemon(ACT + f"[rule one]\nexecutable = {trainer}\nattach = yes\nclass = offline\n")
        self.program(executable=trainer)
        self.until(lambda: len(self.jobs()) == 1, "it is no job")
        self.assertEqual(self.jobs()[0]["class"], "offline")
        self.program("--class", "online")
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "no slices by priority")
        # Its priority can be changed as well as if it had one.
        done = self.gpreempt("renice", "online", str(self.programs[0].process.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.until(lambda: self.slices() == [DEFAULT_US] * 2, "renice changes nothing")

    def test_slices_are_as_they_were_when_the_daemon_is_killed(self):
        self.start_daemon()
        self.program("--class", "offline"), self.program("--class", "online")
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "no slices by priority")
        self.daemon.kill()
        self.daemon.wait(LIMIT)
        self.until(lambda: self.slices() == [DEFAULT_US] * 2, "slices stay")

    def start_strict(self, strict, device="", server=None):
        """A daemon with a rule for a server, which may hold others for long; the server's program."""
        server = server or shutil.copy(os.environ["GP_FAKE_TARGET"], os.path.join(self.place, "server"))
        self.start_daemon(ACT + "max_suspend = 900s\n" + "[device *]\nage_step = 0\n" + device +
                          f"[rule strict]\nexecutable = {server}\nstrict = {strict}\n")
        return server

    def stopped(self):
        return self.keeper.ask("channels").split()[1], self.keeper.ask("copies").split()[1]

    def test_a_strict_server_has_a_trainer_stopped_for_each_request(self):
        executable = self.start_strict("requests")
        trainer = self.program("--class", "offline")
        server = self.program("--class", "online", executable=executable)
        self.until(lambda: self.slices() == [OFFLINE_US, ONLINE_US], "no slices by priority")  # as without it
        self.assertEqual(self.stopped(), ("0", "0"))
        for _ in range(2):
            self.all_ok(server, "begin")
            self.until(lambda: self.stopped() == ("8", "0"), "the trainer is not stopped")
            job = next(job for job in self.jobs() if job["pid"] == trainer.process.pid)
            self.assertTrue(job["held"])
            why = self.gpreempt("why", str(trainer.process.pid)).stdout
            self.assertIn(f"to make room for pid {server.process.pid}", why)
            self.assertRegex(why, "makes room for .* estimated cost [^,]*\n")  # its remaining work is unknown
            self.assertRegex(self.gpreempt("top", "--once").stdout, "offline +500 +held")
            self.all_ok(server, "end")
            self.assertEqual(self.keeper.ask("running"), "1")
            self.until(lambda: not any(job["held"] for job in self.jobs()), "it is held on")

    def test_a_request_that_began_before_the_gpu_was_opened(self):
        executable = self.start_strict("requests")
        self.program("--class", "offline")
        server = self.program("--class", "online", executable=executable, first="begin")
        self.all_ok(server, "context")
        self.until(lambda: self.stopped() == ("8", "0"), "the trainer is not stopped")
        self.all_ok(server, "end")
        self.until(lambda: not any(job["held"] for job in self.jobs()), "it is held on")

    def test_a_request_that_began_before_the_daemon_was_there(self):
        executable = shutil.copy(os.environ["GP_FAKE_TARGET"], os.path.join(self.place, "server"))
        server = self.program("--class", "online", executable=executable)
        self.all_ok(server, "begin", "begin", "end")
        self.start_strict("requests", server=executable)
        self.program("--class", "offline")
        self.until(lambda: self.stopped() == ("8", "0"), "the trainer is not stopped")
        self.all_ok(server, "end")
        self.until(lambda: not any(job["held"] for job in self.jobs()), "it is held on")

    def test_a_strict_hold_ends_with_the_daemon(self):
        executable = self.start_strict("always", "copies = yes\n")
        self.program("--class", "offline")
        self.program("--class", "online", executable=executable)
        self.until(lambda: self.stopped() == ("8", "12"), "the trainer and its copies are not stopped")
        self.daemon.kill()
        self.daemon.wait(LIMIT)
        self.assertEqual(self.keeper.ask("running"), "1")

    def test_a_strict_hold_ends_with_the_server(self):
        executable = self.start_strict("always")
        self.program("--class", "offline")
        server = self.program("--class", "online", executable=executable)
        self.until(lambda: self.stopped() == ("8", "0"), "the trainer is not stopped")
        server.close()
        self.assertEqual(self.keeper.ask("running"), "1")

    def test_observing_changes_nothing(self):
        self.start_daemon(ACT.replace("act", "observe"))
        self.program("--class", "offline"), self.program("--class", "online")
        self.until(lambda: len(self.jobs()) == 2, "no jobs")
        self.assertEqual(self.slices(), [DEFAULT_US] * 2)

    def test_an_announced_request_keeps_the_gpu_until_it_ends(self):
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]
        for run, launched in (((), ["ok 0"] * 4), (("--ahead", "600us"), ["ok 1009", "ok 1009", "ok 9", "ok 1018"])):
            program = self.program("--class", "online", *run)
            self.assertEqual(program.ask("cuda"), "ok 0")
            seen = []
            for word in ("begin", "begin", "end", "begin"):  # two requests that overlap, then another
                self.assertEqual(program.ask(word), "ok 0")
                if word == "end":
                    self.assertEqual(program.ask(word), "ok 0")
                seen.append(program.ask("launches"))
            self.assertEqual(seen, launched)
            program.close()

    def announcing(self):
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]
        program = self.program("--class", "online", "--ahead", "20ms")
        self.assertEqual(program.ask("cuda"), "ok 0")
        return program

    def all_ok(self, program, *words):
        for word in words:
            self.assertEqual(program.ask(word), "ok 0", word)

    def test_contexts_in_turn_are_prepared_once_each(self):
        program = self.announcing()
        for _ in range(3):
            for context in range(3):
                self.all_ok(program, f"use{context}", "begin", "end")
        self.assertEqual(program.ask("loads"), "ok 3")
        self.assertEqual(program.ask("launches"), "ok 81")
        # Requests in two contexts: each has the GPU until the last of them ends.
        self.all_ok(program, "use0", "begin", "use1", "begin")
        self.assertEqual(program.ask("launches"), "ok 2099")
        self.all_ok(program, "end")
        self.assertEqual(program.ask("launches"), "ok 2099")
        self.all_ok(program, "end")
        self.assertEqual(program.ask("launches"), "ok 99")

    def figures(self, program):
        return [int(program.ask(word).split()[1]) for word in ("loads", "pages", "pinned")]

    def test_more_contexts_than_are_kept(self):
        program = self.announcing()
        for context in list(range(100)) * 2:
            self.all_ok(program, f"use{context}", "begin", "end")
        self.assertEqual(self.figures(program), [64, 64, 64])  # they live; the others do without
        self.assertEqual(program.ask("launches"), f"ok {2 * 64 * 9}")
        # A place of one that ended is found, though not at once.
        self.all_ok(program, "destroy7", "use99", *["begin", "end"] * 16)
        self.assertEqual(self.figures(program), [65, 64, 64])

    def test_contexts_that_come_and_go_leave_nothing_behind(self):
        program = self.announcing()
        for context in range(300):
            self.all_ok(program, f"use{context % 3}", "begin", "end", f"destroy{context % 3}")
        self.assertEqual(self.figures(program), [300, 64, 0])
        # Nor do those that end within a request.
        for context in range(100):
            self.all_ok(program, f"use{context % 3}", "begin", f"destroy{context % 3}", "end")
        self.assertEqual(self.figures(program), [400, 64, 0])

    def test_a_context_that_cannot_be_prepared_costs_nothing(self):
        program = self.announcing()
        for what in (1, 2, 4):  # the kernel, its stream, the page
            self.all_ok(program, f"fail{what}")
            for context in range(what * 10, what * 10 + 10):
                self.all_ok(program, f"use{context}", *["begin", "end"] * 3)
            self.assertEqual(program.ask("pinned"), "ok 0")
            self.assertEqual(program.ask("modules"), "ok 0")
        self.assertEqual(program.ask("launches"), "ok 0")
        self.assertEqual(program.ask("loads"), "ok 10")  # one try each, where it got that far
        # A launch that fails: once more from the start, and then no more.
        self.all_ok(program, "fail0", "use0", "begin", "end", "fail3", *["begin", "end"] * 5, "fail0", "begin")
        self.assertEqual((program.ask("loads"), program.ask("pinned"), program.ask("launches")), ("ok 12", "ok 1", "ok 9"))

    def test_a_launch_that_waits_holds_nobody_up(self):
        program = self.announcing()
        self.all_ok(program, "beside", "begin", "end")
        self.assertEqual(program.ask("launches"), "ok 18")  # and no kernel waits

    def test_a_program_under_run_can_be_suspended(self):
        program = self.program("--class", "offline")
        done = subprocess.Popen([GPREEMPT, "suspend", str(program.process.pid), "--json", "--lease", "1h"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        try:
            line = done.stdout.readline()
            self.assertIn("suspended", line)
            self.assertEqual(self.keeper.ask("channels"), "8 8")
            status = json.loads(self.gpreempt("status", str(program.process.pid), "--json").stdout)
            self.assertEqual(status["mechanism"], "nv-suspend")
            self.assertEqual((status["priority"], status["queues"][0]["gpu_id"]), (500, 0x10de0000))
            # What is found again is what it was, and the holder's copies are no program.
            self.assertEqual(json.loads(self.gpreempt("status", str(program.process.pid), "--json").stdout)["queues"][0]
                             ["gpu_id"], 0x10de0000)
            listed = {row["pid"]: row["queue_counts"] for row in json.loads(self.gpreempt("ps", "--json").stdout)["processes"]}
            self.assertEqual(listed[program.process.pid]["compute"], 1)
            with open(os.path.join(self.place, "holder.lock")) as file:
                self.assertNotIn(int(file.read()), listed)
        finally:
            done.kill()
            done.communicate(timeout=LIMIT)
        self.assertEqual(self.keeper.ask("running"), "1")


if __name__ == "__main__":
    unittest.main()
