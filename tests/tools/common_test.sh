#!/bin/bash
# Checks that a script of tools/ that is told to end does so at once, and leaves nothing behind that it began.
set -u
cd "$(dirname "$0")/../.." || exit 1
source tests/tap.sh
source tools/common.sh

# until_true COMMAND...: for at most 30 s
until_true() {
    local tries=300
    until "$@"; do
        sleep 0.1
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "not within 30 s: $*"; return 1; }
    done
}
has_begun() { [ "$(descendants_of "$1" | wc -l)" -ge 4 ]; } # env (that becomes timeout), a shell, two that sleep
ended() { ! ps -o pid=,args= -p "$1"; }

# shellcheck disable=SC2016 # what another shell reads
script='set -euo pipefail
source tools/common.sh
trap end_descendants EXIT
trap "exit 143" TERM
quietly "What takes long" timeout 600 bash -c "sleep 601 & sleep 602; wait"'

ends_at_once() {
    local begun process status=0
    bash -c "$script" &
    process=$!
    until_true has_begun $process || return 1
    begun=$(descendants_of $process | paste -sd,)
    kill -TERM $process
    wait $process || status=$?
    [ $status -eq 143 ] || { echo "status $status"; return 1; }
    until_true ended "$begun"
}

keeps_status() {
    local status=0
    attended bash -c 'exit 7' || status=$?
    [ $status -eq 7 ]
}

interruptible() { attended bash -c 'kill -INT $$; sleep 9' || [ $? -eq 130 ]; }

# ninja would say this, and ends when we have been told.
tells_steps() {
    local told status=0
    told=$(mktemp)
    # shellcheck disable=SC2016 # what another shell reads
    TOLD=$told TELL_STEPS_S=0.1 stepwise "What counts" bash -c 'echo "[3/9] a.o"
        for _ in $(seq 300); do grep -q "step 3 of 9" "$TOLD" && exit 5; sleep 0.1; done' 2>>"$told" || status=$?
    [ $status -eq 5 ] || { echo "status $status"; return 1; }
    grep '^What counts: step 3 of 9, 0:' "$told" >&2
}

# A bare Debian has neither pgrep nor ps.
finds_without_procps() {
    local bare found=0 process
    bare=$(mktemp -d)
    ln -s "$(type -P bash)" "$(type -P sed)" "$(type -P awk)" "$(type -P sleep)" "$bare"
    bash -c 'sleep 60 & wait' >/dev/null 2>&1 &
    process=$!
    for _ in {1..300}; do
        # shellcheck disable=SC2016 # what another shell reads
        found=$(PATH=$bare bash -c 'source tools/common.sh 2>/dev/null; descendants_of "$0"' $process)
        [ -z "$found" ] || break
        sleep 0.1
    done
    rm -r "$bare"
    # shellcheck disable=SC2046 # words
    kill $process $(descendants_of $process)
    [ -n "$found" ]
}

check "what a script began is found without pgrep and ps" finds_without_procps
check "a long build tells how far it is, and its status is the build's" tells_steps
check "a script that is told to end does so at once, with all that it began" ends_at_once
check "the status of a command is the command's" keeps_status
check "a command can be interrupted" interruptible
echo "1..$number"
