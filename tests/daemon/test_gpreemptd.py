# SPDX-License-Identifier: MIT
"""gpreemptd on the virtual GPU: a trainer makes room for a server, loses nothing, and outlives the daemon."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import timeline  # noqa: E402

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
GPREEMPTD = os.path.join(BIN, "gpreemptd")
EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
STAGE = os.path.join(os.path.dirname(BIN), "tests", "agent", "hsa_stage")
LIMIT = 120
# What is decided must not depend on how slow this machine is.
ACT = "[daemon]\nmode = act\nstand_down = no\noperation_timeout = 30s\nlease = 10s\nmax_suspend = 60s\n[device *]\nlinger = 0\n"


@unittest.skipUnless(os.path.exists(os.path.join(EXAMPLES, "online_server")), "HIP is not installed")
class Daemon(unittest.TestCase):
    """Each test has a machine, a directory of sockets, and ends every process it started."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpd")
        self.sockets = os.path.join(self.place, "sockets")
        os.mkdir(self.sockets, 0o700)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, GPREEMPT_DIR=self.sockets)
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)
        self.started = []
        done = self.gpreempt("vgpu", "start")
        self.assertEqual(done.returncode, 0, done.stderr)

    def tearDown(self):
        for process in reversed(self.started):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(LIMIT)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()
        self.gpreempt("release", "--all")
        self.gpreempt("vgpu", "stop")
        self.until(lambda: not self.holder(), "the holder stays")
        shutil.rmtree(self.place, ignore_errors=True)

    def holder(self):
        """Whether a holder still has its socket here."""
        with open("/proc/net/unix") as lines:
            return any(line.rstrip().endswith(os.path.join(self.sockets, "holder.sock")) for line in lines)

    def gpreempt(self, *arguments):
        return subprocess.run([GPREEMPT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.env, timeout=LIMIT)

    def json(self, *arguments):
        deadline = time.monotonic() + LIMIT
        done = self.gpreempt(*arguments, "--json")
        # On a machine with far more load than processors an answer comes later than the command waits for it.
        while done.returncode and "gpreemptd does not answer" in done.stderr and time.monotonic() < deadline:
            done = self.gpreempt(*arguments, "--json")
        if done.returncode:
            self.fail(done.stderr + self.ends())
        return json.loads(done.stdout)

    def ends(self):
        """For the message of a failure: what has ended, how, and its last words."""
        time.sleep(1)  # it may be about to
        return "".join(f"{' '.join(process.args[3:])} ended with {process.returncode}: {process.stdout.read()[-4000:]}\n"
                       for process in self.started if process.poll() is not None)

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                self.fail("\n".join([message] + [self.gpreempt(*command).stdout for command in (
                    ("top", "--once"), ("vgpu", "status"), ("stats",), ("log", "--all", "--lines", "30"))]))
            time.sleep(0.05)

    def begin(self, *command):
        process = subprocess.Popen([GPREEMPT, "vgpu", "--", *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, env=self.env)
        self.started.append(process)
        return process

    def daemon(self, config):
        path = os.path.join(self.place, "gpreemptd.conf")
        with open(path, "w") as file:
            file.write(config)
        process = self.begin(GPREEMPTD, "--config", path)
        self.until(lambda: self.gpreempt("top", "--once").returncode == 0 or process.poll() is not None,
                   "no daemon")
        self.assertIsNone(process.poll(), "the daemon ended")
        return process

    def program(self, job_class, name, seconds):
        return self.begin(GPREEMPT, "run", "--class", job_class, "--", os.path.join(EXAMPLES, name),
                          "--seconds", str(seconds))

    def jobs(self):
        return {job["name"]: job for job in self.json("top")["jobs"]}

    def job(self, name):
        return self.until(lambda: self.jobs().get(name), f"{name} is no job")

    def finishes(self, process, figure):
        out = process.communicate(timeout=LIMIT)[0]
        self.assertEqual(process.returncode, 0, out)
        self.assertIn(figure, out)

    def held_again(self, name):
        before = self.job(name)["suspends"]
        self.until(lambda: self.jobs()[name]["suspends"] > before, f"{name} is never held")


def load(path):
    with open(path) as file:
        return json.load(file)["traceEvents"]


@unittest.skipUnless(os.path.exists(STAGE), "built without ROCm's headers")
class Claims(Daemon):
    def test_a_server_that_sets_its_signal_for_the_next_packet_does_not_hold_up_a_trainer(self):
        self.daemon(ACT)
        server = subprocess.Popen([GPREEMPT, "vgpu", "--", GPREEMPT, "run", "--class", "online", "--", STAGE],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env)
        self.started.append(server)
        self.addCleanup(server.stdin.close)
        self.program("offline", "offline_trainer", 600)
        self.job("offline_trainer")
        self.assertEqual(server.stdout.readline(), "ready\n")
        self.say(server, "queue")
        self.job("hsa_stage")
        for how in ("store", "new", "add"):
            self.say(server, f"rearm 0 {how}")
            # The server waits for its next request; for the trainer it is idle, and stays so.
            self.until(lambda: not self.jobs()["hsa_stage"]["busy_queues"] and not self.jobs()["offline_trainer"]["held"],
                       "the trainer is held")
            suspends = self.jobs()["offline_trainer"]["suspends"]
            for _ in range(20):
                self.assertEqual(self.jobs()["offline_trainer"]["suspends"], suspends, how)
                time.sleep(0.1)

    def say(self, program, line):
        program.stdin.write(line + "\n")
        program.stdin.flush()
        self.assertIn(program.stdout.readline(), ("ok\n", "queue 0\n"))


class Sensors(Daemon):
    def test_top_shows_what_the_driver_measures(self):
        self.daemon(ACT)
        self.program("offline", "offline_trainer", 600)
        self.job("offline_trainer")
        files = self.begin("sh", "-c", "while sleep 0.1; do "
                           "cat /sys/bus/pci/devices/*/mem_info_vram_used /sys/bus/pci/devices/*/pp_dpm_sclk; done")

        def measured():
            used, clock = int(files.stdout.readline()), files.stdout.readline().split()
            shown = self.begin(GPREEMPT, "top", "--json").communicate(timeout=LIMIT)[0]
            top = json.loads(shown[shown.index("{"):])
            gpu, job = top["devices"][0], top["jobs"][0]
            return (used > 0 and gpu["vram_used_bytes"] == used and clock[2] == "*" and
                    f"{gpu['clock_hz'] // 1000000}Mhz" == clock[1] and job["vram_bytes"] and
                    job["cu_occupancy"] and gpu["power_uw"] is None)
        while not files.stdout.readline().startswith("0: "):
            pass
        self.until(measured, "the figures are others than those of the driver")


class Stopped(Daemon):
    def stop_with_work(self, pid, name):
        """A process that is stopped without work has no claim, and the daemon does not look at it."""
        os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            if self.jobs()[name]["away"] == "stopped":
                return True
            time.sleep(0.1)
        os.kill(pid, signal.SIGCONT)
        return False

    def test_a_stopped_server_leaves_the_gpu_to_the_trainer(self):
        self.daemon(ACT)
        self.program("offline", "offline_trainer", 1000)
        self.program("online", "online_server", 1000)
        self.held_again("offline_trainer")
        pid = self.job("online_server")["pid"]
        self.until(lambda: self.stop_with_work(pid, "online_server"), "it never stops with work")
        trainer = self.until(lambda: not self.jobs()["offline_trainer"]["held"] and self.jobs()["offline_trainer"],
                             "the trainer is held for a stopped server")
        time.sleep(1)
        now = self.jobs()
        self.assertEqual(now["offline_trainer"]["suspends"], trainer["suspends"])
        self.assertGreater(now["offline_trainer"]["ran_ns"], trainer["ran_ns"])
        self.assertRegex(self.gpreempt("top", "--once").stdout, rf"(?m)^ *{pid} .* stopped ")
        self.assertIn("stopped by a signal", self.gpreempt("why", str(pid)).stdout)
        self.assertEqual(self.gpreempt("log").stdout.count("is stopped"), 1)
        self.assertEqual(self.json("stats")["failures"], 0)
        os.kill(pid, signal.SIGCONT)
        self.until(lambda: not self.jobs()["online_server"]["away"], "it stays away")
        self.held_again("offline_trainer")


class Ended(Daemon):
    def test_a_job_that_ended_can_be_asked_for(self):
        self.daemon(ACT)
        trainer = self.begin(GPREEMPT, "run", "--class", "offline", "--group", "night", "--",
                             os.path.join(EXAMPLES, "offline_trainer"), "--seconds", "2")
        job = self.job("night")
        self.finishes(trainer, "offline_trainer")
        found = self.until(lambda: [job for job in self.json("stats", "--group", "night")["jobs"]
                                    if job["state"] == "ended"], "the job is forgotten")
        self.assertEqual((len(found), found[0]["pid"], found[0]["group"]), (1, job["pid"], "night"))
        self.assertGreater(found[0]["ran_ns"], 0)
        self.assertGreater(found[0]["latency_count"], 0)
        self.assertLessEqual(found[0]["latency_p50_ns"], found[0]["latency_p99_ns"])
        for words, count in ((("--pid", str(job["pid"])), 1), (("--user", str(os.geteuid())), 1), (("--jobs",), 1),
                             (("--group", "n*t"), 1), (("--cgroup", "*"), 1), (("--since", "1h"), 1), (("--since", "1ms"), 0),
                             (("--group", "day"), 0), (("--user", "12345"), 0), (("--pid", "1"), 0)):
            self.assertEqual(self.json("stats", *words)["count"], count, words)
        self.assertIn("jobs: 1; ran ", self.gpreempt("stats", "--jobs").stdout)


class Acting(Daemon):
    def test_a_trainer_makes_room_for_a_server_and_outlives_the_daemon(self):
        daemon = self.daemon(ACT)
        self.program("online", "online_server", 600)
        trainer = self.program("offline", "offline_trainer", 600)
        pid = str(self.job("offline_trainer")["pid"])
        self.held_again("offline_trainer")
        self.check_what_is_told(pid)

        # Killed while it holds something: it is the end of the connection that lets go, the lease is long.
        self.until(lambda: self.jobs()["offline_trainer"]["held"], "never held")
        os.kill(self.json("top")["pid"], signal.SIGKILL)
        daemon.wait(LIMIT)
        self.until(lambda: not self.json("status", pid)["suspended"], "still suspended")
        self.assertIsNone(trainer.poll())

        # A new one finds both again; a trainer that is preempted all along comes to its end.
        self.daemon(ACT)
        self.held_again("offline_trainer")
        self.assertEqual(str(self.jobs()["offline_trainer"]["pid"]), pid)
        self.finishes(self.program("offline", "offline_trainer", 0.2), "steps/s")

    def check_what_is_told(self, pid):
        lines = [json.loads(line) for line in self.gpreempt("log", "--json").stdout.splitlines()]
        held = [line for line in lines if line["kind"] == "suspend"]
        self.assertTrue(held)
        for line in held:
            self.assertEqual((line["job"]["name"], line["other"]["name"]), ("offline_trainer", "online_server"))
            self.assertFalse(line["observed"])
        self.assertEqual([line["id"] for line in lines], list(range(lines[0]["id"], lines[-1]["id"] + 1)))
        # So many lines as were asked for, though the record has others between them.
        self.until(lambda: len(self.gpreempt("log").stdout.splitlines()) >= 5, "little is decided")
        self.assertEqual(len(self.gpreempt("log", "-n", "5").stdout.splitlines()), 5)
        # What somebody else holds is told, too.
        keeper = subprocess.Popen([GPREEMPT, "suspend", pid, "--json", "--lease", "1h"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env=self.env)
        self.started.append(keeper)
        self.until(lambda: '"suspended"' in keeper.stdout.readline(), "not suspended")
        self.assertIn(f"It is suspended by process {keeper.pid} (gpreempt)", self.gpreempt("why", pid).stdout)
        self.until(lambda: self.jobs()["offline_trainer"]["stopped_by"] == keeper.pid, "nobody is told of it")
        self.until(lambda: re.search(rf"(?m)^ *{pid} .* by hand ", self.gpreempt("top", "--once").stdout),
                   "it is not shown as suspended by hand")
        self.until(lambda: self.jobs()["offline_trainer"]["away"] == "hand", "it has a claim")
        before = self.jobs()["offline_trainer"]
        self.until(lambda: self.jobs()["offline_trainer"]["held_ns"] > before["held_ns"], "it is not held")
        self.assertEqual(self.jobs()["offline_trainer"]["ran_ns"], before["ran_ns"])
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(LIMIT), 0)
        self.until(lambda: not self.jobs()["offline_trainer"]["stopped_by"], "still stopped by somebody")
        told = self.gpreempt("why", pid)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("makes room for online_server", told.stdout)
        stats = self.json("stats")
        self.assertEqual((stats["mode"], stats["failures"]), ("act", 0))
        self.assertGreater(stats["preemptions"], 0)
        self.until(lambda: self.json("stats")["resume"]["count"], "nothing was resumed")
        self.check_traces()

    def check_traces(self):
        """Decisions on a track for each job, work on one for each queue; whole at every moment and at the end."""
        def tracks(events):
            named = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event.get("name") == "thread_name"}
            jobs = {event["pid"]: event["args"]["name"] for event in events if event.get("name") == "process_name"}
            busy = [event for event in events if event["ph"] == "B" and event["name"] == "busy"]
            self.assertTrue(all("queue" in named[event["pid"], event["tid"]] for event in busy))
            self.assertEqual(timeline.check(events), [])
            return {jobs[event["pid"]].split(" (")[0] for event in busy}

        path, both = os.path.join(self.place, "trace.json"), {"online_server", "offline_trainer"}
        self.until(lambda: self.gpreempt("log", "--perfetto", path).returncode == 0 and tracks(load(path)) == both,
                   "no work is recorded")
        self.assertTrue([event for event in load(path) if event["ph"] == "X" and event["name"] == "held"])
        counters = timeline.counters(load(path))
        self.assertEqual(set(counters), {"queues with work", "GPU busy", "suspended jobs"})
        self.assertEqual(set(counters["GPU busy"]) - {0, 1}, set())
        self.assertEqual(max(counters["suspended jobs"]), 1)
        os.unlink(path)
        follower = subprocess.Popen([GPREEMPT, "log", "--follow", "--perfetto", path], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, env=self.env)
        self.started.append(follower)

        def so_far():
            """How many events there are, and they are whole JSON, when nothing happens to be written."""
            follower.send_signal(signal.SIGSTOP)
            os.waitpid(follower.pid, os.WUNTRACED)
            count = len(load(path)) if os.path.exists(path) and os.path.getsize(path) else 0
            follower.send_signal(signal.SIGCONT)
            return count

        first = self.until(so_far, "nothing is followed")
        self.until(lambda: so_far() > first + 20, "nothing is added")
        follower.send_signal(signal.SIGTERM)
        self.assertEqual(follower.wait(LIMIT), 0)
        self.assertEqual(tracks(load(path)), both)
        stream = subprocess.Popen([GPREEMPT, "log", "--follow", "--perfetto", "-"], stdout=subprocess.PIPE,
                                  text=True, env=self.env)
        self.started.append(stream)
        begun = "".join(stream.stdout.readline() for _ in range(20))
        stream.send_signal(signal.SIGINT)
        self.assertEqual(tracks(json.loads(begun + stream.stdout.read())["traceEvents"]), both)
        self.assertEqual(stream.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
