# SPDX-License-Identifier: MIT
"""Commands, options and JSON keys in the documentation are those of the built programs."""
import json
import os
import pathlib
import re
import shlex
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPREEMPT = pathlib.Path(os.environ["GP_BIN"], "gpreempt")
FIXTURES = pathlib.Path(os.environ["GP_FIXTURES"])
LOG, LIVE = FIXTURES / "demo/case_a_cnn.log", FIXTURES / "live"
# Keys of these objects are names of registers, figures or reasons.
OPEN_OBJECTS = ("registers", "fields", "reasons", "figures", "sources")


def run(*arguments):
    return subprocess.run([GPREEMPT, *map(str, arguments)], capture_output=True, text=True,
                          env=dict(os.environ, LC_ALL="C"), timeout=60)


def examples():
    """(page and line, words of a gpreempt command), from code blocks and from `code` in the text."""
    for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "kernel").rglob("*.md"))]:
        if page.name == "CHANGELOG.md":  # names what was removed
            continue
        inside = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                inside = not inside
                continue
            texts = [line] if inside or line.startswith("    ") else re.findall(r"`([^`]*)`", line)
            for text in texts:
                for command in re.split(r"[|;&]+ ", text.replace("\\|", " ")):
                    words = words_of(command)
                    if words:
                        yield f"{page.relative_to(ROOT)}:{number}", words


def words_of(command):
    try:
        words = shlex.split(re.sub(r"\$\([^)]*\)", "PID", command), comments=True)
    except ValueError:  # half of a quoted text
        return None
    while words and (words[0] == "sudo" or re.match(r"\w+=\S*$", words[0])):
        words.pop(0)
    return words[1:] if words and pathlib.PurePath(words[0]).name == "gpreempt" and len(words) > 1 else None


class Examples(unittest.TestCase):
    def test_options_exist(self):
        helps, wrong, seen = {}, [], 0
        for where, words in examples():
            while words:
                command, rest = words[0], words[1:]
                if not re.fullmatch(r"[a-z-]+", command) or command.startswith("-"):
                    break
                if command not in helps:
                    helps[command] = run(command, "--help")
                if helps[command].returncode:
                    wrong.append(f"{where}: no command '{command}'")
                    break
                end = rest.index("--") if "--" in rest else len(rest)
                known = set(re.findall(r"(?<![\w-])--?[a-z0-9][\w-]*", helps[command].stdout))
                for word in rest[:end]:
                    option = re.match(r"--[a-z][\w-]*|-[a-z0-9]$", word)
                    seen += bool(option)
                    if option and option[0] not in known:
                        wrong.append(f"{where}: '{command}' has no option {option[0]}")
                inner = rest[end + 1:]
                words = inner[1:] if inner and inner[0] == "gpreempt" else None
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 100)


class Json(unittest.TestCase):
    PAGE = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")

    def keys(self, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                if key not in OPEN_OBJECTS:
                    yield from self.keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from self.keys(inner)

    def check(self, *arguments):
        done = run(*arguments, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        keys = set(self.keys(json.loads(done.stdout)))
        missing = [key for key in sorted(keys) if not re.search(rf'[".`]{re.escape(key)}["`]', self.PAGE)]
        self.assertEqual(missing, [], f"docs/reference/json.md does not describe these keys of 'gpreempt {arguments[0]}'")
        self.assertGreater(len(keys), 10)

    def test_keys_of_find(self):
        self.check("find", "--root", LIVE, "158036", LOG)

    def test_keys_of_hqd_and_mqd(self):
        self.check("hqd", "--root", LIVE, "--registers", "--raw")
        self.check("mqd", "--root", LIVE)

    def test_keys_of_ps_and_doctor(self):
        self.check("ps", "--root", LIVE)
        self.check("doctor", "--root", LIVE)

    def test_keys_of_compare_and_analyze(self):
        self.check("compare", LOG, LOG)
        self.check("analyze", LOG)

    def test_keys_of_sim(self):
        self.check("sim", "--alone", "--time", "200ms", "serve")


if __name__ == "__main__":
    unittest.main()
