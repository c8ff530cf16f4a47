# SPDX-License-Identifier: MIT
"""`make` looks for packages again when some were installed or removed since it was configured; meson, ninja and the list of packages are
those of the test."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MESON = """#!/bin/sh
echo "$*" >> "$PLACE/calls"
[ "$1" != setup ] || mkdir -p build/meson-private
[ "$1" != setup ] || touch build/build.ninja
"""


class Configure(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="gpc")
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        (self.place / "scripts").mkdir()
        (self.place / "bin").mkdir()
        shutil.copy(SOURCE / "Makefile", self.place)
        for name in ("configure", "build"):
            shutil.copy(SOURCE / "scripts" / name, self.place / "scripts")
        self.program("scripts/deps", '#!/bin/sh\n[ "$1" != --installed ] || cat "$PLACE/packages"\n')
        self.program("bin/meson", MESON)
        self.program("bin/ninja", "#!/bin/sh\n")
        self.installed("gcc 12\n")

    def program(self, name, text):
        (self.place / name).write_text(text)
        (self.place / name).chmod(0o755)

    def installed(self, packages):
        (self.place / "packages").write_text(packages)

    def calls(self, *command):
        """What meson was asked for."""
        (self.place / "calls").write_text("")
        done = subprocess.run(command, cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                              env=dict(os.environ, PLACE=str(self.place), PATH=f"{self.place}/bin:{os.environ['PATH']}", MAKEFLAGS=""))
        self.assertEqual(done.returncode, 0, done.stdout)
        return (self.place / "calls").read_text().splitlines()

    def test_make_looks_again_when_a_package_was_installed(self):
        first, = self.calls("make")
        self.assertTrue(first.startswith("setup "), first)
        self.assertEqual(self.calls("make"), [])
        self.installed("gcc 12\nlibslurm-dev 22.05.8\n")
        self.assertEqual(self.calls("make"), ["setup --reconfigure build"])
        self.assertEqual(self.calls("make"), [])
        self.installed("gcc 12\nlibslurm-dev 22.05.11\n")
        self.assertEqual(self.calls("make"), ["setup --reconfigure build"])

    def test_root_leaves_the_build_of_a_user_as_it_is(self):
        if os.geteuid() != 0:
            self.skipTest("root is needed to own files of two users")
        self.calls("make")
        os.chown(self.place / "build", 65534, 65534)
        self.installed("gcc 12\nlibslurm-dev 22.05.8\n")
        self.assertEqual(self.calls("make"), [])

    def test_make_does_not_look_each_time_where_packages_are_not_known(self):
        self.installed("")
        self.calls("make")
        self.assertEqual(self.calls("make"), [])
        self.assertEqual(self.calls("scripts/configure", "build"), ["setup --reconfigure build"])


if __name__ == "__main__":
    unittest.main()
