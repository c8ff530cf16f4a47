#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of instructions in docs/reference/computing.md: which are executed, refused and tested. The tables of the
library say what there is; the unit tests, run once, say which instructions they execute.

usage: coverage.py [--write | --list] ISA_TOOL TEST...
  --write  puts the table into the page; without it a page that is out of date is an error
  --list   prints every instruction instead: format, opcode, name, GPU, executed or refused, tests
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/reference/computing.md"
BEGIN, END = "<!-- instructions: begin -->", "<!-- instructions: end -->"
GPUS = ("gfx90a", "gfx942")
WIDTH = 118


def tests_of(programs):
    """{name: {tests that execute it}}"""
    tested = collections.defaultdict(set)
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "names")
        for program in programs:
            pathlib.Path(path).write_text("")
            subprocess.run([program], env={**os.environ, "ISA_COVERAGE": path}, check=True, capture_output=True)
            for name in pathlib.Path(path).read_text().split():
                tested[name].add(os.path.basename(program).removeprefix("test_"))
    return tested


def operations(tool):
    """(format, opcode, name, GPU, executed)"""
    out = subprocess.run([tool, "table"], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        name = line.split("\t")
        yield name[0], int(name[1], 16), name[2], name[3], name[4] == "executed"


def names_wrapped(names):
    lines, line = [], ""
    for name in names:
        word = f"`{name}`"
        if line and len(line) + 2 + len(word) > WIDTH:
            lines.append(line + ",")
            line = word
        else:
            line = f"{line}, {word}" if line else word
    return lines + [line + "."] if line else []


def table_text(rows, tested):
    counts = collections.defaultdict(collections.Counter)
    refused, untested = collections.defaultdict(set), collections.defaultdict(set)
    formats = list(dict.fromkeys(row[0] for row in rows))
    for form, _, name, gpu, executed in rows:
        counts[form][gpu] += 1
        if not executed:
            counts[form][gpu, "refused"] += 1
            refused[form].add(name)
        elif name in tested:
            counts[form][gpu, "tested"] += 1
        else:
            untested[form].add(name)
    lines = ["| format | gfx90a: opcodes | executed | with a unit test | gfx942: opcodes | executed | with a unit test |",
             "|---|---|---|---|---|---|---|"]
    total = collections.Counter()
    for form in formats:
        total.update(counts[form])
    for form, count in [*((form, counts[form]) for form in formats), ("all", total)]:
        cells = []
        for gpu in GPUS:
            cells += [count[gpu], count[gpu] - count[gpu, "refused"], count[gpu, "tested"]]
        lines.append(f"| {form} | " + " | ".join(map(str, cells)) + " |")
    lines += ["", "Refused, by name:", ""]
    for form in formats:
        if refused[form]:
            lines += [f"- {form}:", *(f"  {line}" for line in names_wrapped(sorted(refused[form])))]
    if any(untested.values()):
        lines += ["", "Executed, but in no unit test:", ""]
        for form in formats:
            if untested[form]:
                lines += [f"- {form}:", *(f"  {line}" for line in names_wrapped(sorted(untested[form])))]
    return "\n".join(["", *lines, ""])


def main():
    parser = argparse.ArgumentParser(description="the table of instructions of the virtual GPU")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("tool")
    parser.add_argument("tests", nargs="*")
    arguments = parser.parse_args()
    rows, tested = list(operations(arguments.tool)), tests_of(arguments.tests)
    if arguments.list:
        for form, opcode, name, gpu, executed in rows:
            print(f"{form}\t{opcode:#x}\t{name}\t{gpu}\t{'executed' if executed else 'refused'}\t"
                  f"{','.join(sorted(tested[name]))}")
        return 0
    page = PAGE.read_text(encoding="utf-8")
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    current = page[:begin] + "\n" + table_text(rows, tested) + "\n" + page[end:]
    if arguments.write:
        PAGE.write_text(current, encoding="utf-8")
    elif current != page:
        print(f"{PAGE.name} is out of date: meson compile -C build isa-table", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
