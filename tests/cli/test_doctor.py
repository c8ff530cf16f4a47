# SPDX-License-Identifier: MIT
"""gpreempt doctor as a person runs it: everywhere, and on a copied /sys and /proc."""
import json
import os
import pty
import shutil
import subprocess
import tempfile
import unittest

from gp import GPREEMPT, fixture, gpreempt, gpreempt_json

ROOT = fixture("root")
MECHANISMS = ["kfd-agent", "kfd-cumask", "kfd-debug", "kfd-module", "kfd-patched", "nv-timeslice",
              "nv-suspend"]


def verdicts(result):
    return {m["name"]: m["verdict"] for m in result["mechanisms"]}


class Doctor(unittest.TestCase):
    def test_runs_on_this_machine(self):
        done = gpreempt("doctor")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in MECHANISMS + ["kernel", "/dev/kfd", "ROCr", "keeps its VRAM", "9 s"]:
            self.assertIn(word, done.stdout)
        result = gpreempt_json("doctor", "--json")
        self.assertEqual(result["kernel"]["release"], os.uname().release)
        self.assertEqual([m["name"] for m in result["mechanisms"]], MECHANISMS)

    def test_names_the_driver_of_the_virtual_machine_that_it_runs_in(self):
        with tempfile.TemporaryDirectory() as place:
            for era, version in (("6.1", "1.11"), ("6.5", "1.13"), ("6.12", "1.17"), ("6.16", "1.18")):
                done = gpreempt("vgpu", "--era", era, "--", GPREEMPT, "doctor", "--json", env={"XDG_RUNTIME_DIR": place})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["kfd"], {"version": version, "source": "probed"})

    def test_runs_on_nothing_at_all(self):
        with tempfile.TemporaryDirectory() as empty:
            done = gpreempt("doctor", "--root", empty)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("No GPU found.", done.stdout)
            self.assertNotIn("FINDING", done.stdout)  # no head without advice
            result = gpreempt_json("doctor", "--json", "--root", empty)
            self.assertEqual(set(verdicts(result).values()), {"cannot"})
            self.assertIsNone(result["kernel"]["release"])

    def test_reads_the_tree_and_nothing_of_this_machine(self):
        result = gpreempt_json("doctor", "--json", "--root", ROOT)
        self.assertEqual(result["kernel"]["release"], "6.12.57-gp")
        self.assertEqual(result["kfd"], {"version": "1.17", "source": "derived"})
        self.assertEqual([(g["gfx"], g["cus"], g["xccs"], g["partition"]) for g in result["gpus"]],
                         [("gfx942", 80, 4, "SPX"), ("gfx90a", 104, 1, None)])
        self.assertIsNone(result["access"]["devices"])
        self.assertIsNone(result["access"]["cap_sys_ptrace"])
        self.assertEqual(result["rocr"][0]["version"], "6.3.1")

    def test_advises_on_the_machine_of_a_dkms_driver(self):
        with tempfile.TemporaryDirectory() as copy:
            root = os.path.join(copy, "root")
            shutil.copytree(ROOT, root, symlinks=True)

            def write(path, text):
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w") as out:
                    out.write(text)

            def advice():
                self.result = gpreempt_json("doctor", "--json", "--root", root)
                return {a["id"]: a for a in self.result["advice"]}

            write("proc/sys/kernel/osrelease", "5.10.134-19.1.al8.x86_64\n")
            write("sys/module/amdgpu/version", "6.12.12\n")
            write("sys/module/amdgpu/parameters/num_kcq", "2\n")
            write("sys/module/amdgpu/parameters/mes", "0\n")
            write("sys/module/amdgpu/parameters/cwsr_enable", "1\n")
            write("sys/module/amdgpu/parameters/sched_policy", "0\n")
            write("proc/sys/kernel/yama/ptrace_scope", "0\n")
            found = advice()
            self.assertEqual(self.result["kfd"], {"version": "1.17", "source": "dkms"})
            self.assertEqual(self.result["amdgpu"]["scheduler"], "cpsch")
            self.assertEqual(found["dkms_6_12_12"]["weight"], "know")
            self.assertNotIn("num_kcq", found)
            self.assertNotIn("cwsr", found)
            for value, expected in (("N\n", False), ("Y\n", True)):
                write("sys/module/amdgpu/parameters/keep_idle_process_evicted", value)
                self.assertEqual("keep_idle" in advice(), expected)
            self.assertIn("keep_idle_process_evicted=0", advice()["keep_idle"]["fix"])
            write("sys/module/amdgpu/parameters/num_kcq", "8\n")
            write("sys/module/amdgpu/parameters/cwsr_enable", "0\n")
            write("sys/module/amdgpu/parameters/sched_policy", "2\n")
            write("proc/sys/kernel/yama/ptrace_scope", "1\n")
            write("run/.containerenv", "")
            found = advice()
            self.assertIn("cwsr_enable=1", found["cwsr"]["fix"])
            self.assertIn("sched_policy=0", found["sched_policy"]["fix"])
            self.assertIn("num_kcq=2", found["num_kcq"]["fix"])
            self.assertIn("sysctl kernel.yama.ptrace_scope=0", found["ptrace_scope"]["fix"])
            self.assertIn("-v /run/gpreempt", found["container_directory"]["fix"])
            self.assertEqual(found["container_directory"]["weight"], "stops")
            self.assertEqual(self.result["container"]["kind"], "podman")
            self.assertEqual(self.result["amdgpu"]["scheduler"], "none")
            self.assertEqual([a["weight"] for a in self.result["advice"]],
                             sorted((a["weight"] for a in self.result["advice"]), key=["stops", "costs", "know"].index))
            write("sys/module/amdgpu/version", "6.12.120\n")
            self.assertIsNone(advice() and self.result["kfd"]["version"])
            shutil.rmtree(os.path.join(root, "sys/class/kfd"))
            self.assertEqual(advice()["container_directory"]["weight"], "costs", "an NVIDIA GPU needs no agent")

    def test_run_says_on_a_terminal_what_a_container_lacks(self):
        def run(**env):
            leader, follower = pty.openpty()
            inside = 'mount -t tmpfs none /run && exec "$0" run -- true'
            done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, GPREEMPT],
                                  env={**os.environ, "LC_ALL": "C.UTF-8", "container": "podman", **env}, stderr=follower)
            os.write(follower, b"end")
            said = os.read(leader, 4096).decode()
            os.close(leader)
            os.close(follower)
            if "unshare:" in said or "mount:" in said:
                self.skipTest(f"no mount namespace: {said}")
            self.assertEqual(done.returncode, 0, said)
            return said

        self.assertIn("-v /run/gpreempt/agents:/run/gpreempt/agents -e GPREEMPT_DIR=/run/gpreempt", run())
        with tempfile.TemporaryDirectory() as place:
            self.assertNotIn("/run/gpreempt", run(GPREEMPT_DIR=place))
        self.assertEqual(gpreempt("run", "--", "true", env={"container": "podman"}).stderr, "")

    def test_says_exactly_what_is_lacking(self):
        with tempfile.TemporaryDirectory() as copy:
            root = os.path.join(copy, "root")
            shutil.copytree(ROOT, root, symlinks=True)

            def write(path, text):
                with open(os.path.join(root, path), "w") as out:
                    out.write(text)

            def reason(name):
                result = gpreempt_json("doctor", "--json", "--root", root)
                return next((m["verdict"], m["reason"]) for m in result["mechanisms"]
                            if m["name"] == name)

            write("proc/sys/kernel/yama/ptrace_scope", "0\n")
            self.assertEqual(reason("kfd-debug")[0], "can")
            write("proc/sys/kernel/osrelease", "6.1.0-54-amd64\n")
            self.assertEqual(reason("kfd-debug"), (
                "cannot", "KFD 1.11 is too old: the debug trap needs 1.13 (Linux 6.5)"))
            write("proc/sys/kernel/osrelease", "6.12.57-gp\n")
            shutil.rmtree(os.path.join(root, "opt"))
            self.assertEqual(reason("kfd-debug"), (
                "cannot", "ROCr 5.2.3 never calls RUNTIME_ENABLE: start programs with "
                          "'gpreempt run'"))
            write("sys/module/amdgpu/parameters/sched_policy", "2\n")
            self.assertIn("sched_policy=2", reason("kfd-debug")[1])

    def test_bad_usage(self):
        for arguments, says in ((["extra"], "'extra'"), (["--probe", "--root", ROOT], "--probe"), (["--root"], "needs a value")):
            done = gpreempt("doctor", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(says, done.stderr)

    def test_probe_without_a_device_warns_and_goes_on(self):
        if os.path.exists("/dev/kfd"):
            self.skipTest("there is a /dev/kfd, and probing it disturbs its users")
        done = gpreempt("doctor", "--probe")
        self.assertEqual(done.returncode, 0)
        self.assertIn("cannot read the KFD version from /dev/kfd", done.stderr)


if __name__ == "__main__":
    unittest.main()
