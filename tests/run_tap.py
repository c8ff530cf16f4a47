#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the unittest cases of a Python file and prints TAP, one line per test, for meson. Names tests that take more
than a second.

usage: run_tap.py FILE
"""
import importlib.util
import os
import sys
import time
import traceback
import unittest


class TapResult(unittest.TestResult):
    count = 0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def line(self, ok, test, note=""):
        self.count += 1
        took = time.monotonic() - self.started if hasattr(self, "started") else 0
        if took > 1:
            print(f"# {took:.1f} s: {test.id().split('.', 1)[-1]}")
        print(f"{'ok' if ok else 'not ok'} {self.count} - {test.id().split('.', 1)[-1]}{note}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(True, test, f" # SKIP {reason}")

    def failed(self, test, error):
        self.line(False, test)
        self.explain(error)

    def explain(self, error):
        """In the TAP itself: standard error also has what the programs under test wrote."""
        text = "".join(traceback.format_exception(*error))
        print("".join(f"# {line}\n" for line in text.splitlines()), end="", flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.failed(test, err)

    def addSubTest(self, test, subtest, err):
        """A part of a test that fails: the test itself reports nothing then."""
        super().addSubTest(test, subtest, err)
        if err:
            print(f"# not ok: {subtest}")
            self.explain(err)


def main():
    path = os.path.abspath(sys.argv[1])
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = TapResult()
    suite.run(result)
    # Last, because a class that is skipped as a whole is one line, however many tests it has.
    print(f"1..{result.count}", flush=True)
    sys.exit(0 if result.wasSuccessful() and result.count else 1)


main()
