#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a libFuzzer target over its corpus, then hunts for RDMAMETER_FUZZ_SECONDS (5; 0: not at all).
# Usage: hunt.sh TARGET CORPUS [OPTION...]    What it found lies where it ran: crash-*, timeout-*...
set -eu
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
target=$1 corpus=$2
shift 2
"$target" -runs=0 "$@" "$corpus"
seconds=${RDMAMETER_FUZZ_SECONDS:-5}
[ "$seconds" -gt 0 ] || exit 0
finds=$(mktemp -d) # the corpus in the sources stays as it is
trap 'rm -rf "$finds"' EXIT
"$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2560 -verbosity=1 -print_final_stats=1 "$@" \
    "$finds" "$corpus"
