"""gpreemptd on the virtual GPU: a trainer makes room for a server, loses nothing, and outlives the daemon."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
GPREEMPTD = os.path.join(BIN, "gpreemptd")
EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
LIMIT = 120
# What is decided must not depend on how slow this machine is.
ACT = "[daemon]\nmode = act\noperation_timeout = 30s\nlease = 10s\nmax_suspend = 60s\n[device *]\nlinger = 0\n"


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
        done = self.gpreempt(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                self.fail("\n".join([message] + [self.gpreempt(*command).stdout for command in (
                    ("top", "--once"), ("stats",), ("log", "--all", "--lines", "30"))]))
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
        keeper.send_signal(signal.SIGINT)
        self.assertEqual(keeper.wait(LIMIT), 0)
        told = self.gpreempt("why", pid)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("makes room for online_server", told.stdout)
        stats = self.json("stats")
        self.assertEqual((stats["mode"], stats["failures"]), ("act", 0))
        self.assertGreater(stats["preemptions"], 0)
        self.until(lambda: self.json("stats")["resume"]["count"], "nothing was resumed")
        trace = os.path.join(self.place, "trace.json")
        self.assertEqual(self.gpreempt("log", "--perfetto", trace).returncode, 0)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        self.assertTrue([event for event in events if event["ph"] == "X" and event["name"] == "held"])


if __name__ == "__main__":
    unittest.main()
