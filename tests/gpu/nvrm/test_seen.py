# SPDX-License-Identifier: MIT
"""What gpreemptd makes of the driver's records of context switches, and what it says without them."""
import json
import os
import shutil
import time
import unittest

from nvidia_stage import ACT, OFFLINE_US, ONLINE_US, DaemonStage, slice_us


class Seen(DaemonStage):
    def job(self, program):
        return next((job for job in self.jobs() if job["pid"] == program.process.pid), {})

    def start_and_wait(self, config=ACT):
        """A daemon that reads: there is a program, and the buffer is bound."""
        self.start_daemon(config)
        program = self.program("--class", "offline")
        self.until(lambda: self.device()["activity"] == "read", "nothing is read")
        return program

    def device(self):
        return json.loads(self.gpreempt("top", "--json").stdout)["devices"][0]

    def switch(self, *words):
        for word, program in words:
            self.keeper.ask(f"{word}{program.process.pid}")

    def test_top_why_and_stats_have_times_and_preemptions(self):
        trainer = self.start_and_wait()
        server = self.program("--class", "online")
        self.until(lambda: len(self.jobs()) == 2, "no second job")
        self.keeper.ask(f"preempt{trainer.process.pid},{server.process.pid}")
        self.until(lambda: self.job(trainer)["switches"] == 2, "no switches")
        self.until(lambda: self.job(trainer)["ran_ns"], "no time")
        self.until(lambda: self.job(trainer)["switched_out"] == 1, "no preemption")
        self.assertEqual(self.job(server)["switched_out"], 0)
        self.until(lambda: self.job(trainer)["gpu_share_ppm"], "no share")
        text = self.gpreempt("top", "--once").stdout
        self.assertRegex(text, "(?m)RAN +GPU")
        self.assertRegex(text, r"(?m)offline .* running .*\d%")
        self.assertRegex(self.gpreempt("why", str(trainer.process.pid)).stdout,
                         "The hardware preempted it 1 time; it waited .* in total")
        account = json.loads(self.gpreempt("stats", "--json", "--pid", str(trainer.process.pid)).stdout)["jobs"][0]
        self.assertEqual((account["switches"], account["switched_out"]), (2, 1))
        self.assertGreater(account["ran_ns"], 0)

    def test_ps_has_the_time_that_a_process_had_the_gpu(self):
        trainer = self.start_and_wait()
        self.switch(("start", trainer), ("end", trainer))
        self.until(lambda: self.job(trainer)["switches"] == 1, "no switches")

        def busy():
            rows = json.loads(self.gpreempt("ps", "--json").stdout)["processes"]
            return next(row["busy_ns"] for row in rows if row["pid"] == trainer.process.pid)
        self.assertGreater(busy(), 0)
        self.assertRegex(self.gpreempt("ps").stdout, "(?m)QUEUES +BUSY ")
        self.stop_daemon()
        self.assertIsNone(busy())
        self.assertNotIn("BUSY", self.gpreempt("ps").stdout)

    def test_memory_that_waiting_jobs_keep(self):
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]
        first = self.start_and_wait(self.with_metrics())
        second = self.program("--class", "offline")
        for program in (first, second):
            self.keeper.ask(f"know{program.process.pid}")
        self.until(lambda: self.job(first).get("memory_bytes") == self.job(second).get("memory_bytes") == 64 << 20,
                   "the memory is not known")
        said = lambda: "While it waits it keeps 64.0 MiB of GPU memory." in self.gpreempt("why", str(first.process.pid)).stdout
        self.until(said, "why does not say what it keeps")
        self.until(lambda: f"gpreempt_held_memory_bytes {64 << 20}\n" in self.metrics(), "no metric")

    def test_top_and_ps_show_memory_and_sensors_of_the_driver(self):
        self.env["LD_LIBRARY_PATH"] = os.environ["GP_FAKE_LIBCUDA"]
        self.start_daemon("[daemon]\nmode = observe\n")
        for _ in range(2):  # again, after a while without a program
            program = self.program("--class", "offline")
            self.keeper.ask(f"know{program.process.pid}")
            self.until(lambda: self.job(program).get("vram_bytes") == 64 << 20, "no memory")
            row = next(row for row in json.loads(self.gpreempt("ps", "--json").stdout)["processes"]
                       if row["pid"] == program.process.pid)
            self.assertEqual(row["vram_bytes"], 64 << 20)
            device = self.device()
            self.assertEqual((device["vram_bytes"], device["power_uw"], device["clock_hz"], device["temperature_mc"]),
                             (100 << 30, 523400000, 1785000000, None))
            self.assertRegex(self.gpreempt("top", "--once").stdout, r"523 W")
            program.close()
            self.until(lambda: not self.jobs(), "the job stays")

    def test_top_names_the_arguments_of_a_program(self):
        self.start_and_wait()
        self.assertRegex(self.gpreempt("top", "--once").stdout, r"(?m) fake_target \S")

    def test_the_timeline_has_a_track_for_each_process(self):
        trainer = self.start_and_wait()
        self.switch(("start", trainer), ("end", trainer))
        self.until(lambda: self.job(trainer)["switches"] == 1, "no switches")
        path = os.path.join(self.place, "trace.json")
        made = self.gpreempt("log", "--perfetto", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        tracks = [e["tid"] for e in events if e["ph"] == "M" and e["args"]["name"].startswith("pid ")]
        self.assertEqual(len(tracks), 1)
        self.assertEqual([e["ph"] for e in events if e.get("tid") == tracks[0] and e["ph"] in "BE"], ["B", "E"])

    def test_metrics(self):
        trainer = self.start_and_wait(self.with_metrics())
        self.switch(("start", trainer), ("end", trainer), ("start", trainer))
        self.until(lambda: self.job(trainer)["switches"] == 2, "no switches")
        text = self.metrics()
        self.assertIn('gpreempt_gpu_switches_total{class="offline"} 2\n', text)
        self.assertRegex(text, r'gpreempt_gpu_activity\{gpu="\d+",name="NVIDIA Fake"[^}]*\} 1\n')

    def missing(self, deny, words):
        self.keeper.ask(f"deny{deny}")
        self.start_daemon()
        program = self.program("--class", "offline")
        self.until(lambda: self.device()["activity"] == "failed", "no failure")
        self.assertIn(words, self.gpreempt("top", "--once").stdout)
        self.assertIsNone(self.job(program)["switches"])
        self.assertIsNone(self.job(program)["ran_ns"])
        self.assertIsNone(self.device()["busy_ns"])
        self.program("--class", "online")
        self.until(lambda: len(self.slices()) == 2 and self.slices()[0] < 100, "no slices")

    def test_where_the_driver_wants_root_everything_else_works(self):
        self.missing(2, "only to root (start gpreemptd as root)")

    def test_where_the_driver_has_no_such_thing(self):
        self.missing(3, "cannot determine which process uses the GPU (Operation not supported)")

    def test_own_processes_are_seen_where_others_are_not(self):
        self.keeper.ask("deny1")
        trainer = self.start_and_wait()
        self.switch(("start", trainer))
        self.keeper.ask("start0")
        self.until(lambda: self.job(trainer)["switches"] == 1, "no switches")

    def test_a_driver_that_fails_later_is_reported_and_tried_again(self):
        trainer = self.start_and_wait()
        self.keeper.ask("deny5")
        self.until(lambda: self.device()["activity"] == "failed", "no failure")
        self.keeper.ask("deny0")
        self.until(lambda: self.device()["activity"] == "read", "it is not tried again")
        self.switch(("start", trainer))
        self.until(lambda: self.job(trainer)["switches"] == 1, "no switches")

    def test_lost_records_are_reported(self):
        trainer = self.start_and_wait()
        self.switch(("start", trainer))
        self.keeper.ask("drop5")
        self.switch(("end", trainer))
        self.until(lambda: self.device()["switches_lost"] == 5, "no loss")
        self.assertIn("5 records of its use are missing", self.gpreempt("top", "--once").stdout)

    def test_switched_off(self):
        self.start_daemon(ACT + "activity = no\n")
        self.program("--class", "offline")
        self.until(lambda: len(self.jobs()) == 1, "no job")
        self.assertEqual((self.device()["activity"], self.keeper.ask("deny0")), ("unused", "0"))

    def test_the_daemon_is_not_a_process_of_the_gpu(self):
        trainer = self.start_and_wait()
        seen = json.loads(self.gpreempt("ps", "--json").stdout)
        pids = [p["pid"] for p in (seen["processes"] if isinstance(seen, dict) else seen)]
        self.assertNotIn(self.daemon.pid, pids)
        self.assertIn(trainer.process.pid, pids)

    def test_nothing_is_read_without_a_job(self):
        trainer = self.start_and_wait()
        trainer.close()
        self.until(lambda: self.device()["activity"] == "unused", "it is still read")
        self.until(lambda: self.keeper.ask("files") == "0", "the buffer is open")
        self.program("--class", "offline")
        self.until(lambda: self.device()["activity"] == "read", "nothing is read")

    # ---- turns ----

    def held(self):
        return [job["pid"] for job in self.jobs() if job["state"] == "suspended"]

    def nobody_waits(self):
        """For three turns: between two turns both run."""
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            if self.held():
                return False
        return True

    def test_an_idle_batch_job_does_not_take_turns(self):
        busy = self.start_and_wait()
        idle = self.program("--class", "offline")
        self.until(self.held, "no turns")
        self.until(lambda: self.held() == [busy.process.pid], "not its turn")
        self.switch(("start", busy), ("end", busy))
        self.until(self.nobody_waits, "the idle one keeps its turn")
        self.switch(("start", busy))
        self.until(lambda: self.job(busy)["gpu_share_ppm"], "it has the GPU and is not seen")
        self.until(self.nobody_waits, "the idle one takes turns with one that has work")

        def alternate():
            self.switch(("end", busy), ("start", idle), ("end", idle), ("start", busy))
            return self.held()
        self.until(alternate, "no turns, and both have work")

    def test_a_job_that_comes_while_another_is_idle_does_not_change_the_slices(self):
        busy, idle = self.start_and_wait(), self.program("--class", "offline")
        self.program("--class", "online")
        self.until(lambda: self.held() == [busy.process.pid], "not its turn")
        self.switch(("start", busy), ("end", busy))
        self.until(self.nobody_waits, "the idle one keeps its turn")
        self.program("--class", "offline")
        self.until(lambda: len(self.slices()) == 4 and self.slices()[3] == OFFLINE_US, "no slice for the new one")
        self.assertEqual(self.slices(), [OFFLINE_US, OFFLINE_US, ONLINE_US, OFFLINE_US])

        def work_of_both():  # one that is not seen for a while has no work
            self.switch(("start", idle), ("end", idle), ("start", busy), ("end", busy))
            return self.held()
        self.until(work_of_both, "no turns")
        self.assertEqual(self.slices(), [OFFLINE_US, OFFLINE_US, ONLINE_US, OFFLINE_US])

    def test_slices_follow_when_jobs_of_class_normal_begin_to_take_turns(self):
        self.start_daemon()
        self.program("--class", "online")
        first, second = self.program("--class", "normal"), self.program("--class", "normal")
        self.until(lambda: self.device()["activity"] == "read", "nothing is read")
        self.until(lambda: self.slices()[1:] == [slice_us(328, 1000)] * 2, "not side by side")
        self.switch(("start", first), ("end", first), ("start", second))
        self.until(lambda: self.slices()[1:] == [slice_us(1, 17)] * 2, "not the slices of turns")


if __name__ == "__main__":
    unittest.main()
