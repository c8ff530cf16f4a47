# SPDX-License-Identifier: MIT
"""What `make portable` links with: programs need nothing above glibc 2.28, and the check notices those that do."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
PORTABLE = SOURCE / "scripts" / "portable"
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
static int constructed;
__attribute__((constructor)) static void begin(void) { constructed = 1; }
__attribute__((destructor)) static void end(void) { puts("destructed"); }
static void *thread(void *argument) { return argument; }
int main(int argc, char **argv)
{
	struct stat status;
	pthread_t one;
	(void)argv;
	if (pthread_create(&one, NULL, thread, NULL) || pthread_join(one, NULL) || stat("/", &status) || gettid() <= 0)
		return 1;
	fprintf(stderr, "%s", "");
	printf("%d %d %.0f %d\n", constructed, argc, pow(2, argc + 2), dlsym(RTLD_DEFAULT, "puts") != NULL);
	return S_ISDIR(status.st_mode) ? 0 : 1;
}
"""


@unittest.skipUnless(platform.machine() == "x86_64", "the tarball is for x86_64")
class Portable(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.place)
        subprocess.run([PORTABLE / "old-glibc", cls.place / "glibc"], check=True)
        (cls.place / "program.c").write_text(PROGRAM)

    def link(self, name, *arguments):
        directory = self.place / name
        directory.mkdir()
        subprocess.run(["gcc", "-O2", self.place / "program.c", "-o", directory / "program", *arguments, "-lm", "-lpthread", "-ldl"],
                       check=True)
        return directory

    def test_a_program_needs_nothing_newer_and_runs(self):
        directory = self.link("old", f"-B{self.place}/glibc", "-Wl,--as-needed")
        done = subprocess.run([PORTABLE / "check", directory], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "1 programs and libraries need nothing newer than glibc 2.28\n"), done.stderr)
        done = subprocess.run([directory / "program"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, "1 1 8 1\ndestructed\n"))

    def test_the_check_fails_for_programs_that_need_more(self):
        directory = self.link("new")
        done = subprocess.run([PORTABLE / "check", directory], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"program needs GLIBC_2\.(29|3)")

    @unittest.skipUnless(shutil.which("git") and (SOURCE / ".git").exists(), "no git checkout")
    def test_packing_needs_git_and_tar_only(self):
        pack = re.search(r"^for part in .*?^done$", (PORTABLE / "make").read_text(), re.M | re.S).group(0)
        programs = self.place / "programs"
        programs.mkdir()
        for program in ("git", "tar"):
            (programs / program).symlink_to(shutil.which(program))
        (self.place / "packed").mkdir()
        done = subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", pack], cwd=SOURCE, capture_output=True, text=True,
                              env=dict(os.environ, PATH=str(programs), build=str(self.place), name="packed"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in ("scripts/poc/run_poc_test.sh", "kernel/patches/build", "src/sched/sched.c"):
            self.assertEqual((self.place / "packed" / part).stat().st_mode, (SOURCE / part).stat().st_mode, part)

    def test_the_check_fails_without_programs(self):
        (self.place / "empty").mkdir()
        self.assertEqual(subprocess.run([PORTABLE / "check", self.place / "empty"], capture_output=True).returncode, 1)


if __name__ == "__main__":
    unittest.main()
