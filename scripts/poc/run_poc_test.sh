#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_poc_test.sh [--vgpu] [SECONDS]: runs both cases with test_preemption.py: first without preemption, then
# preempting the offline case for SECONDS (10). Writes to log/poc_<time>/: report.txt, report.json,
# report.html, the output of both cases (online.log, offline.log) and doctor.json.
# Set CASE_A (online) or CASE_B (offline) to run other commands, OUT to use another directory. With
# --vgpu, everything runs on a virtual GPU, with the C examples as cases.
set -euo pipefail
case ${1:-} in
-h | --help) sed -n '3,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
program=${GPREEMPT:-}
for place in "$here/../../build/bin/gpreempt" "$here/../../bin/gpreempt" "$(command -v gpreempt || true)"; do
	[[ -n $program || ! -x $place ]] || program=$place
done
[[ -n $program ]] || { echo "run_poc_test.sh: gpreempt not found: run make, or set GPREEMPT to its path" >&2; exit 1; }
export GPREEMPT=$program

vgpu=() seconds=10
for argument; do
	if [[ $argument == --vgpu ]]; then
		vgpu=(--vgpu)
	elif [[ $argument =~ ^[0-9]+$ && $argument -gt 0 ]]; then
		seconds=$argument
	else
		echo "run_poc_test.sh: invalid number of seconds '$argument' (see --help)" >&2
		exit 2
	fi
done
if [[ ${#vgpu[@]} -gt 0 && -z ${GPREEMPT_VGPU:-} ]]; then
	exec "$program" vgpu --runtime-enable -- "$here/run_poc_test.sh" "$@"
fi

if [[ ! -e /dev/kfd && -z ${GPREEMPT_VGPU:-} ]]; then
	echo "run_poc_test.sh: this machine has no AMD GPU (no /dev/kfd); use --vgpu to run on a virtual GPU" >&2
	exit 1
fi
out=${OUT:-log/poc_$(date +%Y%m%d_%H%M%S)}
mkdir -p "$out"
"$program" doctor --json > "$out/doctor.json" || echo "run_poc_test.sh: gpreempt doctor failed" >&2
cases=()
[[ -z ${CASE_A:-} ]] || cases+=(--online "$CASE_A")
[[ -z ${CASE_B:-} ]] || cases+=(--offline "$CASE_B")
status=0
"$here/test_preemption.py" --seconds "$seconds" --baseline "$((seconds / 2 + 1))" "${cases[@]}" \
	--online-log "$out/online.log" --offline-log "$out/offline.log" \
	--text "$out/report.txt" --json "$out/report.json" --html "$out/report.html" || status=$?
if ((status)); then
	logs=()
	for log in "$out"/{online,offline}.log; do
		[[ ! -s $log ]] || logs+=("$log") # none if the cases were not started
	done
	echo "run_poc_test.sh: the test failed${logs[*]:+; see ${logs[*]}}" >&2
	exit "$status"
fi
echo
echo "written: $out/report.txt, $out/report.json, $out/report.html"
