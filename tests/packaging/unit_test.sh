#!/bin/bash
# What systemd says of the unit, without starting it. Usage: unit_test.sh UNIT RDMAMETER
set -euo pipefail
. "$(dirname "$0")/../tap.sh"
unit=$1 program=$(realpath "$2")
if ! command -v systemd-analyze >/dev/null; then
    echo "1..0 # SKIP no systemd-analyze here"
    exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed "s|^ExecStart=[^ ]*|ExecStart=$program|" "$unit" >"$folder/rdmameter.service"

verified() {
    local said
    said=$(systemd-analyze verify --man=no "$folder/rdmameter.service" 2>&1) || said+=" status $?"
    [ -z "$said" ] || { echo "$said"; return 1; }
}
# Exposure in tenths, of 100; a service without any hardening has 96.
hardened() { systemd-analyze security --offline=true --no-pager --threshold=20 "$folder/rdmameter.service"; }
# What the server and its sessions cannot do without.
keeps() { grep -qE "^$1" "$unit" || { echo "no $1"; return 1; }; }

check "systemd understands every line of the unit" verified
if systemd-analyze security --help 2>/dev/null | grep -q -- --offline; then
    check "systemd finds the service's exposure below 2.0" hardened
fi
check "the calls of Landlock and seccomp are allowed" keeps 'SystemCallFilter=.* landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp'
check "a session that runs out of memory ends alone" keeps 'OOMPolicy=continue'
check "memory can be locked" keeps 'LimitMEMLOCK=infinity'
echo "1..$number"
