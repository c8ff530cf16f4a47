# SPDX-License-Identifier: MIT
"""scripts/check-messages finds each form that it refuses, in each kind of text, and leaves plain English alone."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check-messages"
loader = importlib.machinery.SourceFileLoader("check_messages", str(SCRIPT))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_messages", loader))
loader.exec_module(check)


def rules(text, **options):
    return sorted({name for name, _, _ in check.findings(check.Text("file", 1, text, **options))})


def found(reader, text):
    return [(part.line, name) for part in reader("file", text) for name, _, _ in check.findings(part)]


class Rules(unittest.TestCase):
    def test_each_form_is_refused(self):
        for text, rule in (("What answers has --json.", "headless"), ("It ends; whatever was held runs again.", "headless"),
                           ("a job who waits", "person"), ("Nobody holds it.", "person"),
                           ("'%s' is no name for a machine", "is no"), ("these are no events", "is no"),
                           ("how the two are told apart", "tell"), ("It cannot tell which.", "tell"),
                           ("copies are stopped, too", "too"), ("streams print an object a line", "per"),
                           ("%llu requests a second", "per"), ("a file of rocprof's", "possessive"),
                           ("a directory of its own", "possessive"), ("HIP's streams", "possessive"),
                           ("it came to nothing", "idiom"), ("the process lets go of the queues", "idiom"),
                           ("as the design" " document says", "foreign"), ("see " "seeds" "/003", "foreign")):
            self.assertIn(rule, rules(text), text)

    def test_plain_english_passes(self):
        for text in ("Every command that prints data accepts --json.", "What happens if the holder dies?",
                     "invalid machine name '%s' (up to 24 letters)", "There is no process %u.", "It is no longer held.",
                     "users who belong to the group", "for a second, then a second time", "prints a line and ends",
                     "one object per line", "the AMD driver's queues", "its own directory", "open an issue for it"):
            self.assertEqual(rules(text), [], text)

    def test_a_comment_may_be_titled_with_what(self):
        self.assertEqual(rules("What the readers share: buffers and lines.", prose=False), [])
        self.assertEqual(rules("What was not read is counted.", prose=False), ["headless"])


    def test_a_counted_plural_needs_a_singular(self):
        for text in ("%s: %llu damaged rows are not counted", "%zu queues", "lost %u lines"):
            self.assertEqual(rules(text, single=True), ["count"], text)
            self.assertEqual(rules(text), [], text)
        for text in ("damaged rows: %llu", "1 to %d bytes", "at most %u queues", "process %u does not exist"):
            self.assertEqual(rules(text, single=True), [], text)


class Readers(unittest.TestCase):
    def test_forms_that_wrap_are_found_at_their_paragraph(self):
        self.assertEqual(found(check.markdown, "# Title\n\nIt reads the file of\nrocprof's. More.\n"), [(3, "possessive")])
        self.assertEqual(found(check.comments, "int x;\n/*\n * One object a\n * line.\n */\n"), [(3, "per")])
        self.assertEqual(found(check.shell, "a=1\n# It prints an object a\n# line.\n"), [(2, "per")])
        self.assertEqual(found(check.manual, ".SH NAME\nIt waits for\n.B them\n, too.\n"), [(2, "too")])

    def test_code_is_not_prose(self):
        self.assertEqual(found(check.markdown, "Run it:\n\n```\nwho tells nobody\n```\n"), [])
        self.assertEqual(found(check.python, "def who(told): return nobody\n"), [])
        self.assertEqual(found(check.python, 'print("nobody waits")\n'), [(1, "person")])

    def test_headings_and_cells_may_begin_with_what(self):
        self.assertEqual(found(check.markdown, "## What it does\n\n| what it holds | why |\n|---|---|\n"), [])


class Sample(unittest.TestCase):
    def test_a_seed_draws_the_same_messages(self):
        draw = [subprocess.run([SCRIPT, "--sample", "5", seed], capture_output=True, text=True, check=True).stdout
                for seed in ("1", "1", "2")]
        self.assertEqual(len(draw[0].splitlines()), 5)
        self.assertEqual(draw[0], draw[1])
        self.assertNotEqual(draw[0], draw[2])


if __name__ == "__main__":
    unittest.main()
