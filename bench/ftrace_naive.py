#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The straightforward way to read function_graph text: runs and time of every function, as JSON."""
import json
import re
import sys

CALL = re.compile(r"\|\s*[$@*#!+]?\s*(?:([\d.]+) us)?\s*\|\s*(?:(\w+)[^(]*\(\)(;| \{)|\} /\* (\w+))")
functions = {}
with open(sys.argv[1]) as trace:
    for line in trace:
        found = CALL.search(line)
        if not found:
            continue
        duration, name, kind, closed = found.groups()
        use = functions.setdefault(name or closed, [0, 0])
        use[0] += name is not None
        if duration and kind != " {":
            use[1] += round(float(duration) * 1000)
print(json.dumps(functions))
