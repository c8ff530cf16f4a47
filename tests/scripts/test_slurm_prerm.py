# SPDX-License-Identifier: MIT
"""debian/gpreempt-slurm.prerm warns if Slurm on this node still names a plugin that is about to go, wherever its configuration is."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "debian/gpreempt-slurm.prerm"


class Prerm(unittest.TestCase):
    def warnings(self, file, text, action="remove"):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root, file)
            path.parent.mkdir(parents=True)
            path.write_text(text + "\n")
            environment = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}
            run = subprocess.run(["sh", SCRIPT, action], env=environment | {"DPKG_ROOT": root}, text=True, capture_output=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stderr

    def test_each_place_of_the_configuration_is_looked_at(self):
        for place in ("etc/slurm", "etc/slurm/plugstack.conf.d", "run/slurm/conf", "var/spool/slurmd/conf-cache", "var/lib/slurm/slurmd/conf-cache"):
            text = self.warnings(f"{place}/slurm.conf", "TaskPlugin=task/affinity,task/gpreempt")
            self.assertIn("names task/gpreempt", text, place)
            text = self.warnings(f"{place}/plugstack.conf", "required gpreempt_spank.so class=normal")
            self.assertIn("requires gpreempt_spank.so", text, place)

    def test_the_warning_says_what_fails_and_what_to_do(self):
        text = self.warnings("etc/slurm/slurm.conf", "TaskPlugin=task/gpreempt")
        self.assertIn("every new job step on this node FAILS", text)
        self.assertIn("then restart slurmd", text)

    def test_the_line_is_found_however_it_is_written(self):
        for line in ("TaskPlugin = task/affinity,task/gpreempt", 'taskplugin="task/affinity,task/gpreempt"',
                     'TaskPlugin= "task/gpreempt"', "\tTaskPlugin=gpreempt"):
            self.assertIn("names task/gpreempt", self.warnings("etc/slurm/slurm.conf", line), line)

    def test_others_do_not_warn(self):
        self.assertEqual(self.warnings("etc/slurm/slurm.conf", "#TaskPlugin=task/gpreempt"), "")
        self.assertEqual(self.warnings("etc/slurm/plugstack.conf", "optional gpreempt_spank.so"), "")
        self.assertEqual(self.warnings("etc/slurm/slurm.conf", "TaskPlugin=task/gpreempt", "upgrade"), "")


if __name__ == "__main__":
    unittest.main()
