#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the description of a GPU that is not there from one that is: figures are replaced.

usage: make_gpu.py IN OUT SECTION.FIGURE=NUMBER...
"""
import json
import sys


def main():
    source, target, *changes = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        gpu = json.load(file)
    for change in changes:
        name, value = change.split("=")
        section, figure = name.split(".")
        gpu[section][figure] = {"value": int(value), "kind": "assumed", "source": "for a test"}
    with open(target, "w", encoding="utf-8") as file:
        json.dump(gpu, file, indent=2)


main()
