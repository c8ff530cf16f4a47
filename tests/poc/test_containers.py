# SPDX-License-Identifier: MIT
"""The scripts with a real container of podman in which the checkout is not mounted. The image is one busybox."""
import io
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
FIXTURES = os.environ["GP_FIXTURES"]
SCRIPTS = os.path.join(os.path.dirname(os.path.dirname(FIXTURES)), "scripts", "poc")
LIMIT = 240
APPLETS = ("cat", "env", "grep", "kill", "ls", "mkdir", "mktemp", "rm", "sh", "sleep")
# The log of the case, a file in its directory if the scripts are there, and no end.
CASE = 'cat /{0}.log >&2; test -e "$GPREEMPT_POC_DIR/{0}.py" && echo yes > found; {1}'


def busybox():
    """A statically linked one, or None."""
    path = shutil.which("busybox")
    if not path:
        return None
    with open(path, "rb") as file:
        return path if b"/ld-linux" not in file.read(4096) else None


def image(place):
    """A root directory as a tar file."""
    path = os.path.join(place, "image.tar")
    with tarfile.open(path, "w") as tar:
        for name in ("bin", "tmp", "proc", "etc"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        tar.add(os.path.realpath(busybox()), "bin/busybox")
        for name in APPLETS:
            entry = tarfile.TarInfo("bin/" + name)
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(entry)
        for name in ("case_a_cnn", "case_b_transformer"):
            tar.add(os.path.join(FIXTURES, "demo", name + ".log"), name + ".log")
        entry = tarfile.TarInfo("etc/passwd")
        tar.addfile(entry, io.BytesIO())
    return path


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("podman") or not busybox():
            raise unittest.SkipTest("podman or a static busybox is not installed")
        cls.place = tempfile.mkdtemp(prefix="gpc")
        config = os.path.join(cls.place, "storage.conf")
        with open(config, "w") as file:
            file.write(f'[storage]\ndriver = "vfs"\ngraphroot = "{cls.place}/graph"\nrunroot = "{cls.place}/run"\n')
        cls.env = dict(os.environ, CONTAINERS_STORAGE_CONF=config, GPREEMPT=os.path.join(BIN, "gpreempt"), LC_ALL="C.UTF-8",
                       PYTHONDONTWRITEBYTECODE="1")
        cls.env.pop("GPREEMPT_VGPU", None)
        cls.addClassCleanup(cls.clean)
        done = cls.podman("import", image(cls.place), "gpreempt-test")
        # The default limits and runtime first; then what works as root of a virtual machine with few rights.
        limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
        for runtime, options in (((), ()), ((), limits), (("--runtime", "runc"), limits)):
            if done.returncode == 0:
                cls.podman("rm", "--force", "--ignore", "case")
                done = cls.podman(*runtime, "run", "--detach", "--name", "case", "--network", "none", *options,
                                  "gpreempt-test", "sh", "-c", "while :; do sleep 1000; done")
                if done.returncode == 0:
                    return
                failed, done = done, subprocess.CompletedProcess([], 0)
        raise unittest.SkipTest("podman cannot run a container here: " + (done.stderr if done.returncode else
                                                                          failed.stderr).strip()[-300:])

    @classmethod
    def podman(cls, *arguments):
        return subprocess.run(["podman", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, env=cls.env, timeout=LIMIT)

    @classmethod
    def clean(cls):
        cls.podman("rm", "--force", "--time", "0", "--ignore", "case")
        cls.await_podman()
        with open("/proc/mounts") as file:
            mounted = [line for line in file if cls.place in line]
        for line in mounted:  # vfs mounts nothing but its own directory, on itself
            subprocess.run(["umount", line.split()[1]], check=True)
        shutil.rmtree(cls.place)

    @classmethod
    def await_podman(cls):
        """For conmon and the cleanup that it starts in the background, which write to the place to the end."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            running = 0
            for number in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{number}/cmdline", "rb") as file:
                        running += cls.place.encode() in file.read()
                except OSError:
                    pass
            if not running:
                return
            time.sleep(0.1)

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="gpc")
        self.addCleanup(shutil.rmtree, self.work)

    def start(self, script, *arguments, **variables):
        return subprocess.Popen([os.path.join(SCRIPTS, script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=dict(self.env, **variables), cwd=self.work)

    def results(self):
        (name,) = os.listdir(os.path.join(self.work, "log"))
        return os.path.join(self.work, "log", name)

    def read(self, *parts):
        with open(os.path.join(self.results(), *parts)) as file:
            return file.read()

    def assert_clean(self):
        """Nothing is left in the container: no directory, no process but its own sleep."""
        self.assertEqual(self.podman("exec", "case", "ls", "-A", "/tmp").stdout, "")
        left = self.podman("exec", "case", "sh", "-c", "grep -ls GPREEMPT_POC_RUN= /proc/[0-9]*/environ").stdout
        self.assertEqual(left, "")

    def test_both_cases_run_for_their_time_and_are_compared(self):
        script = self.start("run_case_comparison.sh", "case", "2", CASE_A=CASE.format("case_a_cnn", "sleep 1000"),
                            CASE_B=CASE.format("case_b_transformer", "sleep 1000 & sleep 1000"))
        out, err = script.communicate(timeout=LIMIT)
        self.assertEqual((script.returncode, err), (0, ""), out)
        for name in ("case_a", "case_b"):
            self.assertEqual(self.read(name + ".files", "found"), "yes\n")
        self.assertIn("| kernels submitted | 32 | 24 |", self.read("ANALYSIS_SUMMARY.md"))
        self.assert_clean()

    def test_a_case_that_fails_is_reported(self):
        script = self.start("run_case_comparison.sh", "case", "60", CASE_A=CASE.format("case_a_cnn", "exit 7"),
                            CASE_B=CASE.format("case_b_transformer", "exit 0"))
        _, err = script.communicate(timeout=LIMIT)
        self.assertEqual(script.returncode, 0, err)
        self.assertRegex(err, "^run_case_comparison.sh: '.*' exited with status 7\n$")
        self.assert_clean()

    def so_far(self, log):
        try:
            return self.read(log)
        except (FileNotFoundError, ValueError):  # nothing yet, not even the directory
            return ""

    def interrupt(self, script, log, how):
        end = time.monotonic() + LIMIT
        while "started\n" not in self.so_far(log):
            self.assertIsNone(script.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        script.send_signal(how)
        script.communicate(timeout=LIMIT)
        self.assertNotEqual(script.returncode, 0)
        self.assert_clean()

    def test_an_interrupt_ends_the_case_inside(self):
        script = self.start("run_case_comparison.sh", "case", "1000", CASE_A="echo started; sleep 1000")
        self.interrupt(script, "case_a.log", signal.SIGINT)

    def test_products_are_traced_and_copied_out(self):
        script = self.start("run_gemm_with_ftrace.sh", "case", GEMM=CASE.format("case_a_cnn", "true"))
        out, err = script.communicate(timeout=LIMIT)
        self.assertEqual(script.returncode, 0, out + err)
        self.assertEqual(self.read("gemm.files", "found"), "yes\n")
        with open(os.path.join(FIXTURES, "demo", "case_a_cnn.log")) as file:
            self.assertEqual(self.read("gemm_amd_log.txt"), file.read())
        self.assert_clean()

    def test_a_terminated_trace_ends_the_program_inside(self):
        script = self.start("run_gemm_with_ftrace.sh", "case", GEMM="echo started >&2; sleep 1000")
        self.interrupt(script, "amd_log.txt", signal.SIGTERM)

    def test_a_container_that_does_not_exist(self):
        for name in ("run_case_comparison.sh", "run_gemm_with_ftrace.sh"):
            script = self.start(name, "no-such-container")
            self.assertEqual(script.communicate(timeout=LIMIT),
                             ("", f"{name}: no container 'no-such-container' in docker or podman\n"))
            self.assertEqual(script.returncode, 1)


if __name__ == "__main__":
    unittest.main()
