# SPDX-License-Identifier: MIT
"""Which tests of kfdtest assemble a shader, from its source: only such tests are run with kernels that are executed.

A test counts if it, or a function of kfdtest that it names, assembles or dispatches one.

usage: tests/rocm/kfdtest_shaders.py DIRECTORY     (libhsakmt/tests/kfdtest/src); prints `shader NAME` or `none NAME`
"""
import pathlib
import re
import sys

SHADER = re.compile(r"RunAssemble|\bDispatch\s+\w+\s*\(|\bDispatch\s*\*|\w+Isa\b")
TEST = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*{")
FUNCTION = re.compile(r"(?:^|\n)[\w:<>*& \t]+?\b(?:(\w+)::)?(~?\w+)\s*\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)\s*(?:const\s*)?(?::[^{;]*)?{")
# Functions that several classes have, each for itself, and words that only look like functions.
AMBIGUOUS = {"SetUp", "TearDown", "Create", "Submit", "Sync", "Delay"}
NO_FUNCTION = {"TEST", "TEST_F", "TEST_P", "if", "for", "while", "switch"}
SHARED_FILES = ("KFDTestUtil", "KFDBase", "RDMA", "BaseDebug", "KFDMulti")


def block(text, at):
    """From the brace at `at` to the one that closes it."""
    depth = 0
    for end in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if not depth:
            return text[at:end + 1]
    return text[at:]


class Source:
    def __init__(self, directory):
        self.tests, self.functions = {}, {}
        for path in sorted(pathlib.Path(directory).glob("*.cpp")):
            text = re.sub(r"/\*.*?\*/", " ", path.read_text(errors="replace"), flags=re.DOTALL)
            text = re.sub(r"//[^\n]*", " ", text)
            for found in TEST.finditer(text):
                self.tests[f"{found[1]}.{found[2]}"] = path.name, block(text, found.end() - 1)
            for found in FUNCTION.finditer(text):
                if found[2] not in NO_FUNCTION:
                    self.functions.setdefault(found[2], []).append((path.name, found[1], block(text, found.end() - 1)))

    def reaches_shader(self, file, text, seen):
        if SHADER.search(text):
            return True
        for name in set(re.findall(r"\w+", text)) - seen - AMBIGUOUS:
            for owner, of_class, body in self.functions.get(name, ()):
                if not of_class and owner != file and not owner.startswith(SHARED_FILES):
                    continue  # static in another file
                seen.add(name)
                if self.reaches_shader(owner, body, seen):
                    return True
        return False

    def without_shader(self):
        return {name for name, (file, text) in self.tests.items() if not self.reaches_shader(file, text, set())}


def main():
    source = Source(sys.argv[1])
    without = source.without_shader()
    for name in sorted(source.tests):
        print("none" if name in without else "shader", name)
    return 0 if source.tests else 1


if __name__ == "__main__":
    sys.exit(main())
