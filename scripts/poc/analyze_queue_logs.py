#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""analyze_queue_logs.py CASE_A.log CASE_B.log [OPTION...]: `gpreempt compare` under its old name."""
import os
import shutil
import sys

here = os.path.dirname(os.path.abspath(__file__))
places = [os.path.join(here, "..", "..", *place, "gpreempt") for place in (("build", "bin"), ("bin",))]
program = os.environ.get("GPREEMPT") or next((place for place in places if os.access(place, os.X_OK)), shutil.which("gpreempt"))
if not program:
    sys.exit("analyze_queue_logs.py: gpreempt not found: run make, or set GPREEMPT to its path")
try:
    os.execv(program, [program, "compare"] + sys.argv[1:])
except OSError as error:
    sys.exit(f"analyze_queue_logs.py: {program}: {error.strerror}")
