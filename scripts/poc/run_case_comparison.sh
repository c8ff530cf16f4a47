#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_case_comparison.sh [CONTAINER] [SECONDS]: runs both cases with AMD logging, each for at most
# SECONDS (60), and compares their logs. Results: log/case_comparison_<time>/{case_a.log,
# case_b.log,ANALYSIS_SUMMARY.md,comparison.html}. CASE_A and CASE_B name other commands.
set -euo pipefail
case ${1:-} in
-h | --help) sed -n '3,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) echo "run_case_comparison.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
container=${1:-} seconds=${2:-60}
if [[ $container =~ ^[0-9]+$ && $# -eq 1 ]]; then
	seconds=$container container=
fi
[[ $seconds =~ ^[0-9]+$ ]] || { echo "run_case_comparison.sh: invalid number of seconds '$seconds'" >&2; exit 2; }
out=log/case_comparison_$(date +%Y%m%d_%H%M%S)
mkdir -p "$out"

run_case() { # command, log
	local status=0 run=(bash -c "$1")
	[[ -z $container ]] || run=(docker exec -e AMD_LOG_LEVEL=5 "$container" bash -c "cd '$here' && $1")
	AMD_LOG_LEVEL=5 timeout --kill-after=10 "$seconds" "${run[@]}" > "$2" 2>&1 || status=$?
	# 124: the time limit, which is how a case without an end ends.
	((status == 0 || status == 124)) || echo "run_case_comparison.sh: '$1' exited with status $status" >&2
}

has_torch() { python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; }

# The case's script where PyTorch is, or the example of that name, without a GPU on a virtual one.
default_case() { # name
	local build=$here/../../build
	if [[ -n $container ]] || has_torch; then
		echo "python3 '$here/$1.py'"
	elif [[ -e /dev/kfd ]]; then
		echo "'$build/examples/$1'"
	else
		echo "'$build/bin/gpreempt' vgpu -- '$build/examples/$1'"
	fi
}

echo "case A, at most $seconds s"
run_case "${CASE_A:-$(default_case case_a_cnn)}" "$out/case_a.log"
echo "case B, at most $seconds s"
run_case "${CASE_B:-$(default_case case_b_transformer)}" "$out/case_b.log"
"$here/analyze_queue_logs.py" "$out/case_a.log" "$out/case_b.log" \
	--summary "$out/ANALYSIS_SUMMARY.md" --html "$out/comparison.html"
echo
echo "written: $out/ANALYSIS_SUMMARY.md, $out/comparison.html"
