# SPDX-License-Identifier: MIT
"""gpreempt run --ahead auto: what stands in front of libc changes nothing that a program can see."""
import os
import re
import subprocess
import unittest

from agentwire import AGENT, BUILD, GPREEMPT, LIMIT, Stage

AUTO = AGENT.replace("agent.so", "agent_auto.so")
HERE = os.path.join(BUILD, "tests", "agent")
PROGRAM, OTHER = os.path.join(HERE, "calls_program"), os.path.join(HERE, "libcalls_other.so")


class Calls(Stage):
    def lines(self, *preload, **variables):
        """What the program sees, and how many read() the other library counted, if it is there."""
        ours, theirs = os.pipe()
        env = dict(self.env, LD_PRELOAD=":".join(preload), **variables)
        command = ["sh", "-c", f'exec "$0" 3>&{theirs}', PROGRAM]
        done = subprocess.run(command, env=env, pass_fds=[theirs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=LIMIT)
        os.close(theirs)
        with open(ours) as file:
            counts = file.read().split()
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout.splitlines(), counts

    def test_results_errno_signals_cancellation_and_forks_are_as_without_it(self):
        expected, _ = self.lines()
        self.assertGreater(len(expected), 70)
        self.assertEqual(self.lines(AUTO, GPREEMPT_AHEAD="auto")[0], expected)
        self.assertEqual(self.lines(AUTO)[0], expected)  # loaded, and not asked for

    def test_another_library_in_front_or_behind_sees_what_it_saw(self):
        expected, counts = self.lines(OTHER)
        self.assertTrue(counts)
        for order in ((OTHER, AUTO), (AUTO, OTHER)):
            self.assertEqual(self.lines(*order, GPREEMPT_AHEAD="auto"), (expected, counts), order)

    def test_a_thread_that_is_cancelled_when_it_has_its_data_keeps_it(self):
        late = OTHER.replace("calls_other", "calls_late")
        env = dict(self.env, LD_PRELOAD=f"{AUTO}:{late}", GPREEMPT_AHEAD="auto", GPREEMPT_TEAM="run-1-00000001")
        done = subprocess.run([PROGRAM, "late"], env=env, stdout=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertEqual(done.stdout, "taken: 100\n")

    def test_run_loads_the_library_that_is_asked_for(self):
        script = "echo $LD_PRELOAD; echo $GPREEMPT_AHEAD/$GPREEMPT_AHEAD_US; echo $GPREEMPT_TEAM"

        def run(*words, env=()):
            done = subprocess.run([GPREEMPT, "run", *words], env=dict(self.env, **dict(env)), stdout=subprocess.PIPE,
                                  text=True, timeout=LIMIT)
            return done.stdout.split("\n")[:3]
        self.assertEqual(run("--", "sh", "-c", script), [AGENT, "/", ""])
        self.assertEqual(run("--ahead", "1ms", "--", "sh", "-c", script), [AGENT, "/1000", ""])
        preload, mode, team = run("--ahead", "auto", "--", "sh", "-c", script)
        self.assertEqual((preload, mode), (AUTO, "auto/"))
        self.assertRegex(team, r"^run-\d+-[0-9a-f]{8}$")
        # Programs of a group are one team; what a program starts is of its own.
        group = run("--ahead", "auto", "--group", "a b", "--", "sh", "-c", script)[2]
        self.assertRegex(group, r"^group-[0-9a-f]{16}$")
        self.assertEqual(run("--group", "a b", "--ahead", "auto", "--", "sh", "-c", script)[2], group)
        self.assertNotEqual(run("--group", "ab", "--ahead", "auto", "--", "sh", "-c", script)[2], group)
        self.assertEqual(run("--ahead", "auto", "--", "sh", "-c", script, env={"GPREEMPT_TEAM": team})[2], team)
        # One of the two libraries, the one that was asked for last.
        inner = run("--", GPREEMPT, "run", "--ahead", "auto", "--", "sh", "-c", script, env={"LD_PRELOAD": "libm.so.6"})
        self.assertEqual(inner[0], f"{AUTO}:libm.so.6")
        inner = run("--ahead", "auto", "--", GPREEMPT, "run", "--ahead", "2ms", "--", "sh", "-c", script)
        self.assertEqual(inner[:2], [AGENT, "/2000"])

    def test_a_duration_or_auto(self):
        done = subprocess.run([GPREEMPT, "run", "--ahead", "automatic", "--", "true"], env=self.env, text=True,
                              stderr=subprocess.PIPE, timeout=LIMIT)
        self.assertEqual(done.returncode, 2)
        self.assertIn("automatic", done.stderr)

    def test_needs_no_symbol_newer_than_glibc_2_28(self):
        text = subprocess.run(["objdump", "-T", AUTO], stdout=subprocess.PIPE, text=True, check=True).stdout
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", text)}
        self.assertLessEqual(max(versions), (2, 28))

    def test_programs_that_did_not_ask_have_none_of_it(self):
        text = subprocess.run(["nm", "-D", "--defined-only", AGENT], stdout=subprocess.PIPE, text=True, check=True).stdout
        names = set(re.findall(r" T (\w+)", text))
        self.assertFalse(names & {"read", "recv", "poll", "epoll_wait", "dlsym"}, names)


if __name__ == "__main__":
    unittest.main()
