# SPDX-License-Identifier: MIT
"""A program in a container of podman, suspended and scheduled from the host on the virtual GPU, as docs/guides/containers.md says:
rootful with the agents' directory mounted, rootless with a directory of the user's own. The root file system is an empty directory
with the host's /usr, so that no image is needed. Skipped, with the reason, where podman does not run containers."""
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
BUILD = os.path.dirname(BIN)
GPREEMPT = os.path.join(BIN, "gpreempt")
STORM = os.path.join(BUILD, "tests", "vgpu", "programs", "hsa_storm")
LIMIT = 120
ENDLESS = 100000000
# As root of a virtual machine with few rights, the default limits cannot be set.
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]


class Podman(unittest.TestCase):
    """`user`: whose podman it is; None: the test's own."""
    user = None

    def setUp(self):
        if not shutil.which("podman"):
            self.skipTest("podman is not installed")
        if not os.path.exists(STORM):
            self.skipTest("built without ROCm's headers")
        self.place = tempfile.mkdtemp(prefix="gpp")
        self.addCleanup(self.remove)
        self.sockets, self.root = os.path.join(self.place, "sockets"), os.path.join(self.place, "root")
        for path, mode in ((self.sockets, 0o755), (self.root, 0o755), (os.path.join(self.place, "home"), 0o755)):
            os.mkdir(path, mode)
        self.make_root()
        os.chmod(self.place, 0o700)
        storage = os.path.join(self.place, "storage.conf")
        with open(storage, "w") as file:
            file.write(f'[storage]\ndriver = "vfs"\ngraphroot = "{self.place}/graph"\nrunroot = "{self.place}/containers"\n')
        self.prefix = []
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place, HOME=os.path.join(self.place, "home"),
                        CONTAINERS_STORAGE_CONF=storage, GPREEMPT_DIR=self.sockets)
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)
        if self.user:
            self.become(self.user)
        self.container, self.started = f"gpreempt-{os.getpid()}-{type(self).__name__.lower()}", []
        self.addCleanup(self.end)
        self.run_options = self.find_options()
        self.check("vgpu", "start")

    def make_root(self):
        for name in ("usr", "tmp", "proc", "sys", "dev", "etc", "run"):
            os.mkdir(os.path.join(self.root, name))
        for name in ("bin", "lib", "lib64", "sbin"):
            os.symlink(os.path.join("usr", name), os.path.join(self.root, name))
        shutil.copy("/etc/ld.so.cache", os.path.join(self.root, "etc"))

    def become(self, name):
        user = pwd.getpwnam(name)
        self.prefix = ["setpriv", "--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        self.env["USER"] = name
        for directory, _, files in os.walk(self.place):
            for path in [directory] + [os.path.join(directory, file) for file in files]:
                os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
        reads = subprocess.run([*self.prefix, "test", "-r", STORM], check=False).returncode == 0
        if not reads:
            self.skipTest(f"{name} cannot read {BUILD}")

    def find_options(self):
        """Options of podman and of its run with which a container runs here."""
        why = ""
        for runtime in ([], ["--runtime", "runc"]):
            for limits in ([], LIMITS):
                done = self.podman(*runtime, "run", "--rm", "--network=none", *limits, "-v", "/usr:/usr:ro", "--rootfs", self.root,
                                   "/bin/true")
                if done.returncode == 0:
                    return runtime, limits
                why = done.stderr.strip()[-200:]
        self.skipTest("podman does not run containers here: " + " ".join(why.split()))
        return None

    def end(self):
        self.podman("rm", "-f", "-t", "0", self.container)
        for process in self.started:
            process.terminate()
            process.wait(LIMIT)
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        self.gpreempt("release", "--all")
        self.gpreempt("vgpu", "stop")

    def remove(self):
        # Files of the container belong to users that only podman knows.
        if self.prefix:
            subprocess.run([*self.prefix, "podman", "unshare", "rm", "-rf", f"{self.place}/graph"], env=self.env, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.place, ignore_errors=True)

    # ---- commands, as the user ----

    def command(self, *words, **env):
        return subprocess.run([*self.prefix, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env=dict(self.env, **env), timeout=LIMIT, cwd="/")

    def podman(self, *words):
        return self.command("podman", *words)

    def gpreempt(self, *words, **env):
        return self.command(GPREEMPT, *words, **env)

    def check(self, *words):
        done = self.gpreempt(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start(self, *words):
        process = subprocess.Popen([*self.prefix, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.env,
                                   cwd="/")
        self.started.append(process)
        return process

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                self.fail(message() if callable(message) else message)
            time.sleep(0.05)

    def begin(self, *options, packets=ENDLESS):
        """The program in the container; its pid on the host."""
        runtime, limits = self.run_options
        process = self.start("podman", *runtime, "run", "-i", "--name", self.container, "--network=none", *limits,
                             "-v", "/usr:/usr:ro", "-v", f"{BUILD}:{BUILD}:ro", "-v", f"{self.place}/gpreempt:{self.place}/gpreempt",
                             "-e", "GPREEMPT_DIR=/run/gpreempt", "-e", f"XDG_RUNTIME_DIR={self.place}", *options, "--rootfs", self.root,
                             GPREEMPT, "vgpu", "--", GPREEMPT, "run", "--class", "offline", "--", STORM, "2", str(packets))
        first = process.stdout.readline()
        self.assertRegex(first, r"^\d+$", "the program does not start in the container")
        pid = int(self.podman("inspect", "-f", "{{.State.Pid}}", self.container).stdout)
        while True:  # gpreempt waits for it
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == "hsa_storm":
                    break
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                pid = int(file.read().split()[0])
        self.assertNotEqual(pid, int(first))  # it has a pid namespace
        process.stdin.close()  # it begins
        if packets == ENDLESS:
            self.until(lambda: self.queues(pid), "it makes no queues")
        return process, pid

    def queues(self, pid):
        """As the machine itself has them: a paused process answers nothing."""
        processes = json.loads(self.check("vgpu", "status", "--json"))["processes"]
        return [queue for process in processes if process["pid"] == pid for queue in process["queues"]]

    def status(self, pid):
        return json.loads(self.check("vgpu", "--", GPREEMPT, "status", str(pid), "--json"))

    def suspend_and_resume(self, process, pid):
        done = self.gpreempt("vgpu", "--", GPREEMPT, "suspend", str(pid), "--for", "200ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"process {pid}: \d queues suspended\n(.*\n)*process {pid}: \d queues resumed")
        self.until(lambda: not self.status(pid)["suspended"], "it stays suspended")

    def job(self, pid):
        done = self.gpreempt("top", "--json")
        jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        return next((job for job in jobs if job["pid"] == pid), None)

    def is_scheduled(self, pid, *options):
        """gpreemptd on the host finds the program by its socket."""
        daemon = self.start(GPREEMPT, "vgpu", "--", os.path.join(BIN, "gpreemptd"), *options)
        def job():
            self.assertIsNone(daemon.poll(), "gpreemptd has ended")
            return self.job(pid)
        found = self.until(job, "gpreemptd does not find the program")
        self.assertEqual((found["name"], found["class"]), ("hsa_storm", "offline"))

    def is_off(self, pid):
        queues = self.queues(pid)
        return bool(queues) and not any(queue["mapped"] for queue in queues)

    def loses_nothing(self, *options):
        # On a busy host a program may end before its first suspension, which says nothing: then a longer one.
        packets = 20000
        while not self.suspended_without_loss(packets, *options):
            packets *= 4
            self.assertLess(packets, ENDLESS, "no suspension meets the program")

    def suspended_without_loss(self, packets, *options):
        """How often the program was suspended before it ended as it should."""
        self.podman("rm", "-f", "-t", "0", self.container)
        process, pid = self.begin(*options, packets=packets)
        suspended = 0
        while process.poll() is None:
            # One may come when the program has just ended.
            done = self.gpreempt("vgpu", "--", GPREEMPT, "suspend", str(pid), "--for", "10ms")
            suspended += done.returncode == 0
        self.assertEqual((process.returncode, process.stdout.read()), (0, "done\n"))
        return suspended


class Rootful(Podman):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        super().setUp()
        os.mkdir(os.path.join(self.sockets, "agents"))
        os.chmod(os.path.join(self.sockets, "agents"), 0o1777)

        self.agents = ("-v", f"{self.sockets}/agents:/run/gpreempt/agents")

    def test_the_agents_directory_is_enough(self):
        process, pid = self.begin(*self.agents)
        self.suspend_and_resume(process, pid)
        self.is_scheduled(pid, "--observe")
        self.loses_nothing(*self.agents)

    def test_gpu_work_follows_the_pause_of_its_container(self):
        """The agent of a paused program does not answer: its queues are suspended from outside, which needs kfd-debug."""
        self.check("vgpu", "stop")
        self.check("vgpu", "start", "--runtime-enable")
        config = os.path.join(self.place, "gpreemptd.conf")
        with open(config, "w") as file:
            file.write("[daemon]\nmode = act\nstand_down = no\noperation_timeout = 30s\nlease = 10s\nmax_suspend = 60s\n"
                       "[rule all]\nexecutable = *\nfollow_stop = yes\n")
        process, pid = self.begin(*self.agents)
        self.is_scheduled(pid, "--config", config)
        for _ in range(2):
            self.podman_does("pause")
            self.until(lambda: self.job(pid)["away"] == "frozen", lambda: f"not seen as paused: {self.job(pid)}")
            self.until(lambda: self.is_off(pid), lambda: "its GPU work goes on\n" + self.gpreempt("log", "--all").stdout)
            self.assertIn("frozen", self.gpreempt("why", str(pid)).stdout)
            self.podman_does("unpause")
            self.until(lambda: not self.job(pid)["away"] and not self.is_off(pid), lambda: f"it stays away: {self.job(pid)}")
            ran = self.job(pid)["ran_ns"]
            self.until(lambda: self.job(pid)["ran_ns"] > ran, "it does not run")
        self.assertIsNone(process.poll())

    def podman_does(self, what):
        done = self.podman(*self.run_options[0], what, self.container)
        self.assertEqual(done.returncode, 0, done.stderr)


class Rootless(Podman):
    def setUp(self):
        self.user = "nobody" if os.geteuid() == 0 else None
        super().setUp()

    def test_a_directory_of_the_users_own(self):
        options = ("-v", f"{self.sockets}:/run/gpreempt")
        os.chmod(self.sockets, 0o700)
        process, pid = self.begin(*options)
        self.suspend_and_resume(process, pid)
        if self.prefix:
            # Root has no business there: the directory is another user's.
            done = subprocess.run([GPREEMPT, "vgpu", "--", GPREEMPT, "suspend", str(pid), "--for", "10ms"], env=self.env, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
            self.assertNotEqual(done.returncode, 0, done.stdout)
        self.is_scheduled(pid, "--observe")
        self.loses_nothing(*options)


if __name__ == "__main__":
    unittest.main()
