#!/bin/bash
# What the README promises, and the tests that need no device, in a bare Debian of another release. One TAP line for each claim.
# Usage: systems_test.sh RELEASE [aarch64]      (RELEASE: bookworm, trixie, testing)
#   aarch64: instead, the program and its tests are built for aarch64, and run by qemu-user
# Needs root, debootstrap and a mirror of Debian. Half an hour on two idle cores, most of it the compiler.
# testing is a canary: what it has not, or cannot install, is not ours to mend, so all is skipped then, with apt's reason.
set -u
cd "$(dirname "$0")/../.." || exit 1
source tests/tap.sh
release=${1:?a release of Debian}
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "1..0 # SKIP needs root and debootstrap"
    exit 0
fi
guest=$(mktemp -d -p "${TMPDIR:-/var/tmp}" rdmameter-system-XXXXXX)
said=$guest.said
trap 'rm -rf --one-file-system "$guest" "$said"' EXIT
# in_guest COMMAND...: all that it says, or the end of it if it fails
in_guest() {
    tools/debian-root --keep "$guest" --timeout 6000 "$release" -- "$@" >"$said" 2>&1 && return
    local status=$?
    tail -n 100 "$said"
    echo "status $status: $*"
    return $status
}
# skipped_as REASON: ends this test, which has nothing to say about us
skipped_as() {
    echo "1..0 # SKIP $release itself: $1"
    exit 0
}

status=0
in_guest true >/dev/null || status=$?
[ $status -ne 77 ] || skipped_as "debootstrap cannot make it: $(grep -m 1 '^E:' "$said")"
if [ "$release" = testing ]; then
    # Nothing is installed yet: apt only tells whether it could.
    in_guest sh -c 'apt-get update && apt-get install --simulate --no-install-recommends $(sed -n "s/^\(build\|test\|vm\|npm\)://p" tools/packages)' >/dev/null ||
        skipped_as "packages cannot be installed: $(grep -E '^(E:| [a-z].* : )' "$said" | head -n 3 | xargs -d '\n' | tr '#' ' ')"
fi

if [ "${2-}" = aarch64 ]; then
    check "unit and null programs are built for aarch64 without a warning, and pass by qemu-user" in_guest tools/test-aarch64
    echo "1..$number"
    exit 0
fi

# A build that warns fails.
quickstart() { in_guest env CXXFLAGS=-Werror tools/quickstart --vm; }
charts() {
    # shellcheck disable=SC2016 # what another shell reads
    in_guest sh -c 'build/rdmameter report result.json -o report.html && grep -c "Apache Software Foundation" report.html'
}
ranks() {
    in_guest tools/rxe-vm run --timeout 600 -- build/rdmameter topo mesh ring --ranks 4 --iterations 50 --warmup 5 -o topo.json
}
placement() {
    # shellcheck disable=SC2016 # what another shell reads
    in_guest tools/rxe-vm run --timeout 600 -- sh -c 'out=$(build/rdmameter run --loopback "atomic_write_*" "flush_*" --size 8,4K --iterations 200 --verify) &&
        echo "$out" && ! echo "$out" | grep -q skipped'
}
builds_tests() { in_guest sh -c 'tools/install-packages test && meson configure build -Dtests=enabled && ninja -C build'; }
passes() { in_guest meson test -C build --no-rebuild --print-errorlogs --suite unit --suite program --suite null; }

check "tools/quickstart builds without a warning and measures rxe in its virtual machine" quickstart
check "the report has charts" charts
check "four ranks run as a mesh and as a ring in the virtual machine" ranks
[ "$release" = bookworm ] || check "atomic write and FLUSH are verified on the kernel's rxe" placement
check "all tests are built without a warning" builds_tests
check "the tests that need no device pass" passes
echo "1..$number"
