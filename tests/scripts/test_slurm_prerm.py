# SPDX-License-Identifier: MIT
"""debian/gpreempt-slurm.prerm warns if Slurm on this node still names a plugin that is about to go, wherever its configuration is."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "debian/gpreempt-slurm.prerm"


class Prerm(unittest.TestCase):
    def warnings(self, file, text, action="remove", more=()):
        with tempfile.TemporaryDirectory() as root:
            for name, lines in ((file, text), *more):
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(lines + "\n")
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

    def test_files_that_are_included_are_looked_at(self):
        for line, name in (("Include /srv/site/task.conf", "srv/site/task.conf"), ("include parts/task", "etc/slurm/parts/task")):
            text = self.warnings("etc/slurm/slurm.conf", line, more=((name, "TaskPlugin=task/gpreempt"),))
            self.assertIn(f"{name} names task/gpreempt", text, line)
        text = self.warnings("etc/slurm/plugstack.conf", "include /srv/spank/*",
                             more=(("srv/spank/a", "optional x.so"), ("srv/spank/b", "required gpreempt_spank.so")))
        self.assertIn("srv/spank/b requires gpreempt_spank.so", text)
        for line in ("PlugStackConfig=/srv/plugs", 'ClusterName=x plugstackconfig = "/srv/plugs"'):
            text = self.warnings("etc/slurm/slurm.conf", line, more=(("srv/plugs", "required /usr/lib/gpreempt_spank.so"),))
            self.assertIn("srv/plugs requires gpreempt_spank.so", text, line)

    def test_files_that_include_each_other_end(self):
        text = self.warnings("etc/slurm/slurm.conf", "Include /etc/slurm/other\nTaskPlugin=task/gpreempt",
                             more=(("etc/slurm/other", "Include /etc/slurm/slurm.conf"),))
        self.assertEqual(text.count("names task/gpreempt"), 1)

    def test_others_do_not_warn(self):
        self.assertEqual(self.warnings("etc/slurm/slurm.conf", "#TaskPlugin=task/gpreempt"), "")
        self.assertEqual(self.warnings("etc/slurm/plugstack.conf", "optional gpreempt_spank.so"), "")
        self.assertEqual(self.warnings("etc/slurm/slurm.conf", "TaskPlugin=task/gpreempt", "upgrade"), "")


if __name__ == "__main__":
    unittest.main()
