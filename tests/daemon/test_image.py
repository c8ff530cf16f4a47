# SPDX-License-Identifier: MIT
"""The container image of gpreemptd (packaging/Containerfile), run by podman as the guide says, schedules programs of the host on a
virtual GPU: a trainer makes room for a server, and loses nothing. And the configuration in the manifest for Kubernetes is valid and
is that of the guide.

GP_IMAGE: the image (localhost/gpreemptd); GP_PODMAN: podman with its options. Skipped where there is no such image."""
import configparser
import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import textwrap
import unittest

import test_gpreemptd as rig

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PODMAN = shlex.split(os.environ.get("GP_PODMAN", "podman"))
IMAGE = os.environ.get("GP_IMAGE", "localhost/gpreemptd")


def missing():
    if not shutil.which(PODMAN[0]):
        return "podman is not installed"
    if os.geteuid() != 0:
        return "root is needed to see the processes of the host"
    there = subprocess.run([*PODMAN, "image", "exists", IMAGE], stderr=subprocess.DEVNULL).returncode == 0
    return None if there else f"there is no image {IMAGE}"


def find_options():
    """The default limits and runtime first; then what works as root of a virtual machine with few rights."""
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
    for runtime, options in (([], []), ([], limits), (["--runtime", "runc"], limits)):
        done = subprocess.run([*PODMAN, *runtime, "run", "--rm", "--network=host", *options, IMAGE, "--version"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            return runtime, options, None
    return [], [], "podman does not run containers here: " + done.stderr.strip()[-200:]


class Manifest(unittest.TestCase):
    def setUp(self):
        text = (SOURCE / "packaging" / "kubernetes.yaml").read_text()
        self.configuration = textwrap.dedent(re.search(r"  gpreemptd\.conf: \|\n(.*?)^---", text, re.DOTALL | re.MULTILINE).group(1))

    def guide(self, folder):
        return (SOURCE / "docs" / folder / "containers.md").read_text()

    def rules(self, text):
        parser = configparser.ConfigParser()
        parser.read_string(text)
        return {name: dict(parser[name]) for name in parser.sections() if name.startswith("rule ")}

    def test_its_configuration_is_valid(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(self.configuration)
            file.flush()
            done = subprocess.run([os.path.join(os.environ["GP_BIN"], "gpreemptd"), "--check", file.name], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=rig.LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_guides_have_its_rules(self):
        for folder in ("guides", "zh-CN/guides"):
            block = re.search(r"```ini\n(\[rule besteffort\].*?)```", self.guide(folder), re.DOTALL).group(1)
            self.assertEqual(list(self.rules(block).items()), list(self.rules(self.configuration).items()), folder)

    def test_pods_get_the_classes_that_the_guide_names(self):
        rows = re.findall(r"^\| .* \| `(/kubepods[^`]*)` \| (\w+) \|$", self.guide("guides"), re.MULTILINE)
        self.assertEqual([row[1] for row in rows], ["offline", "normal", "online"])
        for path, wanted in rows:
            self.assertEqual(next(rule["class"] for rule in self.rules(self.configuration).values()
                                  if fnmatch.fnmatchcase(path, rule["cgroup"])), wanted, path)


WHY_NOT = missing()
RUNTIME, OPTIONS, WHY_NOT = ([], [], WHY_NOT) if WHY_NOT else find_options()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Image(rig.Daemon):
    def tearDown(self):
        subprocess.run([*PODMAN, "rm", "-f", "-t", "5", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        super().tearDown()

    def daemon(self, config):
        self.name = f"gpreemptd-{os.getpid()}"
        path = os.path.join(self.place, "gpreemptd.conf")
        with open(path, "w") as file:
            file.write(config)
        # What a real GPU needs as devices, the virtual one needs as files and variables.
        variables = [line for line in self.gpreempt("vgpu", "--", "env").stdout.splitlines()
                     if line.startswith(("GPREEMPT_VGPU", "LD_PRELOAD="))]
        build = os.path.dirname(os.environ["GP_BIN"])
        process = subprocess.Popen(
            [*PODMAN, *RUNTIME, "run", "--rm", "--name", self.name, *OPTIONS, "--pid=host", "--network=host", "--cap-drop=ALL",
             "--cap-add=SYS_PTRACE,DAC_OVERRIDE,KILL,SYS_NICE", "-v", f"{self.place}:{self.place}", "-v", f"{build}:{build}:ro",
             "-v", "/sys/fs/cgroup:/sys/fs/cgroup:ro", *[word for one in variables for word in ("-e", one)],
             "-e", f"GPREEMPT_DIR={self.sockets}", IMAGE, "--config", path],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)
        self.started.append(process)
        self.until(lambda: self.gpreempt("top", "--once").returncode == 0 or process.poll() is not None, "no daemon")
        if process.poll() is not None:
            self.fail("the container ended: " + process.stdout.read())
        return process

    def test_a_trainer_of_the_host_makes_room_for_a_server(self):
        self.daemon(rig.ACT)
        self.program("offline", "offline_trainer", 600)
        self.until(lambda: self.job("offline_trainer") and self.job("offline_trainer")["busy_queues"], "the trainer does not work")
        self.program("online", "online_server", 600)
        self.held_again("offline_trainer")
        stats = self.json("stats")
        self.assertGreater(stats["suspends"] if "suspends" in stats else stats["preemptions"], 0)
        # It is the gpreemptd of the image that did it.
        mount = subprocess.run([*PODMAN, "inspect", "-f", "{{.State.Pid}}", self.name], stdout=subprocess.PIPE, text=True)
        pid = int(mount.stdout)
        self.assertEqual(os.readlink(f"/proc/{pid}/exe"), "/usr/sbin/gpreemptd")
        self.assertNotEqual(os.stat(f"/proc/{pid}/ns/mnt").st_ino, os.stat("/proc/self/ns/mnt").st_ino)


if __name__ == "__main__":
    unittest.main()
