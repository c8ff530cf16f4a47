# SPDX-License-Identifier: MIT
"""The patches for a DKMS driver, from what `make portable` packs: the copy, its installation for a kernel, and the way back.

The driver's source and dkms are stand-ins, in a mount namespace; /usr/src and /lib/modules are its own."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 60
APART = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
         'mount --bind "$1/usr-src" /usr/src && mount --bind "$1/modules" /lib/modules && shift && exec "$@"', "sh"]
# Its state: a line "KERNEL VERSION" for what is installed.
DKMS = r"""#!/bin/sh
place=$(dirname "$(dirname "$0")")
echo "$*" >> "$place/calls"
action=$1; shift
version= kernel=
while [ $# -gt 0 ]; do
	case $1 in
	-m) [ "$2" = amdgpu ] || exit 9; shift ;;
	-v) version=$2; shift ;;
	-k) kernel=$2; shift ;;
	esac
	shift
done
case $action in
status)
	while read -r k v; do
		[ "$v" != "$version" ] || echo "amdgpu$(cat "$place/separator")$v, $k, x86_64: installed (original_module exists)"
	done < "$place/installed"
	;;
build | install)
	[ -d "/usr/src/amdgpu-$version" ] || exit 8
	[ -z "${TMPDIR+set}" ] || { echo "Error! the tests of configure fail in $TMPDIR" >&2; exit 6; }
	[ ! -e "$place/broken-$kernel" ] || { echo "Error! no headers of $kernel" >&2; exit 7; }
	[ "$action" = build ] || { grep -v "^$kernel " "$place/installed" > "$place/new"; echo "$kernel $version" >> "$place/new"
		mv "$place/new" "$place/installed"; }
	;;
remove) grep -v " $version\$" "$place/installed" > "$place/new"; mv "$place/new" "$place/installed" ;;
esac
exit 0
"""
PATCH = """--- a/amd/amdkfd/one.c
+++ b/amd/amdkfd/one.c
@@ -1,3 +1,3 @@
 before
-{}
+{}
 after
"""


def apart():
    """Whether this machine lets a user mount in a namespace of their own."""
    return shutil.which("unshare") and not subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "mount", "--bind", "/usr", "/usr"], capture_output=True).returncode


@unittest.skipUnless(apart(), "no mounts in a namespace here")
class Patches(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)
        self.tools = self.place / "tools"
        self.unpack()
        (self.place / "bin").mkdir()
        self.program("dkms", DKMS)
        (self.place / "separator").write_text("/")
        (self.place / "installed").write_text("")
        (self.place / "usr-src").mkdir()
        for kernel in ("1.0", "2.0", os.uname().release):
            (self.place / "modules" / kernel / "build").mkdir(parents=True)
        self.driver = self.place / "usr-src" / "amdgpu-6"
        (self.driver / "amd/amdkfd").mkdir(parents=True)
        (self.driver / "dkms.conf").write_text('PACKAGE_NAME="amdgpu"\nPACKAGE_VERSION="6"\n')
        (self.driver / "amd/amdkfd/one.c").write_text("before\nold\nafter\n")

    def program(self, name, text):
        path = self.place / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def unpack(self):
        """What the tarball has, with a series for the driver here."""
        parts = re.search(r"^for part in (.*); do$", (SOURCE / "scripts/portable/make").read_text(), re.M).group(1).split()
        for part in parts:
            target = self.tools / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if (SOURCE / part).is_dir():
                shutil.copytree(SOURCE / part, target)
            elif (SOURCE / part).exists():
                shutil.copy(SOURCE / part, target)
        for series in (self.tools / "kernel/patches").glob("dkms-*"):
            shutil.rmtree(series)
        series = self.tools / "kernel/patches/dkms-6"
        series.mkdir()
        (series / "0001.patch").write_text(PATCH.format("old", "new"))
        (series / "0002.patch").write_text(PATCH.format("new", "newer"))

    def build(self, *arguments, path=None):
        env = dict(os.environ, PATH=f"{self.place}/bin:{path or os.environ['PATH']}", LC_ALL="C.UTF-8", GIT_CONFIG_NOSYSTEM="1",
                   TMPDIR=str(self.place))
        return subprocess.run([*APART, self.place, self.tools / "kernel/patches/build", *arguments], env=env, cwd=self.place,
                              capture_output=True, text=True, timeout=LIMIT)

    def calls(self):
        calls = self.place / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def installed(self):
        return sorted((self.place / "installed").read_text().splitlines())

    def without(self, *names):
        """A PATH on which these programs are not."""
        place = self.place / "some"
        place.mkdir(exist_ok=True)
        for directory in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
            for name in os.listdir(directory):
                if name not in names and not (place / name).is_symlink():
                    (place / name).symlink_to(f"{directory}/{name}")
        return str(place)

    def check_copy(self, copy):
        self.assertEqual((copy / "amd/amdkfd/one.c").read_text(), "before\nnewer\nafter\n")
        self.assertIn('PACKAGE_VERSION="6-gpreempt"', (copy / "dkms.conf").read_text())
        for part in ("kfd_sched.c", "gpreempt/sched/sched.c", "gpreempt/base/types.h"):
            self.assertTrue((copy / "amd/amdkfd" / part).exists(), part)
        self.assertEqual((self.driver / "amd/amdkfd/one.c").read_text(), "before\nold\nafter\n")

    def test_the_tarball_makes_a_patched_copy(self):
        done = self.build("--dkms", "/usr/src/amdgpu-6", f"{self.place}/copy")
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.place}/copy\n"), done.stderr)
        self.check_copy(self.place / "copy")

    @unittest.skipUnless(shutil.which("patch"), "patch is not installed")
    def test_without_git_patch_does(self):
        done = self.build("--dkms", "/usr/src/amdgpu-6", f"{self.place}/copy", path=self.without("git"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_copy(self.place / "copy")
        self.assertFalse(list((self.place / "copy").rglob("*.orig")))

    @unittest.skipUnless(shutil.which("patch"), "patch is not installed")
    def test_patch_does_not_guess(self):
        (self.driver / "amd/amdkfd/one.c").write_text("before\nold\nelse\n")
        for path in (None, self.without("git")):
            done = self.build("--dkms", "/usr/src/amdgpu-6", f"{self.place}/copy", path=path)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("the patches do not apply to /usr/src/amdgpu-6; they are for amdgpu-dkms 6\n", done.stderr)
            self.assertFalse((self.place / "copy").exists())

    def test_without_git_and_patch_it_says_so(self):
        done = self.build("--check", "--dkms", "/usr/src/amdgpu-6", path=self.without("git", "patch"))
        self.assertEqual((done.returncode, done.stderr), (1, "kernel/patches/dkms: neither git nor patch is installed\n"))

    def test_a_missing_scheduler_is_named_before_anything_is_copied(self):
        shutil.rmtree(self.tools / "src/sched")
        done = self.build("--dkms-install", "/usr/src/amdgpu-6", "1.0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("has no src/sched/sched.c", done.stderr)
        self.assertEqual([path.name for path in (self.place / "usr-src").iterdir()], ["amdgpu-6"])
        self.assertEqual(self.calls(), [])

    def test_it_is_installed_for_the_kernel_that_is_named(self):
        done = self.build("--dkms-install", "/usr/src/amdgpu-6", "1.0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.installed(), ["1.0 6-gpreempt"])
        self.check_copy(self.place / "usr-src/amdgpu-6-gpreempt")
        # Again: the copy may hold other patches, and is made again.
        (self.place / "usr-src/amdgpu-6-gpreempt/old").touch()
        self.assertEqual(self.build("--dkms-install", "/usr/src/amdgpu-6").returncode, 0)
        self.assertFalse((self.place / "usr-src/amdgpu-6-gpreempt/old").exists())
        self.assertEqual(self.installed(), [f"{os.uname().release} 6-gpreempt"])

    def test_a_kernel_without_headers_is_refused_first(self):
        done = self.build("--dkms-install", "/usr/src/amdgpu-6", "3.0")
        self.assertEqual((done.returncode, self.calls()), (1, []))
        self.assertIn("the headers of Linux 3.0 are not installed", done.stderr)

    def test_the_way_back_is_for_every_kernel_that_had_it(self):
        for separator in ("/", ", "):  # dkms 3 and 2
            (self.place / "separator").write_text(separator)
            self.build("--dkms-install", "/usr/src/amdgpu-6", "1.0")
            (self.place / "installed").write_text("1.0 6-gpreempt\n2.0 6-gpreempt\n")
            done = self.build("--dkms-remove", "/usr/src/amdgpu-6")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.installed(), ["1.0 6", "2.0 6"])
            self.assertEqual([path.name for path in (self.place / "usr-src").iterdir()], ["amdgpu-6"])

    def test_a_kernel_that_fails_does_not_keep_the_others_from_their_driver(self):
        self.build("--dkms-install", "/usr/src/amdgpu-6", "1.0")
        (self.place / "installed").write_text("1.0 6-gpreempt\n2.0 6-gpreempt\n")
        (self.place / "broken-1.0").touch()
        done = self.build("--dkms-remove", "/usr/src/amdgpu-6")
        self.assertEqual((done.returncode, self.installed()), (1, ["2.0 6"]))
        self.assertIn("amdgpu 6 is not installed for Linux 1.0; to repeat: dkms install --force -m amdgpu -v 6 -k 1.0\n", done.stderr)

    def test_a_source_may_be_named_from_where_it_is(self):
        done = subprocess.run([self.tools / "kernel/patches/build", "--dkms", "amdgpu-6", "copy"], cwd=self.driver.parent,
                              capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.driver.parent}/copy\n"), done.stderr)
        self.check_copy(self.driver.parent / "copy")


if __name__ == "__main__":
    unittest.main()
