#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_gemm_with_ftrace.sh [CONTAINER]: runs a few matrix products with AMD logging and KFD in ftrace
# (gpreempt trace) and reports. Results: log/gemm_ftrace_<time>/{gemm_amd_log.txt,ftrace.txt,
# analyze.sh}. GEMM names another command; without a GPU it runs on a virtual one. KFD is traced only
# as root.
set -euo pipefail
case ${1:-} in
-h | --help) sed -n '3,/^set /s/^# \{0,1\}//p' "$0"; exit 0 ;;
-*) echo "run_gemm_with_ftrace.sh: unknown option '$1' (see --help)" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
container=${1:-}
build=$here/../../build
program=${GPREEMPT:-}
for place in "$build/bin/gpreempt" "$(command -v gpreempt || true)"; do
	[[ -n $program || ! -x $place ]] || program=$place
done
[[ -n $program ]] || { echo "run_gemm_with_ftrace.sh: gpreempt not found: run make, or set GPREEMPT to its path" >&2; exit 1; }
has_torch() { python3 -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; }

trace=("$program" trace)
if [[ -n $container ]]; then
	trace+=(--container "$container")
	gemm=${GEMM:-"cd '$here' && python3 test_gemm_mini.py"}
else
	if has_torch; then gemm=${GEMM:-"python3 '$here/test_gemm_mini.py'"}; else gemm=${GEMM:-"'$build/examples/gemm_mini'"}; fi
	[[ -e /dev/kfd || -n ${GPREEMPT_VGPU:-} ]] || trace=("$program" vgpu -- "${trace[@]}")
fi
out=log/gemm_ftrace_$(date +%Y%m%d_%H%M%S)
status=0
"${trace[@]}" -o "$out" -- bash -c "$gemm" || status=$?
[[ -d $out ]] || exit "$status"

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
