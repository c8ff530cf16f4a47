# SPDX-License-Identifier: MIT
"""The systemd unit, as far as it can be judged without booting with it: systemd's own reader takes every line of it,
and finds it hardened."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["GP_BIN"]).parent
ANALYZE = shutil.which("systemd-analyze")


@unittest.skipUnless(ANALYZE, "there is no systemd-analyze")
class Unit(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.text = (BUILD / "data" / "gpreemptd.service").read_text()

    def analyze(self, text, *words):
        """The unit with the program of this build, which need not be installed."""
        path = pathlib.Path(self.place.name) / "gpreemptd.service"
        path.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={BUILD / 'bin' / 'gpreemptd'}", text))
        return subprocess.run([ANALYZE, *words, str(path)], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "LC_ALL": "C"})

    def test_systemd_takes_every_line(self):
        plain = self.analyze("[Service]\nExecStart=/bin/true\n", "verify", "--man=no")
        if plain.returncode or plain.stderr:
            self.skipTest("systemd-analyze verify does not work here: " + plain.stderr)
        done = self.analyze(self.text, "verify", "--man=no")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # What it does not know it only warns of: this is how that looks.
        done = self.analyze(self.text.replace("ProtectClock=", "ProtectClocks="), "verify", "--man=no")
        self.assertIn("ProtectClocks", done.stderr)

    def test_it_is_hardened(self):
        limit = "--threshold=40"  # of 100 times the exposure that it prints; 96 without any of it
        plain = self.analyze("[Service]\nExecStart=/bin/true\n", "security", "--offline=true", "--no-pager",
                             "--threshold=100")
        if plain.returncode:
            self.skipTest("this systemd-analyze judges no file: " + plain.stderr)
        done = self.analyze(self.text, "security", "--offline=true", "--no-pager", limit)
        self.assertEqual(done.returncode, 0, done.stdout[-400:] + done.stderr)
        bare = re.sub(r"(?m)^(Protect|Restrict|Capability|NoNew|System|Memory|Lock|IPAddress|Private|UMask).*\n", "", self.text)
        self.assertNotEqual(self.analyze(bare, "security", "--offline=true", "--no-pager", limit).returncode, 0)

    def test_what_the_daemon_needs_is_said(self):
        for line in ("Type=notify", "WatchdogSec=30s", "KillMode=process", "ExecReload=/bin/kill -HUP $MAINPID"):
            self.assertIn(line + "\n", self.text)


if __name__ == "__main__":
    unittest.main()
