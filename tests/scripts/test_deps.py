# SPDX-License-Identifier: MIT
"""scripts/deps asks on a terminal before it installs, and only there. dpkg-query and apt-get are the test's own."""
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 120


class Deps(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="gpt")
        self.addCleanup(shutil.rmtree, self.place)
        self.calls = os.path.join(self.place, "calls")
        for name, text in (("dpkg-query", "exit 1"), ("apt-get", f'echo "$*" >> {self.calls}'), ("sudo", 'exec "$@"')):
            path = os.path.join(self.place, name)
            with open(path, "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(path, 0o755)
        self.env = {"PATH": f"{self.place}:/usr/bin:/bin", "HOME": self.place}

    def installed(self):
        return pathlib.Path(self.calls).read_text() if os.path.exists(self.calls) else ""

    def on_terminal(self, answer, *arguments, **env):
        """Exit status and everything that the terminal showed."""
        leader, follower = pty.openpty()
        process = subprocess.Popen([SOURCE / "scripts" / "deps", *arguments], stdin=follower, stdout=follower,
                                   stderr=follower, env={**self.env, **env}, start_new_session=True)
        os.close(follower)
        os.write(leader, answer)
        shown = b""
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:  # the end of a terminal
                break
            if not part:
                break
            shown += part
        os.close(leader)
        return process.wait(LIMIT), shown.decode()

    def test_a_terminal_is_asked(self):
        status, shown = self.on_terminal(b"n\n", "build")
        self.assertEqual((status, self.installed()), (1, ""), shown)
        self.assertIn("[Y/n]", shown)
        self.assertIn("Nothing was installed", shown)
        self.assertIn("missing: meson (build system)", shown)
        for answer in (b"y\n", b"\n"):
            status, shown = self.on_terminal(answer, "build")
            self.assertEqual(status, 0, shown)
            self.assertIn("meson", self.installed())
        self.assertIn("DPkg::Lock::Timeout=300 install ", self.installed())  # another apt is waited for

    def test_what_the_distribution_does_not_have_is_left_out_if_it_is_optional(self):
        for name, text in (("apt-get", f'echo "$*" >> {self.calls}; case "$*" in *rocminfo*|*gone*) exit 100;; esac'),
                           ("apt-cache", '[ "$2" != rocminfo ] && [ "$2" != meson ]')):
            with open(os.path.join(self.place, name), "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(self.place, name), 0o755)
        done = subprocess.run([SOURCE / "scripts" / "deps", "build", "test"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.env, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("not in this distribution, left out: rocminfo\n", done.stdout)
        last = self.installed().splitlines()[-1].split()
        self.assertIn("tmux", last)
        self.assertIn("meson", last)  # required: apt-get says what is wrong with it
        self.assertNotIn("rocminfo", last)

    def with_a_mirror_that_lacks(self, *packages):
        """It lists all of them. As apt-get does, it installs either everything that it is asked for or nothing."""
        lacking = "|".join(f"*' {package} '*" for package in packages)
        for name, text in (("apt-get", f"""case " $* " in *' update '*) exit 100;; {lacking})
            echo 'E: Failed to fetch http://mirror/x.deb  404  Not Found' >&2; echo 'E: Unable to fetch some archives' >&2; exit 100;; esac; echo "$*" >> {self.calls}"""),
                           ("apt-cache", "exit 0")):
            with open(os.path.join(self.place, name), "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(self.place, name), 0o755)

    def test_a_package_that_cannot_be_fetched_stops_nothing_if_it_is_optional(self):
        self.with_a_mirror_that_lacks("lld-19", "libncurses-dev")
        done = subprocess.run([SOURCE / "scripts" / "deps", "build", "test"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.env, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)
        installed = self.installed().split()
        for package in ("meson", "gcc", "tmux", "zlib1g-dev", "clang-19"):
            self.assertIn(package, installed)
        self.assertNotIn("lld-19", installed)
        self.assertIn("cannot be installed, left out: lld-19 (Failed to fetch http://mirror/x.deb  404  Not Found)\n", done.stdout)

    def test_a_package_for_one_purpose_alone_is_needed_for_it(self):
        """A cluster without its controller would be a test that is skipped, and green."""
        self.with_a_mirror_that_lacks("slurm-wlm", "lld-19")
        done = subprocess.run([SOURCE / "scripts" / "deps", "build", "test", "slurm"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env, timeout=LIMIT)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("cannot be installed: slurm-wlm (Failed to fetch", done.stdout)
        self.assertIn("cannot be installed, left out: lld-19 (", done.stdout)
        self.assertIn("munge", self.installed().split())

    def test_a_package_that_cannot_be_fetched_fails_if_it_is_required_and_not_with_try(self):
        self.with_a_mirror_that_lacks("meson")
        for arguments, status in (((), 1), (("--try",), 0)):
            done = subprocess.run([SOURCE / "scripts" / "deps", *arguments, "build"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env, timeout=LIMIT)
            self.assertEqual(done.returncode, status, done.stdout)
            self.assertIn("404  Not Found", done.stdout)

    def test_the_answer_to_optional_packages_is_taken(self):
        status, shown = self.on_terminal(b"n\n", "--try", "kernels")
        self.assertEqual((status, self.installed()), (0, ""), shown)
        self.assertIn("continuing without them", shown)

    def test_no_question_without_need(self):
        for arguments, env in ((("-y", "build"), {}), (("build",), {"CI": "true"}), (("build",), {"GP_YES": "1"})):
            status, shown = self.on_terminal(b"", *arguments, **env)
            self.assertEqual(status, 0, shown)
            self.assertNotIn("[Y/n]", shown)
        done = subprocess.run([SOURCE / "scripts" / "deps", "build"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.env, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("[Y/n]", done.stdout)
        self.assertEqual(self.installed().count("meson"), 4)

    def test_the_demo_needs_no_compiler_for_tests(self):
        subprocess.run([SOURCE / "scripts" / "deps", "build", "demo"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       env=self.env, timeout=LIMIT, check=True)
        packages = self.installed().split()
        self.assertIn("libamdhip64-dev", packages)
        self.assertFalse({"clang", "gcovr", "linux-headers-amd64", "clang-19"} & set(packages))


if __name__ == "__main__":
    unittest.main()
