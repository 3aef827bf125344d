#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Google Benchmark's compare.py reads our results. Skips (77) where it is not installed (Debian:
# libbenchmark-tools, python3-scipy).
# Usage: compare_py_test.sh WRITE_SAMPLES    COMPARE_PY=... names another compare.py
set -u
write_samples=$1
compare_py=${COMPARE_PY:-/usr/share/benchmark/compare.py}
[ -r "$compare_py" ] || { echo "skipped: no $compare_py (package libbenchmark-tools)"; exit 77; }
/usr/bin/python3 -c 'import scipy' 2>/dev/null || { echo "skipped: no python3-scipy"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$write_samples" "$scratch" || exit 1
failures=0

# compare ARGUMENT...: runs compare.py; a bad status or a Python error fails.
compare() {
  echo "--- compare.py $*"
  if ! /usr/bin/python3 "$compare_py" --no-color "$@" >"$scratch/out" 2>&1 || grep -q Traceback "$scratch/out"; then
    cat "$scratch/out"
    echo "FAIL  compare.py $*"
    failures=$((failures + 1))
  fi
}
# says COUNT REGEX: so many lines of the last comparison match.
says() {
  local found
  found=$(grep -cE -- "$2" "$scratch/out")
  [ "$found" = "$1" ] && return
  cat "$scratch/out"
  echo "FAIL  $found lines match '$2', not $1"
  failures=$((failures + 1))
}

cd "$scratch" || exit 1
compare benchmarks base.json new.json
says 12 '^(send|write)_(lat|bw)/.* \+0\.2500 +\+0\.0000' # a line for each measured repetition
says 3 '^send_lat/rc/size:2 +'                           # repetitions are seen as such
says 1 '^send_lat/rc/size:2_pvalue +0\.1000 .*Repetitions: 3 vs 3'
says 3 '^(send|read)_lat/.*/(skipped|error) +\+0\.0000 ' # not measured: zeros, no crash
compare benchmarks base.json base.json
says 0 '\+0\.2500'
compare filters base.json 'send_lat/rc/size:2$' 'send_lat/rc/size:1024$'
says 4 '^\[send_lat'
compare benchmarks empty.json empty.json
exit $((failures > 0))
