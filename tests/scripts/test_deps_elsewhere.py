# SPDX-License-Identifier: MIT
"""scripts/deps on machines that are not Debian, and beside a ROCm in /opt."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "deps"
TOOLS = ("bash", "env", "awk", "sort", "ls", "sed", "cat", "timeout", "xargs")


class Elsewhere(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)
        (self.place / "bin").mkdir()
        for tool in TOOLS:
            (self.place / "bin" / tool).symlink_to(shutil.which(tool))

    def program(self, name, text):
        path = self.place / "bin" / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)

    def deps(self, *arguments):
        env = {"PATH": str(self.place / "bin"), "GP_OPT": str(self.place / "opt")}
        return subprocess.run([shutil.which("bash"), SCRIPT, *arguments], env=env, capture_output=True, text=True)

    def test_with_dnf_it_prints_the_command_and_runs_neither_apt_nor_dnf(self):
        self.program("dnf", f"touch {self.place}/ran")
        self.program("rpm", 'case "$*" in *gcc) exit 0;; esac; exit 1\n')
        done = self.deps("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sudo dnf install glibc-devel meson", done.stderr)
        self.assertIn("jansson-devel", done.stderr)
        self.assertIn("not tested", done.stderr)
        self.assertFalse((self.place / "ran").exists())

    def test_with_dnf_packages_that_are_optional_do_not_stop_the_build(self):
        self.program("dnf", "exit 1")
        self.program("rpm", 'case "$*" in *ncurses-devel) exit 1;; esac; exit 0\n')
        done = self.deps("build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("missing: ncurses-devel (gpreempt top", done.stdout)

    def test_without_a_package_manager_it_names_the_packages(self):
        done = self.deps("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no apt", done.stderr)
        self.assertIn("libjansson-dev", done.stderr)

    def test_no_other_rocm_is_installed_beside_the_one_in_opt(self):
        self.program("apt-get", f'echo "$@" >> {self.place}/asked')
        self.program("sudo", '"$@"')
        self.program("dpkg-query", "exit 1")
        self.deps("test")
        self.assertIn("libamdhip64-dev", (self.place / "asked").read_text())
        (self.place / "asked").unlink()
        for version in ("6.4.1", "7.0.2", "7.0.10"):
            (self.place / f"opt/rocm-{version}/lib").mkdir(parents=True)
            (self.place / f"opt/rocm-{version}/lib/libhsa-runtime64.so.1").touch()
        self.assertEqual(self.deps("--rocm").stdout, f"{self.place}/opt/rocm-7.0.10\n")
        self.deps("test")
        asked = (self.place / "asked").read_text()
        self.assertIn("libcmocka-dev", asked)
        for package in ("libamdhip64-dev", "rocminfo", "libhsa-runtime-dev"):
            self.assertNotIn(package, asked)


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main()
