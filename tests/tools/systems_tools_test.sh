#!/bin/bash
# What tools/install-packages says and does where nothing is installed.
# Programs of other systems (apt-get, dnf, rpm...) are scripts here.
set -u
cd "$(dirname "$0")/../.." || exit 1
source tests/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# says STATUS TEXT COMMAND...: it ends with that status, and what it prints has the text.
says() {
    local status=0 said
    said=$("${@:3}" 2>&1) || status=$?
    [ $status -eq "$1" ] || { echo "status $status: $said"; return 1; }
    grep -qF -- "$2" <<<"$said" || { echo "no '$2' in: $said"; return 1; }
}
# program NAME: its text is read from stdin
program() { mkdir -p "$scratch/$system" && { echo '#!/bin/sh'; cat; } >"$scratch/$system/$1" && chmod +x "$scratch/$system/$1"; }
# on_system COMMAND...: with the programs of $system and a few that all systems have, no others
for each in bash sh echo sed grep xargs sort dirname id env mktemp cat rm head; do
    ln -s "$(type -P $each)" "$scratch/$each"
done
on_system() { PATH=$scratch/$system:$scratch "$@"; }

dnf_gets_its_names() {
    local system=fedora
    program dnf </dev/null
    program rpm <<<'[ "$3" != meson ]'
    says 2 "dnf install --setopt=install_weak_deps=False meson" on_system tools/install-packages build || return
    program rpm </dev/null
    says 0 "" on_system tools/install-packages build npm
}
zypper_gets_its_names() {
    local system=suse
    program zypper </dev/null
    program rpm <<<'exit 1'
    says 2 "zypper install --no-recommends gcc-c++ meson ninja" on_system tools/install-packages build &&
        says 2 "the group 'vm' needs Debian or Ubuntu" on_system tools/install-packages build vm
}
others_get_debians_names() {
    local system=other
    says 2 "neither apt, dnf nor zypper" on_system tools/install-packages build &&
        says 2 "libibverbs-dev" on_system tools/install-packages build &&
        says 2 "no group 'bild': browser build" on_system tools/install-packages bild
}
check "install-packages: on Fedora and RHEL the command for dnf is told, with what is missing alone" dnf_gets_its_names
check "install-packages: on SUSE the command for zypper is told" zypper_gets_its_names
check "install-packages: elsewhere Debian's names are told" others_get_debians_names
echo "1..$number"
