#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_case_comparison.sh [CONTAINER] [SECONDS]: runs both cases with AMD logging, each for SECONDS (60), and compares their
# logs. Results: log/case_comparison_<time>/{case_a.log,case_b.log,ANALYSIS_SUMMARY.md,comparison.html}.
# With CONTAINER (docker or podman) the cases run in there; the scripts are copied in and removed afterwards, and files that a
# case writes into its directory are copied to case_a.files or case_b.files. A case is ended when its time is over.
# Set CASE_A or CASE_B to run other commands; in a container, the scripts are in $GPREEMPT_POC_DIR.
set -euo pipefail
case ${1:-} in
-h | --help) sed -n '3,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
-*) echo "run_case_comparison.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
. "$here/container.sh"
name=${1:-} seconds=${2:-60}
if [[ $name =~ ^[0-9]+$ && $# -eq 1 ]]; then
	seconds=$name name=
fi
[[ $seconds =~ ^[0-9]+$ && $seconds -gt 0 ]] ||
	{ echo "run_case_comparison.sh: invalid number of seconds '$seconds'" >&2; exit 2; }
child=
finish() {
	[[ -z $child ]] || kill "$child" 2> /dev/null || true
	container_close
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
[[ -z $name ]] || container_open "$name" run_case_comparison.sh
out=log/case_comparison_$(date +%Y%m%d_%H%M%S)
mkdir -p "$out"

# In the background, so that a signal is handled at once instead of when the case ends.
run_case() { # command, log
	local status=0
	if [[ -z $container ]]; then
		AMD_LOG_LEVEL=5 timeout --kill-after=10 "$seconds" bash -c "$1" > "$2" 2>&1 &
		child=$!
		wait "$child" || status=$?
	else
		container_words "$1"
		"$engine" exec -e AMD_LOG_LEVEL=5 "$container" "${words[@]}" > "$2" 2>&1 &
		child=$!
		# The time of the case, or less if it ends by itself.
		timeout "$seconds" tail --pid="$child" -f /dev/null &
		wait $! && wait "$child" || status=$?
		if ((status == 124)); then
			container_stop
			wait "$child" || true
		fi
		container_fetch "${2%.log}.files"
	fi
	child=
	# 124: the time is over, which is how a case without an end ends.
	((status == 0 || status == 124)) || echo "run_case_comparison.sh: '$1' exited with status $status" >&2
}

has_torch() { python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; }

# The script of the case where PyTorch is, or the example of that name, without a GPU on a virtual one.
default_case() { # name
	local build=$here/../../build
	if [[ -n $container ]]; then
		# shellcheck disable=SC2016 # expanded in the container
		echo 'python3 "$GPREEMPT_POC_DIR/'"$1.py\" --seconds $seconds"
	elif has_torch; then
		echo "python3 '$here/$1.py' --seconds $seconds"
	elif [[ -e /dev/kfd ]]; then
		echo "'$build/examples/$1' --seconds $seconds"
	else
		echo "'$build/bin/gpreempt' vgpu -- '$build/examples/$1' --seconds $seconds"
	fi
}

echo "running case A for $seconds s"
run_case "${CASE_A:-$(default_case case_a_cnn)}" "$out/case_a.log"
echo "running case B for $seconds s"
run_case "${CASE_B:-$(default_case case_b_transformer)}" "$out/case_b.log"
"$here/analyze_queue_logs.py" "$out/case_a.log" "$out/case_b.log" \
	--summary "$out/ANALYSIS_SUMMARY.md" --html "$out/comparison.html"
echo
echo "written: $out/ANALYSIS_SUMMARY.md, $out/comparison.html"
