# SPDX-License-Identifier: MIT
"""`make install` as a user or a packager runs it, into a tree of the test's own."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["GP_BIN"]).parent
LIMIT = 240


def build_option(name):
    options = json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions", BUILD]))
    return next(option["value"] for option in options if option["name"] == name)


class Tree(unittest.TestCase):
    def make_tree(self):
        self.tree = tempfile.mkdtemp(prefix="gpi")
        # As it is configured: another would configure the build anew, under the other tests.
        self.prefix = build_option("prefix")
        self.sysconfdir = os.path.join(self.prefix, build_option("sysconfdir"))
        self.configuration = pathlib.Path(f"{self.tree}{self.sysconfdir}/gpreempt/gpreemptd.conf")
        self.env = dict(os.environ, DESTDIR=self.tree)

    def script(self, *options):
        done = subprocess.run([SOURCE / "scripts" / "install", *options, BUILD, self.prefix, self.sysconfdir],
                              env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def inside(self, path):
        return f"{self.tree}{self.prefix}/{path}"

    def entries(self):
        return sorted(str(path) for path in pathlib.Path(self.tree).rglob("*"))


class Changed(Tree):
    """Installations that change, each in a tree of its own."""

    def setUp(self):
        self.make_tree()
        self.addCleanup(shutil.rmtree, self.tree, ignore_errors=True)

    def test_an_edited_configuration_is_kept(self):
        shipped = (SOURCE / "data" / "gpreemptd.conf").read_text()
        self.script()
        self.assertEqual(self.configuration.read_text(), shipped)
        self.assertNotIn("kept", self.script())
        self.configuration.write_text("[daemon]\nmode = act\n")
        self.assertIn(f"kept {self.configuration}", self.script())
        self.assertEqual(self.configuration.read_text(), "[daemon]\nmode = act\n")
        self.assertEqual(pathlib.Path(f"{self.configuration}.dist").read_text(), shipped)
        self.assertIn(f"kept {self.configuration}", self.script("--uninstall"))
        self.assertEqual([path for path in self.entries() if not os.path.isdir(path)], [str(self.configuration)])

    def test_what_is_installed_is_removed(self):
        """After one installation and after two: the second makes no directory."""
        pathlib.Path(self.inside("sbin")).mkdir(parents=True)  # not ours
        before = self.entries()
        for times in (1, 2):
            for _ in range(times):
                self.script()
            self.assertTrue(os.path.exists(self.inside("bin/gpreempt")))
            package, = (path.parent for path in pathlib.Path(self.tree).rglob("gpreempt/_library.py"))
            (package / "__pycache__").mkdir()  # as the first import does
            self.script("--uninstall")
            self.assertEqual(self.entries(), before)

    def test_removing_twice_says_so(self):
        done = subprocess.run([SOURCE / "scripts" / "install", "--uninstall", BUILD, self.prefix, self.sysconfdir],
                              env=self.env, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.tree}{self.prefix}: nothing was installed", done.stderr)


class Installed(Tree):
    """One installation, looked at."""

    @classmethod
    def setUpClass(cls):
        cls.once = cls("script")
        cls.once.make_tree()
        cls.once.script()

    @classmethod
    def tearDownClass(cls):
        cls.once.script("--uninstall")
        shutil.rmtree(cls.once.tree, ignore_errors=True)

    def setUp(self):
        self.__dict__.update({name: value for name, value in self.once.__dict__.items() if not name.startswith("_")})

    def test_the_daemon_looks_where_the_configuration_is(self):
        said = subprocess.check_output([self.inside("sbin/gpreemptd"), "--help"], text=True, timeout=LIMIT)
        self.assertIn(f"--check {self.sysconfdir}/gpreempt/gpreemptd.conf", said)
        unit = pathlib.Path(self.inside("lib/systemd/system/gpreemptd.service")).read_text()
        self.assertIn(f"--config {self.sysconfdir}/gpreempt/gpreemptd.conf\n", unit)

    def test_a_program_is_built_with_pkg_config(self):
        source = os.path.join(self.tree, "program.c")
        with open(source, "w") as file:
            file.write("#include <gpreempt.h>\n#include <stdio.h>\n"
                       "int main(void)\n{\n\tint (*open)(struct gpreempt **) = gpreempt_open;\n"
                       "\treturn printf(\"%p\\n\", (void *)open) < 0;\n}\n")
        found = dict(self.env, PKG_CONFIG_PATH=self.inside("lib/pkgconfig"), PKG_CONFIG_SYSROOT_DIR=self.tree)
        flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "gpreempt"], env=found, text=True)
        program = os.path.join(self.tree, "program")
        subprocess.run(["gcc", "-o", program, source, *flags.split()], check=True, timeout=LIMIT)
        subprocess.run([program], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL,
                       env=dict(self.env, LD_LIBRARY_PATH=self.inside("lib")))

    def test_python_finds_the_package(self):
        """In a directory that the Python of this prefix searches, where it has one."""
        places = [path.parent for path in pathlib.Path(self.tree).rglob("gpreempt/_library.py")]
        self.assertEqual(len(places), 1)
        package = os.path.relpath(places[0].parent, self.tree)
        if self.prefix in ("/usr", "/usr/local") and os.path.exists("/usr/bin/python3"):
            searched = subprocess.check_output(["/usr/bin/python3", "-c", "import site; print(*site.getsitepackages())"],
                                               text=True, timeout=LIMIT).split()
            self.assertIn("/" + package, searched)
        env = dict(self.env, PYTHONPATH=os.path.join(self.tree, package), PYTHONDONTWRITEBYTECODE="1")
        said = subprocess.check_output([sys.executable, "-c", "import gpreempt; print(gpreempt._library._places()[0])"],
                                       env=env, text=True, timeout=LIMIT, cwd=self.tree)
        self.assertEqual(os.path.realpath(said.strip()), os.path.realpath(self.inside("lib/libgpreempt.so.0")))


class Makefile(unittest.TestCase):
    def test_where_configuration_and_libraries_go(self):
        """Below /usr as the system has it, in /etc and its library directory; otherwise they stay in the prefix."""
        triplet = subprocess.run(["gcc", "-print-multiarch"], stdout=subprocess.PIPE, text=True, timeout=LIMIT).stdout.strip()
        system = f"lib/{triplet}" if triplet else "lib"
        for prefix, *expected in (("/usr", "/etc", system), ("/usr/local", "/etc", "lib"), ("/opt/x", "/opt/x/etc", "lib")):
            said = subprocess.check_output(["make", "-n", "-s", "-C", SOURCE, "uninstall", f"PREFIX={prefix}"],
                                           text=True, timeout=LIMIT)
            self.assertEqual(said.split()[-3:], [prefix, *expected])


if __name__ == "__main__":
    unittest.main()
