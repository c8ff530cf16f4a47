#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_gemm_with_ftrace.sh [CONTAINER]: runs a few matrix products with AMD logging and KFD tracing
# (gpreempt trace) and prints the report. Results: log/gemm_ftrace_<time>/{gemm_amd_log.txt,ftrace.txt,
# analyze.sh}. Set GEMM to run another command. Without a GPU, the command runs on a virtual GPU. KFD
# is traced only as root.
# With CONTAINER (docker or podman) the command runs in there; the scripts are copied in ($GPREEMPT_POC_DIR) and removed
# afterwards, and files that the command writes into its directory are copied to the directory gemm.files of the results.
set -euo pipefail
case ${1:-} in
-h | --help) sed -n '3,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
-*) echo "run_gemm_with_ftrace.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
. "$here/container.sh"
build=$here/../../build
program=${GPREEMPT:-}
for place in "$build/bin/gpreempt" "$here/../../bin/gpreempt" "$(command -v gpreempt || true)"; do
	[[ -n $program || ! -x $place ]] || program=$place
done
[[ -n $program ]] || { echo "run_gemm_with_ftrace.sh: gpreempt not found: run make, or set GPREEMPT to its path" >&2; exit 1; }
has_torch() { python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; }

trace=("$program" trace)
if [[ -n ${1:-} ]]; then
	trap container_close EXIT
	container_open "$1" run_gemm_with_ftrace.sh
	trace+=(--container "$container")
	# shellcheck disable=SC2016 # expanded in the container
	container_words "${GEMM:-python3 \"\$GPREEMPT_POC_DIR/test_gemm_mini.py\"}"
else
	if has_torch; then gemm=${GEMM:-"python3 '$here/test_gemm_mini.py'"}; else gemm=${GEMM:-"'$build/examples/gemm_mini'"}; fi
	[[ -e /dev/kfd || -n ${GPREEMPT_VGPU:-} ]] || trace=("$program" vgpu -- "${trace[@]}")
	words=(bash -c "$gemm")
fi
out=log/gemm_ftrace_$(date +%Y%m%d_%H%M%S)
status=0
# In the background, so that a signal is handled at once instead of when the command ends.
"${trace[@]}" -o "$out" -- "${words[@]}" &
trace_pid=$!
trap 'kill "$trace_pid" 2> /dev/null; container_stop; wait "$trace_pid" || true; exit 130' INT TERM
wait "$trace_pid" || status=$?
trap - INT TERM
[[ -d $out ]] || exit "$status"
[[ -z $container ]] || container_fetch "$out/gemm.files"

# One file, even if several processes wrote one each.
cat "$out"/amd_log* > "$out/gemm_amd_log.txt" 2> /dev/null || true
rm -f "$out"/amd_log*
[[ -e $out/ftrace.txt ]] || echo "# KFD was not traced" > "$out/ftrace.txt"
cat > "$out/analyze.sh" << END
#!/usr/bin/env bash
# The report again: ./analyze.sh [OPTION of gpreempt analyze...]
cd "\$(dirname "\$0")"
files=(gemm_amd_log.txt)
grep -qv '^#' ftrace.txt && files+=(ftrace.txt)
[[ ! -e clocks.json ]] || files+=(clocks.json)
exec "\${GPREEMPT:-$program}" analyze --trace-clock mono "\$@" "\${files[@]}"
END
chmod +x "$out/analyze.sh"
echo "written: $out/gemm_amd_log.txt, $out/ftrace.txt, $out/analyze.sh"
exit "$status"
