#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_multiprocess_study.sh [--vgpu] [OPTION...] [-- COMMAND...]: measures how many requests per second 1, 2, 4 and 6
# processes complete together, with all compute units and with fewer, and compares that with one process. Interrupt it
# at any time; the same command continues. --help lists the options. With --vgpu it runs on a virtual GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${GPREEMPT:-}
for place in "$here/../../build/bin/gpreempt" "$here/../../bin/gpreempt" "$(command -v gpreempt || true)"; do
	[[ -n $program || ! -x $place ]] || program=$place
done
[[ -n $program ]] || { echo "run_multiprocess_study.sh: gpreempt not found: run make, or set GPREEMPT to its path" >&2; exit 1; }
export GPREEMPT=$program
if [[ ${1:-} == --vgpu ]]; then
	shift
	[[ -n ${GPREEMPT_VGPU:-} ]] || exec "$program" vgpu -- "$here/run_multiprocess_study.sh" "$@"
fi
exec "${PYTHON:-python3}" -B "$here/poc_study.py" "$@"
