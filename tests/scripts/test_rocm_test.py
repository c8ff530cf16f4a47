# SPDX-License-Identifier: MIT
"""make rocm-test without ROCm: its GoogleTest runner, what it expects, and that a chroot in use is not removed."""
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "rocm"))
import gtest  # noqa: E402
import kfdtest_shaders  # noqa: E402
import stage  # noqa: E402
import suites  # noqa: E402

# A GoogleTest program as far as its output goes; the name of a test says what it does.
PROGRAM = """
import os, signal, sys, time
for name in sys.argv[1].split(":"):
    print("[ RUN      ] " + name, flush=True)
    if "Crash" in name: os.kill(os.getpid(), signal.SIGABRT)
    if "Hang" in name: time.sleep(600)
    if "Fail" in name: print("Expected equality of these values:")
    print("[  FAILED  ] " + name + ", where GetParam() = 1 (5 ms)" if "Fail" in name else
          "[  SKIPPED ] " + name + " (0 ms)" if "Skip" in name else "[       OK ] " + name + " (1 ms)", flush=True)
print("[  FAILED  ] 1 test, listed below:")
print("[  FAILED  ] A.Fail")
"""


def load_script():
    loader = importlib.machinery.SourceFileLoader("rocm_test", str(SOURCE / "scripts" / "rocm-test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("rocm_test", loader))
    loader.exec_module(module)
    return module


class Runner(unittest.TestCase):
    def results(self, names, program=PROGRAM, limit=10, **how):
        command = [sys.executable, "-c", program]
        done = gtest.run(names, lambda part: [*command, ":".join(part)], io.BytesIO(), limit, time.monotonic() + 120, **how)
        return {name: result for name, result, _ in done}

    def test_a_crash_or_a_hang_costs_one_test(self):
        names = ["A.One", "A.Crash", "A.Fail", "A.Hang", "B/0.Skip", "B/0.Last"]
        expected = dict(zip(names, ("pass", "crash", "fail", "hang", "skip", "pass")))
        self.assertEqual(self.results(names), expected)
        del names[3], expected["A.Hang"]
        self.assertEqual(self.results(names, alone=True), expected)

    def test_a_program_that_runs_no_test_is_given_up(self):
        self.assertEqual(self.results(["A.One", "A.Two"], program="raise SystemExit(3)"), {"A.One": "crash", "A.Two": "crash"})

    def test_the_list_of_tests(self):
        text = "noise\nSuite.\n  One\n  DISABLED_Two\nTyped/0.  # TypeParam = int\n  Three/1  # GetParam() = 4\n[ INFO ] x\n  not this\n"
        self.assertEqual(gtest.parse_list(text), ["Suite.One", "Suite.DISABLED_Two", "Typed/0.Three/1"])

    def test_a_long_list_is_cut_to_the_length_of_an_argument(self):
        self.assertEqual(gtest.take(["A.1", "A.2", "A.3"], 8), ["A.1", "A.2"])


class Script(unittest.TestCase):
    def setUp(self):
        self.script = load_script()

    def expected(self, text):
        with tempfile.NamedTemporaryFile("w", suffix="-expected") as file:
            file.write(text)
            file.flush()
            return self.script.Expected(pathlib.Path(file.name))

    def test_the_short_form_passes_without_a_chroot_and_says_so(self):
        done = subprocess.run([SOURCE / "scripts" / "rocm-test", "--short", "7.2"], env=dict(os.environ, GP_ROCM_CACHE="/nonexistent"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"^SKIP ROCm 6\.4 and 7\.2: .+\n$")

    def test_the_first_line_that_matches_counts(self):
        expected = self.expected("# comment\nrccl 7.* * A.One omit slow here\nrccl * native A.* fail kernels compute nothing\n")
        self.assertEqual(expected.find("rccl", "7.2", "native", "A.One"), ("omit", "slow here"))
        self.assertEqual(expected.find("rccl", "7.2", "native", "A.Two"), ("fail", "kernels compute nothing"))
        self.assertEqual(expected.find("rccl", "7.2", "compat", "A.Two"), ("pass", ""))

    def test_only_what_is_expected_may_fail_and_must(self):
        count = self.script.Count()
        count.add("a", "pass", "", "pass", "")
        count.add("b", "fail", "why", "fail", "kernels compute nothing")
        count.add("c", "skip", "not here", "pass", "")
        count.add("d", "crash", "", "any", "races")
        self.assertEqual(count.wrong, [])
        self.assertEqual(count.row()[:3], (1, 2, 1))
        count.add("e", "hang", "no end", "fail", "kernels compute nothing")
        count.add("f", "pass", "", "fail", "kernels compute nothing")
        self.assertEqual([text.split(":")[0] for text in count.wrong], ["e", "f"])

    def test_where_kernels_are_executed_they_compute(self):
        expected = self.expected("rccl * * A.* fail kernels compute nothing\nrccl * * B.* fail no such hardware\n")
        with unittest.mock.patch.object(suites, "COMPUTE", True):
            self.assertEqual(expected.find("rccl", "7.2", "native", "A.One"), ("pass", ""))
            self.assertEqual(expected.find("rccl", "7.2", "native", "B.One"), ("fail", "no such hardware"))
            self.assertFalse(suites.executes("project", "Preemption.test_with_an_agent"))

    def test_the_table_says_how_many_tests_were_executed(self):
        count = self.script.Count()
        count.add("a", "pass", "", "pass", "", suites.executes("kfdtest", "KFDQMTest.Atomics"))
        count.add("b", "pass", "", "pass", "", suites.executes("kfdtest", "KFDOpenCloseKFDTest.OpenCloseTest"))
        count.add("c", "skip", "not here", "pass", "", True)
        self.assertEqual(count.row(), (2, 0, 1, 1, "not here"))

    def test_a_test_that_may_pass_does_not_change_the_table(self):
        passes, fails = self.script.Count(), self.script.Count()
        passes.add("a", "pass", "", "any", "races")
        fails.add("a", "crash", "status 139", "any", "races")
        self.assertEqual(passes.row(), fails.row())
        self.assertEqual((passes.wrong, fails.wrong), ([], []))

    def count(self, **results):
        count = self.script.Count()
        count.results.update(results)
        return count

    def test_the_table_of_the_documentation_is_compared_and_written(self):
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place, "table.md")
            path.write_text("# Title\n\n| suite | ROCm | personality | passed |\n|---|---|---|---|\n"
                            "| tools | 7.2 | native | 9 | 0 | 0 | 0 |  |\n| kfdtest | 7.2 | native | 5 | 0 | 0 | 2 |  |\n\nend\n")
            document = self.script.Document(path)
            rows = [(("tools", "7.2", "native"), self.count(**{"pass": 9})), (("programs", "6.4", "compat"), self.count(**{"pass": 3})),
                    (("kfdtest", "7.2", "native"), self.count(absent=1))]
            self.assertEqual(document.differences(rows), [("programs", "6.4", "compat")])
            own, foreign = ("tools", "7.2", "native"), ("kfdtest", "7.2", "native")
            self.assertEqual(document.differences([(own, self.count(**{"pass": 10})), (foreign, self.count(**{"pass": 6}))]), [foreign])
            self.assertEqual(document.differences([(own, self.count(**{"pass": 9, "fail": 1}))]), [own])
            document.update(rows)
            self.assertEqual(path.read_text().splitlines()[4:],
                             ["| tools | 7.2 | native | 9 | 0 | 0 | 0 |  |", "| programs | 6.4 | compat | 3 | 0 | 0 | 0 |  |",
                              "| kfdtest | 7.2 | native | 5 | 0 | 0 | 2 |  |", "", "end"])
            self.assertFalse(self.script.Document(path).differences(rows))

    def test_the_parts_of_a_suite_have_every_test_once(self):
        parts = [stage.View(None, None, part, 3).share(range(10)) for part in range(3)]
        self.assertEqual(sorted(sum(parts, [])), list(range(10)))

    def test_jobs_run_once_each_and_count_together(self):
        def suite(view, personality, short):
            yield from ((str(test), "pass", "") for test in view.share(range(5)))

        with tempfile.TemporaryDirectory() as place, unittest.mock.patch.dict(suites.SUITES, {"made-up": suite}), \
                unittest.mock.patch("sys.stdout", io.StringIO()) as printed:
            here = types.SimpleNamespace(version="7.2", out=pathlib.Path(place))
            jobs = [self.script.Job(here, "made-up", personality, part, 2, False) for personality in ("compat", "native")
                    for part in range(2)]
            rows = dict(self.script.run_jobs(jobs, 3, self.expected("")))
            self.assertEqual({key: count.row()[0] for key, count in rows.items()},
                             {("made-up", "7.2", "compat"): 5, ("made-up", "7.2", "native"): 5})
            self.assertEqual(len(pathlib.Path(place, "results").read_text().splitlines()), 10)
            self.assertEqual(len(printed.getvalue().splitlines()), 2)

    def test_only_a_test_that_assembles_a_shader_is_executed(self):
        with tempfile.TemporaryDirectory() as place:
            pathlib.Path(place, "A.cpp").write_text(
                "static void Helper() { m_pAsm->RunAssembleBuf(CopyIsa); }\n// TEST_F(A, Comment) { RunAssemble(); }\n"
                "TEST_F(A, Direct) { Dispatch dispatch(buffer); }\nTEST_P(A , Indirect) {\n if (x) { Helper(); }\n}\n"
                "TEST(A, Plain) { EXPECT_EQ(0, hsaKmtAllocMemory()); }\n")
            self.assertEqual(kfdtest_shaders.Source(place).without_shader(), {"A.Plain"})
            with unittest.mock.patch.object(suites, "SHADERS", re.compile(r"A\.(Direct|Indirect)(/.*)?")):
                self.assertEqual(self.script.wrong_shaders(place), [])
            with unittest.mock.patch.object(suites, "SHADERS", re.compile(r"A\.P.*")):
                self.assertEqual(len(self.script.wrong_shaders(place)), 1)

    def test_the_committed_list_is_well_formed(self):
        rows = self.script.Expected(SOURCE / "tests" / "rocm" / "expected").rows
        for (suite, *_), _, reason in rows:
            self.assertIn(suite, suites.SUITES)
            self.assertTrue(reason)

    def test_a_program_is_judged_by_status_and_output(self):
        self.assertEqual(suites.judge(0, "all ok\n", "^all ok$"), ("pass", ""))
        self.assertEqual(suites.judge(0, "", "^all ok$")[0], "fail")
        self.assertEqual([suites.judge(status, "x\n")[0] for status in (1, 134, None, stage.SKIPPED)], ["fail", "crash", "hang", "skip"])


class Chroot(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="gpr")
        self.addCleanup(self.place.cleanup)
        self.root = pathlib.Path(self.place.name, "rocm-7.2")
        (self.root / "inner").mkdir(parents=True)

    def chroot(self, *words, prefix=()):
        return subprocess.run([*prefix, str(stage.CHROOT), *words], env=dict(os.environ, GP_ROCM_CACHE=self.place.name),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)

    def test_an_unknown_version_is_refused(self):
        done = self.chroot("remove", "5.2")
        self.assertEqual((done.returncode, "invalid version '5.2'" in done.stdout), (2, True))

    def test_removed_when_nothing_is_mounted_in_it(self):
        self.assertEqual(self.chroot("remove", "7.2").returncode, 0)
        self.assertFalse(self.root.exists())

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_kept_while_something_is_mounted_in_it(self):
        script = 'mount -t tmpfs tmpfs "$0" && exec "$@"'
        done = self.chroot("remove", "7.2", prefix=["unshare", "--mount", "--", "sh", "-c", script, str(self.root / "inner")])
        if "unshare" in done.stdout:
            self.skipTest("namespaces cannot be made here")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("mounted in it", done.stdout)
        self.assertTrue((self.root / "inner").exists())


if __name__ == "__main__":
    unittest.main()
