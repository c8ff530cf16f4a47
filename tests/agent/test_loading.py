# SPDX-License-Identifier: MIT
"""How the agent comes into a program, and what it survives there."""
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import unittest

from agentwire import AGENT, BUILD, GPREEMPT, HELLO, HELLO_BODY, LIMIT, Activity, Client, Stage
from stage import BUILT, SHORT, STAGE, Program

TOOL = os.path.join(BUILD, "tests", "agent", "libagent_tool.so")
HEADER = "/usr/include/hsa/hsa_api_trace.h"
VERSIONS = "/usr/include/hsa/hsa_api_trace_version.h"  # since ROCm 6


class Library(unittest.TestCase):
    def test_needs_no_symbol_newer_than_glibc_2_28(self):
        text = subprocess.run(["objdump", "-T", AGENT], stdout=subprocess.PIPE, text=True, check=True).stdout
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", text)}
        self.assertTrue(versions)
        self.assertLessEqual(max(versions), (2, 28))

    def test_needs_nothing_but_libc(self):
        text = subprocess.run(["readelf", "-d", AGENT], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(set(re.findall(r"NEEDED.*\[(.*)\]", text)), {"libc.so.6", "libdl.so.2", "libpthread.so.0"})
        self.assertIn("NODELETE", text)

    @unittest.skipUnless(os.path.exists(HEADER), "built without ROCm's headers")
    def test_the_tables_are_as_the_runtimes_header_says(self):
        text = ""
        for path in (HEADER, VERSIONS):
            if os.path.exists(path):
                with open(path) as file:
                    text += file.read()
        with open(os.path.join(os.path.dirname(__file__), "../../src/abi/hsa_table.h")) as file:
            ours = dict(re.findall(r"#define (GP_HSA_\w+)\s+(\d+)", file.read()))
        tables = {name: re.findall(r"(hsa_\w+)_fn;", text.split(f"struct {name} {{")[1].split("\n};")[0])
                  for name in ("CoreApiTable", "AmdExtTable")}
        core, amd = tables["CoreApiTable"], tables["AmdExtTable"]
        self.assertEqual(core.index("hsa_signal_store_relaxed"), int(ours["GP_HSA_CORE_SIGNAL_STORE_RELAXED"]))
        self.assertEqual(core.index("hsa_signal_store_screlease"), int(ours["GP_HSA_CORE_SIGNAL_STORE_SCRELEASE"]))
        major = re.search(r"HSA_AMD_EXT_API_TABLE_MAJOR_VERSION\s+0x0*(\d)", text)[1]
        self.assertEqual(amd.index("hsa_amd_queue_set_priority"), int(ours[f"GP_HSA_AMD_QUEUE_SET_PRIORITY_{major}"]))
        if major == "1":
            self.assertEqual(16 + 8 * len(amd), int(ours["GP_HSA_AMD_TABLE_1_BYTES"]))


class Run(Stage):
    def run_it(self, *arguments, env=()):
        return subprocess.run([GPREEMPT, "run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(self.env, **dict(env)), timeout=LIMIT)

    def test_sets_what_the_agent_reads(self):
        done = self.run_it("--class", "offline", "-p", "7", "--group", "g", "--weight", "9", "--deadline", "3ms", "--",
                           "sh", "-c", "echo $GPREEMPT_CLASS $GPREEMPT_PRIORITY $GPREEMPT_GROUP $GPREEMPT_WEIGHT "
                           "$GPREEMPT_DEADLINE_US; echo $LD_PRELOAD; echo $HSA_TOOLS_LIB; "
                           "echo $HSA_TOOLS_ROCPROFILER_V1_TOOLS")
        self.assertEqual(done.stdout.split("\n"), ["offline 7 g 9 3000", AGENT, AGENT, "1", ""])

    def test_has_the_classes_that_the_scheduler_has(self):
        for name in ("online", "normal", "offline"):
            done = self.run_it("--class", name, "--", "sh", "-c", "echo $GPREEMPT_CLASS")
            self.assertEqual((done.returncode, done.stdout), (0, name + "\n"))

    def test_comes_first_and_keeps_what_was_there(self):
        done = self.run_it("sh", "-c", "echo $LD_PRELOAD; echo $HSA_TOOLS_LIB",
                           env={"LD_PRELOAD": "libm.so.6", "HSA_TOOLS_LIB": "/a/tool.so"})
        self.assertEqual(done.stdout, f"{AGENT}:libm.so.6\n{AGENT} /a/tool.so\n")
        done = self.run_it("--", GPREEMPT, "run", "sh", "-c", "echo $LD_PRELOAD; echo $HSA_TOOLS_LIB")
        self.assertEqual(done.stdout, f"{AGENT}\n{AGENT}\n")

    def test_composes_with_vgpu_in_either_order(self):
        vgpu = os.path.join(os.path.dirname(AGENT), "libgpreempt_vgpu.so")
        for words in (("vgpu", "--", GPREEMPT, "run", "--"), ("run", "--", GPREEMPT, "vgpu", "--")):
            done = subprocess.run([GPREEMPT, *words, "sh", "-c", "echo $LD_PRELOAD"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, env=self.env, timeout=LIMIT)
            self.assertEqual(done.stdout, f"{AGENT}:{vgpu}\n")

    def test_is_the_program(self):
        for status in (0, 3, 255):
            self.assertEqual(self.run_it("--", "sh", "-c", f"exit {status}").returncode, status)
        self.assertEqual(self.run_it("--", "sh", "-c", "kill -9 $$").returncode, -signal.SIGKILL)
        done = self.run_it("--", "sh", "-c", "echo $PPID")
        self.assertEqual(int(done.stdout), os.getpid())

    def test_says_why_a_program_cannot_be_run(self):
        for command, status in (("no-such-command-here", 127), ("/no/such/file", 127), ("/etc/passwd", 126),
                                ("/etc", 126)):
            done = self.run_it("--", command)
            self.assertEqual(done.returncode, status)
            self.assertIn(command, done.stderr)
        for words in (("--priority", "65536", "true"), ("--class", "odd", "true"), ("--weight", "0", "true"),
                      ("--weight", "101", "true"),
                      ("--group", "x" * 64, "true"), ("--deadline", "soon", "true"), (), ("--",), ("",)):
            done = self.run_it(*words)
            self.assertEqual((words, done.returncode), (words, 2))
            self.assertIn("Try 'gpreempt run --help'", done.stderr)

    def test_a_static_program_is_refused_with_the_reason(self):
        static = os.path.join(BUILD, "tests", "agent", "static_program")
        if not os.path.exists(static):
            self.skipTest("no static libc to link with")
        done = self.run_it("--", static)
        self.assertEqual(done.returncode, 126)
        self.assertIn("statically linked", done.stderr)
        script = os.path.join(self.place, "script")
        with open(script, "w") as file:
            file.write(f"#!{static}\n")
        os.chmod(script, 0o755)
        done = self.run_it("--", script)
        self.assertEqual(done.returncode, 126)
        self.assertIn(f"{static} is statically linked", done.stderr)

    def test_a_path_with_blanks_is_linked(self):
        place = os.path.join(self.place, "a b:c")
        os.makedirs(os.path.join(place, "bin"))
        os.makedirs(os.path.join(place, "lib"))
        shutil.copy(GPREEMPT, os.path.join(place, "bin"))
        shutil.copy(AGENT, os.path.join(place, "lib"))
        done = subprocess.run([os.path.join(place, "bin", "gpreempt"), "run", "sh", "-c", "echo $LD_PRELOAD"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env, timeout=LIMIT)
        link = os.path.join(self.place, "sockets", "libgpreempt_agent.so")
        self.assertEqual((done.stdout, done.stderr), (link + "\n", ""))
        self.assertEqual(os.path.realpath(link), os.path.join(place, "lib", "libgpreempt_agent.so"))

    def test_programs_without_a_gpu_do_not_notice(self):
        for command in (("ls", "/proc/self/fd"), ("grep", "Threads", "/proc/self/status")):
            done = self.run_it("--", *command)
            plain = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=self.env, timeout=LIMIT)
            self.assertEqual((done.stdout, done.stderr), (plain.stdout, ""))
        self.assertFalse(os.path.exists(os.path.join(self.place, "sockets")))


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Ways(Stage):
    """LD_PRELOAD is what every other test uses."""

    def setUp(self):
        super().setUp()
        self.machine()

    def with_variables(self, **variables):
        return Program(self, launch=lambda command: self.launch(GPREEMPT, "vgpu", "--", command, env=variables))

    def works(self, program, hooked):
        program.queues(2)
        client = self.connect()
        first, _ = client.rings()
        client.suspend([first])
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask(f"kernel 1 {SHORT}", "ok")
        program.ask("wait 1", "done 1")
        program.ask("done 0", "done 0")
        activity = client.watch()
        self.assertEqual(activity.slot(first)["doorbells"], 1 if hooked else 0)
        self.assertEqual(activity.slot(first)["state"], Activity.BUSY)
        activity.close()
        client.resume()
        program.ask("wait 0", "done 1")
        program.quit()
        self.assertEqual(self.sockets(), [])

    def test_as_a_tool_of_the_runtime(self):
        self.works(self.with_variables(HSA_TOOLS_LIB=AGENT), hooked=True)

    def test_preloaded_without_being_a_tool(self):
        """ROCm 6 and later look for tools among the libraries that are loaded already."""
        self.works(self.with_variables(LD_PRELOAD=AGENT), hooked=os.path.exists(VERSIONS))

    def test_beside_another_tool(self):
        program = Program(self, env={"HSA_TOOLS_LIB": TOOL})
        program.queues(1)
        client = self.connect()
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask("wait 0", "done 1")
        activity = client.watch()
        self.assertEqual(activity.slot(client.rings()[0])["doorbells"], 1)
        activity.close()
        program.tell("quit")
        _, errors = program.process.communicate(timeout=LIMIT)
        self.assertEqual(program.process.returncode, 0, errors)
        self.assertRegex(errors, r"tool: [1-9]\d* stores\n")


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Survives(Stage):
    def setUp(self):
        super().setUp()
        self.machine()

    def begin(self, count=1, **options):
        program = Program(self, **options)
        program.queues(count)
        return program

    def test_fork_the_child_has_nothing_of_the_parents(self):
        program = self.begin()
        client = self.connect()
        program.ask("fork", "child 7")
        self.assertEqual(len(self.sockets()), 1)
        client.suspend()
        client.resume()
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask("wait 0", "done 1")
        program.quit()

    def test_spawned_children(self):
        program = self.begin()
        client = self.connect()
        client.suspend()
        program.ask("spawn", "child 9")
        client.resume()
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask("wait 0", "done 1")
        program.quit()

    def test_the_runtime_is_shut_down_and_started_again(self):
        for launch in (None, lambda command: self.launch(GPREEMPT, "vgpu", "--", command, env={"HSA_TOOLS_LIB": AGENT})):
            program = self.begin(launch=launch)
            client = self.connect()
            program.ask("destroy 0", "ok")
            program.ask("reinit", "ok")
            program.ask("queue", "queue 1")
            program.ask(f"kernel 1 {SHORT}", "ok")
            program.ask("wait 1", "done 1")
            activity = client.watch()
            self.assertEqual([activity.slot(queue)["doorbells"] for queue in client.rings()], [1])
            activity.close()
            program.quit()
            self.assertEqual(self.sockets(), [])

    def test_exec_what_was_held_is_gone_and_the_new_program_has_its_own(self):
        program = self.begin()
        old = self.connect()
        before = self.sockets()
        old.suspend()
        program.tell(f"exec {STAGE}")
        self.line(program.process, "ready")
        program.queues(1)
        path = self.until(lambda: set(self.sockets()) - set(before), "the new program has no agent").pop()
        client = Client(path)
        self.addCleanup(client.close)
        self.assertEqual({queue["state"] for queue in client.queues().values()}, {0})
        # The name the old one left behind was cleared away by the new one.
        self.until(lambda: self.sockets() == [path], f"left behind: {before}")
        program.quit()

    def test_a_program_that_closes_everything_it_does_not_know(self):
        program = self.begin()
        client = self.connect()
        program.ask("closeall", "ok")
        client.suspend()
        client.resume()
        self.assertEqual(len(client.queues()) > 0, True)

    def test_a_killed_programs_socket_is_cleared_by_the_next(self):
        program = self.begin()
        self.connect()
        old = self.sockets()
        os.kill(self.connect().hello["pid"], signal.SIGKILL)
        program.process.wait(timeout=LIMIT)
        self.assertEqual(self.sockets(), old)
        self.begin()
        self.until(lambda: self.sockets() and not set(old) & set(self.sockets()), "it was not cleared")

    def test_a_full_table_of_descriptors(self):
        program = self.begin()
        client = self.connect()
        pid = client.hello["pid"]
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (20, limits[1]))
        free = set(range(20)) - {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        self.assertLess(len(free), 15)  # more connections than that are refused for another reason
        for _ in free:
            self.addCleanup(Client(self.sockets()[0]).close)
        late = Client(self.sockets()[0], hello=False)
        self.addCleanup(late.close)
        late.send(HELLO, HELLO_BODY.pack(os.getpid(), 0, 0, 0, 0, b"", b"late"))
        self.assertEqual(select.select([late.socket], [], [], 0.2)[0], [])
        self.assertEqual(len(client.rings()), 1)
        # It is let in once there is room.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        self.assertEqual(late.answer()[0], 0)
        client.suspend()
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask("done 0", "done 0")
        client.resume()
        program.ask("wait 0", "done 1")
        program.quit()

    def test_no_directory_for_its_socket(self):
        with open(os.path.join(self.place, "file"), "w"):
            pass
        program = self.begin(env={"GPREEMPT_DIR": os.path.join(self.place, "file")})
        self.assertEqual(self.sockets(), [])
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask("wait 0", "done 1")
        program.quit()

    def test_a_directory_of_somebody_else_is_not_used(self):
        place = os.path.join(self.place, "open")
        os.mkdir(place)
        os.chmod(place, 0o777)
        program = self.begin(env={"GPREEMPT_DIR": place})
        program.quit()
        self.assertEqual(os.listdir(place), [])


@unittest.skipUnless(BUILT, "built without ROCm's headers")
class Container(Stage):
    """Own pids, mounts and network; the directory of the sockets is bind-mounted elsewhere."""
    UNSHARE = ("unshare", "--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc")

    def setUp(self):
        super().setUp()
        if shutil.which("unshare") is None or subprocess.run([*self.UNSHARE, "true"], stderr=subprocess.DEVNULL,
                                                             stdout=subprocess.DEVNULL).returncode:
            self.skipTest("namespaces cannot be made here (unshare)")
        self.machine()
        self.inside = os.path.join(self.place, "inside")
        os.mkdir(self.inside)
        os.mkdir(os.path.join(self.place, "sockets"), 0o700)

    def boxed(self, command):
        script = f"mount --bind {self.place}/sockets {self.inside} && " \
                 f"GPREEMPT_DIR={self.inside} exec {GPREEMPT} run --group boxed -- {command}"
        return self.launch(GPREEMPT, "vgpu", "--", *self.UNSHARE, "sh", "-c", script)

    def test_it_is_found_known_and_stopped_from_outside(self):
        program = Program(self, launch=self.boxed)
        program.queues(1)
        client = self.connect()
        self.assertEqual(client.hello["group"], "boxed")
        pid, uid, _ = struct.unpack("3i", client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        with open(f"/proc/{pid}/status") as status:
            names = re.search(r"^NSpid:\s*(.*)$", status.read(), re.M)[1].split()
        self.assertEqual((names[0], names[-1]), (str(pid), str(client.hello["pid"])))
        self.assertNotEqual(pid, client.hello["pid"])
        self.assertEqual(uid, os.getuid())
        client.suspend()
        program.ask(f"kernel 0 {SHORT}", "ok")
        program.ask("done 0", "done 0")
        client.resume()
        program.ask("wait 0", "done 1")
        program.quit()


if __name__ == "__main__":
    unittest.main()
