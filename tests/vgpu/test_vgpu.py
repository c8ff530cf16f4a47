# SPDX-License-Identifier: MIT
"""gpreempt vgpu from the outside: what is shown, exit codes, signals, machines, and that nothing stays."""
import ctypes
import ctypes.util
import errno
import json
import os
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
import unittest

BIN = os.environ["GP_BIN"]
GPREEMPT = os.path.join(BIN, "gpreempt")
EXAMPLES = os.path.join(os.path.dirname(BIN), "examples")
LIMIT = 60


def forbid_userfaultfd():
    """As the seccomp filter of a container does: for this process and its children, for good."""
    load_number, equal, end = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ, BPF_RET
    userfaultfd, refused, allowed = 323, 0x00050000 | errno.EPERM, 0x7fff0000
    filters = struct.pack("HBBI" * 4, load_number, 0, 0, 0, equal, 0, 1, userfaultfd, end, 0, 0, refused,
                          end, 0, 0, allowed)
    text = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, by_filter, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


class Machine(unittest.TestCase):
    """Each test has its own place for machines, and must leave it empty."""

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpv")
        self.env = dict(os.environ, LC_ALL="C.UTF-8", XDG_RUNTIME_DIR=self.place)
        for name in ("LANGUAGE", "LD_PRELOAD", "GPREEMPT_VGPU"):
            self.env.pop(name, None)

    def tearDown(self):
        self.until(lambda: not self.left(), f"left behind: {self.left()}")
        shutil.rmtree(self.place)

    def left(self):
        """Directories of machines, and sockets that a server still has."""
        machines = os.path.join(self.place, "gpreempt", "vgpu")
        found = os.listdir(machines) if os.path.isdir(machines) else []
        with open("/proc/net/unix") as sockets:
            return found + [line.split()[-1] for line in sockets if self.place in line]

    def until(self, condition, message):
        deadline = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), deadline, message)
            time.sleep(0.01)

    def vgpu(self, *arguments, **options):
        env = dict(self.env, **options.pop("env", {}))
        return subprocess.run([GPREEMPT, "vgpu", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=env, timeout=LIMIT, **options)

    def begin(self, *command):
        """A command that prints a line when it is there."""
        process = subprocess.Popen([GPREEMPT, "vgpu", "--", *command], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, env=self.env)
        self.addCleanup(process.stdout.close)
        return process, process.stdout.readline().strip()


class Programs(Machine):
    @unittest.skipUnless(shutil.which("rocminfo"), "rocminfo is not installed")
    def test_rocminfo_names_the_gpu(self):
        done = self.vgpu("--", "rocminfo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ROCk module is loaded", done.stdout)
        self.assertRegex(done.stdout, r"Name: +gfx90a\b")
        self.assertRegex(done.stdout, r"Compute Unit: +80\b")

    @unittest.skipUnless(shutil.which("rocminfo"), "rocminfo is not installed")
    def test_every_shipped_gpu_is_named_with_its_cus(self):
        for gpu, cus in (("mi210", 104), ("mi300x", 304), ("mi308x", 80)):
            done = self.vgpu("--gpu", gpu, "--count", "2", "--", "rocminfo")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(re.findall(rf"Compute Unit: +{cus}\b", done.stdout)), 2, gpu)

    @unittest.skipUnless(shutil.which("rocminfo"), "rocminfo is not installed")
    def test_an_old_rocr_is_named_where_it_cannot_name_the_gpu(self):
        hint = "ROCm versions before 6 do not support this GPU"
        library = os.path.realpath(ctypes.util.find_library("hsa-runtime64") and
                                   f"/usr/lib/x86_64-linux-gnu/{ctypes.util.find_library('hsa-runtime64')}")
        old = int(library.rsplit(".so.1.", 1)[1].split(".")[0]) < 12
        done = self.vgpu("--personality", "native", "--", "rocminfo")
        self.assertEqual(done.stderr.count(hint), int(old), done.stderr)
        self.assertNotIn(hint, self.vgpu("--", "rocminfo").stderr)

    def test_files_for_tools_hold_what_the_model_knows(self):
        listing = ("for d in /sys/class/drm/card?; do cd $d/device; echo $(basename $d) $(cat ../../$(basename $d)/dev "
                   "/sys/dev/char/226:${d#*card}/dev current_compute_partition fw_version/mec_fw_version mem_info_vis_vram_total); "
                   "ls drm; done; stat -c %t:%T /dev/dri/card1; ls /sys/bus/pci/devices; cat gpu_busy_percent pp_dpm_sclk; "
                   "od -An -v -tu2 -N 18 -w18 gpu_metrics; cd hwmon/hwmon1; echo *; cat name freq1_input freq2_input ../../max_link_speed ../../current_link_width; cat temp1_input 2>&1")
        done = self.vgpu("--personality", "native", "--count", "2", "--", "sh", "-c", listing)
        lines = done.stdout.split("\n")
        self.assertRegex(lines[0], r"^card0 .*SPX 0x[0-9a-f]{8} 206141652992$", done.stdout + done.stderr)
        self.assertEqual(lines[1:3], ["card0", "renderD128"])
        self.assertEqual(lines[4:7], ["card1", "renderD129", "e2:1"])
        self.assertEqual(lines[7:9], ["0000:c1:00.0", "0000:c2:00.0"])
        # 2208 bytes of layout 1.7; no temperature, no power; 0 % activity.
        self.assertEqual([line.split() for line in lines[9:12]],
                         [["0"], ["0:", "1420Mhz", "*"], ["2208", "1793", *["65535"] * 4, "0", "65535", "65535"]])
        self.assertEqual(lines[12:18], ["device freq1_input freq1_label freq2_input freq2_label name", "amdgpu", "1420000000", "2600000000",
                                        "32.0 GT/s PCIe", "16"])
        self.assertIn("No such file", lines[18])

    def test_the_first_line_says_what_is_shown(self):
        poll = {"GPREEMPT_VGPU_POLL": "1"}  # nothing about userfaultfd, whether it is allowed or not
        done = self.vgpu("--personality", "native", "--count", "2", "--", "true", env=poll)
        self.assertEqual(done.stderr, "gpreempt vgpu: 2 x AMD Instinct MI308X, shown as gfx942 with 80 CUs "
                                      "in 4 XCCs (personality native)\n")
        done = self.vgpu("--", "true", env=poll)
        self.assertEqual(done.stderr, "gpreempt vgpu: AMD Instinct MI308X, shown as gfx90a with 80 CUs "
                                      "in 1 XCC (personality compat); programs may print MI210, a product with "
                                      "that gfx\n")

    def test_a_machine_that_runs_is_not_announced_again(self):
        self.assertIn("shown as", self.vgpu("start", "--name", "one").stderr)
        try:
            self.assertEqual(self.vgpu("--name", "one", "--", "true").stderr, "")
        finally:
            self.vgpu("stop", "--name", "one")

    @unittest.skipUnless(os.path.exists(os.path.join(EXAMPLES, "gemm_mini")), "HIP is not installed")
    def test_where_userfaultfd_is_forbidden_doorbells_are_polled_and_it_says_so(self):
        gemm = os.path.join(EXAMPLES, "gemm_mini")
        done = self.vgpu("--speed", "20", "--", gemm, "--seconds", "0.2", preexec_fn=forbid_userfaultfd)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\A.* shown as .*\ngpreempt vgpu: doorbells are polled on this system, so idle programs "
                                      r"use some CPU time \(userfaultfd: Operation not permitted\)\n")
        self.assertRegex(done.stdout, "[0-9.]+ products/s")

    def test_children_see_it_too(self):
        done = self.vgpu("--count", "3", "--", "sh", "-c", "sh -c 'cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id'")
        self.assertEqual(len(done.stdout.split()), 4)

    def test_it_is_preloaded_behind_the_agent_and_in_front_of_all_others(self):
        agent = os.path.join(os.path.dirname(BIN), "lib", "libgpreempt_agent.so")
        ours = r"/.*/libgpreempt_vgpu\.so"
        for before, after in (("libm.so.6", ours + r":libm\.so\.6"), (agent, f"{re.escape(agent)}:{ours}"),
                              (f"{agent} libm.so.6", rf"{re.escape(agent)}:{ours} libm\.so\.6"),
                              ("libasan.so.99:libm.so.6", rf"libasan\.so\.99:{ours}:libm\.so\.6"),  # a sanitizer comes first
                              ("libclang_rt.asan-x86_64.so", rf"libclang_rt\.asan-x86_64\.so:{ours}")):
            with self.subTest(before):
                done = self.vgpu("--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": before})
                self.assertRegex(done.stdout, rf"^{after}\n$")

    def test_our_own_commands_read_the_virtual_files(self):
        done = self.vgpu("--", GPREEMPT, "hqd", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout))
        done = self.vgpu("--", GPREEMPT, "ps")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_examples_print_their_figures(self):
        if not os.path.exists(os.path.join(EXAMPLES, "gemm_mini")):
            self.skipTest("HIP is not installed")
        for name, figure in (("gemm_mini", "products/s"), ("case_a_cnn", "images/s"),
                             ("case_b_transformer", "sequences/s"), ("online_server", "requests/s"),
                             ("offline_trainer", "steps/s"), ("stream_priority", r"\(above 1: they helped\)")):
            done = self.vgpu("--speed", "20", "--", os.path.join(EXAMPLES, name), "--seconds", "0.2")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"{name}: .*[0-9.]+ {figure}")


class ExitStatus(Machine):
    def test_is_that_of_the_command(self):
        for status in (0, 1, 7, 255):
            self.assertEqual(self.vgpu("--", "sh", "-c", f"exit {status}").returncode, status)

    def test_of_a_killed_command_is_128_and_the_signal(self):
        self.assertEqual(self.vgpu("--", "sh", "-c", "kill -9 $$").returncode, 128 + signal.SIGKILL)
        self.assertEqual(self.vgpu("--", "sh", "-c", "kill -SEGV $$").returncode, 128 + signal.SIGSEGV)

    def test_tells_not_found_from_not_runnable(self):
        self.assertEqual(self.vgpu("--", "no-such-command-here").returncode, 127)
        self.assertEqual(self.vgpu("--", "/no/such/file").returncode, 127)
        self.assertEqual(self.vgpu("--", "/etc/passwd").returncode, 126)
        self.assertEqual(self.vgpu("--", "/etc").returncode, 126)

    def test_of_bad_usage_is_2_and_says_why(self):
        for arguments, said in ((("--count", "0", "--", "true"), "'0'"), (("--count", "9", "--", "true"), "'9'"),
                                (("--speed", "fast", "--", "true"), "'fast'"),
                                (("--personality", "odd", "--", "true"), "'odd'"),
                                (("--era", "5.0", "--", "true"), "'5.0'"),
                                (("--era", "6.1", "--personality", "native", "--", "true"), "compat"),
                                (("--seed", "x", "--", "true"), "'x'"),
                                (("--no-such", "--", "true"), "--no-such"), ((), "COMMAND"),
                                (("start", "sideways"), "'sideways'"), (("stop", "--count", "2"), "'stop'"),
                                (("--name", "x", "--count", "2", "--", "true"), "--name x"),
                                (("--gpu", "mi999", "--", "true"), "'mi999' (use mi210, mi300x, mi308x"),
                                (("--gpu", "", "--", "true"), "mi210, mi300x, mi308x"),
                                (("start", "--gpu", "mi999"), "'mi999'"), (("--name", "a/b", "--", "true"), "'a/b'"),
                                (("start", "--name", "../x"), "'../x'"), (("status", "--name", ""), "''"),
                                (("--json", "--", "true"), "--json"), (("start", "--json"), "--json"),
                                (("stop", "--json"), "--json"), (("--", ""), "COMMAND")):
            done = self.vgpu(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(said, done.stderr)

    def test_of_a_machine_that_cannot_start_is_125(self):
        done = self.vgpu("--gpu", "/no/such.json", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/no/such.json", done.stderr)
        self.assertEqual(self.vgpu("--kernels", "/no/such.json", "--", "true").returncode, 125)

    def test_a_machine_that_cannot_start_says_why_and_nothing_else(self):
        for arguments in (("--kernels", "/no/such.json", "--", "true"), ("start", "--kernels", "/no/such.json")):
            done = self.vgpu(*arguments)
            self.assertRegex(done.stderr, r"\Agpreempt vgpu: cannot .*/no/such\.json.*\n\Z")

    def test_a_place_of_somebody_else_is_refused(self):
        open_place = os.path.join(self.place, "gpreempt")
        os.mkdir(open_place)
        os.chmod(open_place, 0o755)
        done = self.vgpu("--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn(open_place, done.stderr)


class Refusals(Machine):
    def build(self, *arguments):
        if not shutil.which("cc"):
            self.skipTest("no C compiler")
        path = os.path.join(self.place, "program")
        done = subprocess.run(["cc", "-x", "c", "-", "-o", path, *arguments], input="int main(void){return 0;}",
                              text=True, stderr=subprocess.PIPE)
        if done.returncode:
            self.skipTest("cannot link: " + done.stderr)
        return path

    def test_a_static_program_is_refused(self):
        path = self.build("-static")
        done = self.vgpu("--", path)
        self.assertEqual(done.returncode, 126)
        self.assertIn("statically linked", done.stderr)
        # So is a script that runs in one.
        script = os.path.join(self.place, "script")
        with open(script, "w") as out:
            out.write(f"#! {path}\n")
        os.chmod(script, 0o755)
        self.assertEqual(self.vgpu("--", script).returncode, 126)

    def test_a_script_without_its_interpreter_is_refused_by_that_name(self):
        script = os.path.join(self.place, "script")
        with open(script, "w") as out:
            out.write("#!/no/such/python3 -u\n")
        os.chmod(script, 0o755)
        done = self.vgpu("--", script)
        self.assertEqual(done.returncode, 126)
        self.assertIn(f"{script}: its interpreter '/no/such/python3' does not exist", done.stderr)

    def test_a_static_position_independent_program_is_refused(self):
        done = self.vgpu("--", self.build("-static-pie"))
        self.assertEqual(done.returncode, 126)

    def test_a_program_that_gains_rights_is_refused(self):
        if os.getuid() != 0:
            self.skipTest("needs root to make a set-user-ID program of another user")
        path = self.build()
        os.chown(path, 65534, -1)
        os.chmod(path, 0o755 | stat.S_ISUID)
        done = self.vgpu("--", path)
        self.assertEqual(done.returncode, 126)
        self.assertIn("set-user-ID", done.stderr)


class Inside(Machine):
    """A machine's own programs that ask for a machine mean the one they are in."""

    def test_status_and_commands_use_the_machine_they_are_in(self):
        done = self.vgpu("--gpu", "mi210", "--", GPREEMPT, "vgpu", "status", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["gpus"][0]["gpu"], "mi210")
        done = self.vgpu("--gpu", "mi210", "--", "sh", "-c",
                         f"echo $GPREEMPT_VGPU; {GPREEMPT} vgpu -- sh -c 'echo $GPREEMPT_VGPU'")
        outer, inner = done.stdout.split()
        self.assertEqual(inner, outer)

    def test_options_and_names_say_otherwise(self):
        done = self.vgpu("--gpu", "mi210", "--", GPREEMPT, "vgpu", "--gpu", "MI300X", "--", GPREEMPT, "vgpu", "status",
                         "--json")
        self.assertEqual(json.loads(done.stdout)["gpus"][0]["gpu"], "mi300x")
        done = self.vgpu("--", GPREEMPT, "vgpu", "status", "--name", "foo")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'gpreempt vgpu start --name foo'", done.stderr)

    def test_a_machine_that_is_gone_is_not_replaced(self):
        gone = os.path.join(self.place, "run-1")
        for arguments, status in ((("--", "true"), 125), (("status",), 1)):
            done = self.vgpu(*arguments, env={"GPREEMPT_VGPU": gone})
            self.assertEqual(done.returncode, status)
            self.assertIn(f"the machine in {gone} has stopped", done.stderr)


class Access(Machine):
    def test_somebody_who_is_not_root_may_use_them(self):
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv to be somebody else")
        os.chown(self.place, 65534, 65534)
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", GPREEMPT, "vgpu", "--",
                               "sh", "-c", "test -w /dev/kfd && test -w /dev/dri/renderD128"],
                              env=self.env, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        if done.returncode == 126:
            self.skipTest("the build is not theirs to run")
        self.assertEqual(done.returncode, 0, done.stderr)


class Lost(Machine):
    """The server of a machine is killed under its command."""

    def run_and_kill(self, *command):
        process = subprocess.Popen([GPREEMPT, "vgpu", "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.env)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        process.stdout.readline()
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
            os.kill(int(children.read().split()[0]), signal.SIGKILL)
        return process

    def test_the_command_is_ended_and_the_status_is_125(self):
        process = self.run_and_kill("sh", "-c", "echo there; exec sleep 60")
        self.assertEqual(process.wait(LIMIT), 125)
        self.assertIn("the virtual GPU ended unexpectedly", process.stderr.read())

    def test_a_command_that_ignores_the_signal_is_killed(self):
        process = self.run_and_kill("sh", "-c", "trap '' TERM; echo there; exec sleep 60")
        self.assertEqual(process.wait(LIMIT), 125)

    @unittest.skipUnless(os.path.exists(os.path.join(EXAMPLES, "gemm_mini")), "HIP is not installed")
    def test_rocr_gives_up_when_the_machine_is_stopped(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        process = subprocess.Popen([GPREEMPT, "vgpu", "--", os.path.join(EXAMPLES, "gemm_mini"), "--seconds", "300"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=self.env)
        self.addCleanup(process.stderr.close)
        self.until(lambda: any(queue["completed"] for p in json.loads(self.vgpu("status", "--json").stdout)["processes"]
                               for queue in p["queues"]), "nothing ever completed")
        self.assertEqual(self.vgpu("stop").returncode, 0)
        # ROCr aborts, or its caller gets an error first.
        self.assertIn(process.wait(LIMIT), (1, 128 + signal.SIGABRT))
        self.assertEqual(process.stderr.read().count("the virtual GPU has ended"), 1)


class Signals(Machine):
    waiting = ("sh", "-c", "trap 'exit 3' TERM; trap 'exit 4' INT; trap 'exit 5' USR1; echo there; "
                           "while :; do sleep 0.02; done")

    def test_are_the_commands_to_answer(self):
        for number, status in ((signal.SIGTERM, 3), (signal.SIGINT, 4), (signal.SIGUSR1, 5)):
            process, line = self.begin(*self.waiting)
            self.assertEqual(line, "there")
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT), status)

    def test_end_a_command_that_does_not_answer(self):
        process, line = self.begin("sh", "-c", "echo there; exec sleep 60")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGTERM)

    def test_a_killed_runner_takes_its_machine_along(self):
        process, pid = self.begin("sh", "-c", "echo $$; exec sleep 60")
        self.assertTrue(self.left())
        process.kill()
        process.wait(LIMIT)
        self.until(lambda: not self.left(), "the machine outlived its runner")
        os.kill(int(pid), signal.SIGKILL)


class Kept(Machine):
    def tearDown(self):
        for name in ("default", "one", "two"):
            self.vgpu("stop", "--name", name)
        super().tearDown()

    def status(self, *arguments):
        done = self.vgpu("status", "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def endless(self, example, *arguments, **options):
        """An example that goes on until it is killed, at the latest when the test is over."""
        options.setdefault("env", self.env)
        process = subprocess.Popen([GPREEMPT, "vgpu", "--", os.path.join(EXAMPLES, example), "--seconds", "1000000",
                                    *arguments], stdout=subprocess.DEVNULL, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def test_one_machine_serves_many_programs_until_it_is_stopped(self):
        self.assertEqual(self.vgpu("status").returncode, 1)
        done = self.vgpu("start", "--gpu", "mi210", "--seed", "5")
        self.assertEqual(done.returncode, 0, done.stderr)
        first = self.status()
        self.assertEqual(first["seed"], 5)
        self.assertEqual(first["gpus"][0]["gpu"], "mi210")
        seen = {self.vgpu("--", "sh", "-c", "echo $GPREEMPT_VGPU").stdout for _ in range(2)}
        self.assertEqual(seen, {first["directory"] + "\n"})
        # One that is described is another.
        other = self.vgpu("--gpu", "mi300x", "--", "sh", "-c", "echo $GPREEMPT_VGPU").stdout
        self.assertNotIn(other, seen)
        self.assertEqual(self.vgpu("stop").returncode, 0)
        self.assertFalse(os.path.exists(first["directory"]))
        self.assertEqual(self.vgpu("stop").returncode, 1)

    def begin_user(self):
        """A program that has the GPU open; its pid."""
        process, pid = self.begin("python3", "-c", "import os, time; os.open('/dev/kfd', os.O_RDWR); "
                                  "print(os.getpid(), flush=True); time.sleep(1000000)")
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, int(pid)

    def test_stop_says_which_programs_lose_the_gpu(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        self.assertEqual(self.vgpu("stop").stdout, "")
        self.assertEqual(self.vgpu("start").returncode, 0)
        pids = [self.begin_user()[1] for _ in range(2)]
        self.assertEqual(self.vgpu("stop").stdout, f"2 programs lost their GPU: pid {pids[0]} {pids[1]}\n")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def test_a_machine_whose_directory_is_deleted_ends_after_its_last_program(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        directory = self.status()["directory"]
        server, = self.servers(directory)
        end = os.pidfd_open(server)
        self.addCleanup(os.close, end)
        process, pid = self.begin_user()
        shutil.rmtree(directory)
        time.sleep(0.3)
        self.assertEqual(select.select([end], [], [], 0)[0], [])
        # A new machine of that name is not touched by the end of the old one.
        self.assertEqual(self.vgpu("start", "--seed", "7").returncode, 0)
        os.kill(pid, signal.SIGKILL)
        process.wait(LIMIT)
        self.assertEqual(select.select([end], [], [], LIMIT)[0], [end])
        self.assertEqual(self.status()["seed"], 7)

    def test_a_machine_that_loses_its_directory_unused_ends(self):
        for lose in (lambda directory: shutil.rmtree(directory, ignore_errors=True),  # the machine removes it as well
                     lambda directory: os.unlink(os.path.join(directory, "socket"))):
            self.assertEqual(self.vgpu("start").returncode, 0)
            directory = self.status()["directory"]
            server, = self.servers(directory)
            end = os.pidfd_open(server)
            lose(directory)
            self.assertEqual(select.select([end], [], [], LIMIT)[0], [end])
            os.close(end)
            self.assertFalse(os.path.exists(directory))

    def test_files_are_looked_for_where_it_was_started(self):
        with open(os.path.join(self.place, "handler.h"), "w") as out:
            for name in ("cwsr_trap_aldebaran_hex", "cwsr_trap_gfx9_4_3_hex"):
                out.write(f"static const uint32_t {name}[] = {{\n\t0xbf810000, 0xbf810000,\n}};\n")
        data = os.path.join(os.path.dirname(__file__), "..", "..", "data")
        for source, copy in (("kernels.json", "costs.json"), ("gpus/mi210.json", "gpu.json")):
            shutil.copyfile(os.path.join(data, source), os.path.join(self.place, copy))
        for options in (("--compute", "on", "--trap-handler", "handler.h"), ("--kernels", "costs.json"),
                        ("--gpu", "./gpu.json")):
            done = self.vgpu("start", *options, cwd=self.place)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.vgpu("stop").returncode, 0)

    def test_a_second_start_is_refused(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        done = self.vgpu("start")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is already running", done.stderr)

    def test_of_many_starts_at_once_one_wins(self):
        starts = [subprocess.Popen([GPREEMPT, "vgpu", "start"], env=self.env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL) for _ in range(6)]
        self.assertEqual(sorted(start.wait(LIMIT) for start in starts), [0] + [1] * 5)

    def test_a_start_during_a_stop_gives_a_machine_that_stays(self):
        for _ in range(12):
            self.assertEqual(self.vgpu("start").returncode, 0)
            stop = subprocess.Popen([GPREEMPT, "vgpu", "stop"], env=self.env, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
            start = self.vgpu("start")
            self.assertEqual(stop.wait(LIMIT), 0)
            if start.returncode:
                self.assertIn("is already running", start.stderr)  # it came first
                continue
            directory = self.status()["directory"]
            self.assertEqual(sorted(os.listdir(directory)), ["kernels.bin", "log", "root", "socket"])
            self.assertEqual(self.vgpu("stop").returncode, 0)

    def test_a_machine_that_stands_still_is_not_waited_for_for_ever(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        servers = list(self.servers(self.status()["directory"]))
        self.assertEqual(len(servers), 1)
        os.kill(servers[0], signal.SIGSTOP)
        try:
            for verb in ("status", "stop"):
                done = self.vgpu(verb, env={"GPREEMPT_VGPU_PATIENCE_MS": "200"})
                self.assertEqual(done.returncode, 1)
                self.assertIn("timed out", done.stderr)
        finally:
            os.kill(servers[0], signal.SIGCONT)

    def test_machines_with_names_live_beside_each_other(self):
        self.assertEqual(self.vgpu("start", "--name", "one", "--gpu", "mi300x").returncode, 0)
        self.assertEqual(self.vgpu("start", "--name", "two", "--gpu", "mi308x", "--count", "2").returncode, 0)
        self.assertEqual(len(self.status("--name", "one")["gpus"]), 1)
        self.assertEqual(len(self.status("--name", "two")["gpus"]), 2)
        nodes = self.vgpu("--name", "two", "--", "ls", "/sys/class/kfd/kfd/topology/nodes")
        self.assertEqual(nodes.stdout.split(), ["0", "1", "2"])
        done = self.vgpu("--name", "three", "--", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("'three'", done.stderr)

    def test_a_status_without_a_name_lists_the_machines(self):
        self.assertNotIn("running machines", self.vgpu("status").stderr)
        for name in ("one", "two"):
            self.assertEqual(self.vgpu("start", "--name", name).returncode, 0)
        said = "running machines (choose one with --name): "
        done = self.vgpu("status")
        self.assertEqual(done.returncode, 1)
        self.assertIn("machine 'default' is not running", done.stderr)
        self.assertIn(said + "one, two\n", done.stderr)
        self.assertEqual(self.vgpu("start").returncode, 0)
        self.assertIn(said + "default, one, two\n", self.vgpu("status").stderr)
        self.assertEqual(self.status()["machines"], ["default", "one", "two"])
        self.assertEqual(self.vgpu("status", "--name", "one").stderr, "")
        for name in ("one", "two"):
            self.assertEqual(self.vgpu("stop", "--name", name).returncode, 0)
        self.assertEqual(self.vgpu("status").stderr, "")

    def test_a_machine_that_was_killed_can_be_started_again(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        directory = self.status()["directory"]
        for pid in self.servers(directory):
            os.kill(pid, signal.SIGKILL)
        self.until(lambda: self.vgpu("status").returncode == 1, "it still answers")
        self.assertTrue(os.path.isdir(directory))
        self.assertEqual(self.vgpu("start").returncode, 0)

    def servers(self, directory):
        """Processes with the machine's log open."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/fd/2").startswith(directory):
                    yield int(pid)
            except OSError:
                pass

    def test_the_status_names_every_figure_with_its_source(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        text = self.vgpu("status").stdout
        for figure in ("cost.unmap_ns", "cost.save_bytes_per_us", "chip.vmids"):
            self.assertRegex(text, rf"{figure} +\d+ +(measured|published|assumed|driver) +\S")
        self.assertIn("personality compat", text)
        self.assertIn("not used by any process", text)
        self.assertIn(f"gpu_id {self.status()['gpus'][0]['gpu_id']:x}, ", text)

    @unittest.skipUnless(os.path.exists(os.path.join(EXAMPLES, "gemm_mini")), "HIP is not installed")
    def test_a_running_program_is_in_status_and_sysfs_and_then_gone(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        process = self.endless("gemm_mini", stderr=subprocess.DEVNULL)
        self.until(lambda: any(p["queues"] for p in self.status()["processes"]), "no queues appeared")
        shown = self.status()["processes"][0]
        queues = self.vgpu("--", "ls", f"/sys/class/kfd/kfd/proc/{shown['pid']}/queues")
        self.assertEqual(queues.returncode, 0, queues.stderr)
        self.assertTrue(queues.stdout.split())
        os.kill(shown["pid"], signal.SIGKILL)
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGKILL)
        self.until(lambda: not self.status()["processes"], "the dead process stays")
        gone = self.vgpu("--", "ls", "/sys/class/kfd/kfd/proc")
        self.assertEqual(gone.stdout, "")

    @unittest.skipUnless(os.path.exists(os.path.join(EXAMPLES, "case_b_transformer")), "HIP is not installed")
    def test_log_sysfs_and_debugfs_agree_on_every_queue(self):
        self.assertEqual(self.vgpu("start").returncode, 0)
        log = os.path.join(self.place, "amd.log")
        with open(log, "w") as out:
            process = self.endless("case_b_transformer", "--batch", "1", stderr=out,
                                   env=dict(self.env, AMD_LOG_LEVEL="4"))
        pid = self.busy_process(log)
        logged = json.loads(self.vgpu("--", GPREEMPT, "find", "--no-live", "--json", pid, log).stdout)
        live = json.loads(self.vgpu("--", GPREEMPT, "find", "--json", pid).stdout)
        joined = json.loads(self.vgpu("--", GPREEMPT, "find", "--json", pid, log).stdout)
        os.kill(int(pid), signal.SIGKILL)
        process.wait(LIMIT)
        # HIP logs the queue object; sysfs knows ids and sizes, debugfs rings and objects.
        objects = {queue["object"]: queue for queue in live["queues"]}
        self.assertGreaterEqual(len(logged["queues"]), 4)
        for queue in logged["queues"]:
            self.assertIn(queue["logged_address"], objects)
            self.assertTrue(objects[queue["logged_address"]]["active"])
            self.assertEqual(objects[queue["logged_address"]]["priority"], queue["priority"])
        self.assertEqual(len(joined["queues"]), len(live["queues"]))
        self.assertEqual(sum(queue["key"] == "object" for queue in joined["queues"]), len(logged["queues"]))

    def busy_process(self, log):
        """The pid of a program all of whose queues have been used."""
        def used():
            with open(log, errors="replace") as text:
                return len(set(re.findall(r"HWq=(0x[0-9a-f]+), Dispatch", text.read()))) >= 4
        self.until(used, "four queues were never used")
        return str(self.status()["processes"][0]["pid"])


class Launch(Machine):
    """Places and states a launcher may be started in."""

    def test_an_ignored_sigchld_does_not_hang_it(self):
        done = self.vgpu("--", "sh", "-c", "exit 7",
                         preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_closed_standard_streams_do_not_keep_it_from_starting(self):
        done = subprocess.run(["sh", "-c", f"exec '{GPREEMPT}' vgpu -- sh -c 'exit 5' <&- >&-"],
                              stderr=subprocess.PIPE, env=self.env, timeout=LIMIT)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_a_path_with_a_blank_still_gives_a_gpu(self):
        copy = os.path.join(self.place, "a b")
        os.mkdir(copy)
        self.addCleanup(shutil.rmtree, copy, True)
        for part in ("bin", "lib", "data"):
            os.makedirs(os.path.join(copy, part))
        build = os.path.dirname(BIN)
        for name in ("bin/gpreempt", "bin/gpreempt-vgpu", "lib/libgpreempt_vgpu.so"):
            shutil.copy(os.path.join(build, name), os.path.join(copy, name))
        shutil.copytree(os.path.join(build, "data"), os.path.join(copy, "data"), dirs_exist_ok=True)
        done = subprocess.run([os.path.join(copy, "bin", "gpreempt"), "vgpu", "--", "sh", "-c",
                               "exec 3<>/dev/kfd"], stderr=subprocess.PIPE, text=True, env=self.env,
                              timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("ld.so", done.stderr)

    def test_ending_it_while_it_starts_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            for moment in range(12):
                process = subprocess.Popen([GPREEMPT, "vgpu", "--", "sleep", "1"], env=self.env,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(moment * 0.004)
                process.send_signal(number)
                process.wait(LIMIT)
        # What a killed launcher could not remove goes when the next one starts.
        self.assertEqual(self.vgpu("--", "true").returncode, 0)
