# SPDX-License-Identifier: MIT
"""The preload library in programs that speak to /dev/kfd themselves, on machines of every kind and on none."""
import os
import select
import shutil
import signal
import subprocess
import tempfile
import unittest

BIN = os.environ["GP_BIN"]
VGPU = os.path.join(BIN, "gpreempt-vgpu")
PROGRAMS = os.path.join(os.path.dirname(BIN), "tests", "vgpu")
DEVICE = os.path.join(PROGRAMS, "client_device")
FILES = os.path.join(PROGRAMS, "client_files")
SHARE = os.path.join(PROGRAMS, "client_share")
THREADS = os.path.join(PROGRAMS, "client_threads")
STRICT = os.path.join(PROGRAMS, "libstrict_malloc.so")
LIBRARY = os.path.join(os.path.dirname(BIN), "lib", "libgpreempt_vgpu.so")
LIMIT = 60


def link(path):
    """Where a link points; descriptors come and go while one looks at them."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def server_of(directory):
    """The process that listens in this directory."""
    with open("/proc/net/unix") as table:
        sockets = {f"socket:[{line.split()[6]}]" for line in table if line.split()[-1] == f"{directory}/socket"}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        if any(link(f"/proc/{pid}/fd/{fd}") in sockets for fd in descriptors):
            return int(pid)
    raise AssertionError(f"nobody listens in {directory}")


class Client(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpc")
        self.addCleanup(shutil.rmtree, self.place)
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place)
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)

    def run_on(self, *options):
        for program in FILES, DEVICE, SHARE, THREADS:
            done = subprocess.run([VGPU, *options, "--", program], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=self.env, timeout=LIMIT)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_compat(self):
        self.run_on()

    def test_native(self):
        self.run_on("--personality", "native")

    def test_two_gpus(self):
        self.run_on("--count", "2")

    def test_runtime_enabled_by_the_machine(self):
        self.run_on("--runtime-enable")

    def test_the_application_has_an_allocator_that_unmaps_with_its_lock_held(self):
        for compute in "off", "on":
            for program in DEVICE, THREADS:
                done = subprocess.run([VGPU, "--compute", compute, "--", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      text=True, env=dict(self.env, LD_PRELOAD=STRICT, KEEPS_FREED="1"), timeout=LIMIT)
                self.assertEqual(done.returncode, 0, done.stderr)

    def start(self):
        subprocess.run([VGPU, "start"], env=self.env, check=True, stdout=subprocess.DEVNULL)
        self.addCleanup(subprocess.run, [VGPU, "stop"], env=self.env, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)

    def test_a_machine_that_dies_is_enodev_and_one_message(self):
        self.start()
        directory = os.path.join(self.place, "gpreempt", "vgpu", "default")
        env = dict(self.env, LD_PRELOAD=LIBRARY, GPREEMPT_VGPU=directory)
        server = server_of(directory)
        with subprocess.Popen([DEVICE, "outlive"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=env) as program:
            first = program.stdout.readline()
            self.assertEqual(first, "ready\n", first or program.stderr.read())
            watch = os.pidfd_open(server)
            os.kill(server, signal.SIGKILL)
            self.assertTrue(select.select([watch], [], [], LIMIT)[0])
            os.close(watch)
            _, errors = program.communicate("go\n", timeout=LIMIT)
        self.assertEqual(program.returncode, 0, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.assertIn("the virtual GPU has ended", errors)

    def test_a_directory_too_long_for_a_socket_address(self):
        self.start()
        name = os.path.join(self.place, "x" * 150)
        os.symlink(os.path.join(self.place, "gpreempt", "vgpu", "default"), name)
        env = dict(self.env, LD_PRELOAD=LIBRARY, GPREEMPT_VGPU=name)
        done = subprocess.run([FILES], stderr=subprocess.PIPE, text=True, env=env, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_no_machine_is_enodev_and_one_message(self):
        env = dict(self.env, LD_PRELOAD=LIBRARY, GPREEMPT_VGPU=self.place)
        done = subprocess.run([DEVICE, "absent"], stderr=subprocess.PIPE, text=True, env=env, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_without_a_machine_nothing_changes(self):
        env = dict(self.env, LD_PRELOAD=LIBRARY)
        plain = subprocess.run(["ls", "-l", "/sys/class", "/dev/null"], stdout=subprocess.PIPE, env=self.env)
        loaded = subprocess.run(["ls", "-l", "/sys/class", "/dev/null"], stdout=subprocess.PIPE, env=env)
        self.assertEqual(plain.stdout, loaded.stdout)
