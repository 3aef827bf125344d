#!/bin/bash
# What tools/debian-root, tools/debian-mirror and tools/install-packages say and do where nothing is installed or made.
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

as_root() { # for what is told before anything is done
    mkdir -p "$scratch/root"
    printf '#!/bin/sh\necho 0\n' >"$scratch/root/id"
    for each in debootstrap unshare; do ln -sf "$(type -P true)" "$scratch/root/$each"; done
    chmod +x "$scratch/root/id"
    PATH=$scratch/root:$PATH "$@"
}
root_wants_its_words_in_order() {
    says 2 "no release of Debian" tools/debian-root &&
        says 2 "no command: it goes behind --" tools/debian-root trixie &&
        says 2 "no command" tools/debian-root trixie -- &&
        says 2 "'tools/test': the command goes behind --" tools/debian-root trixie tools/test &&
        says 2 "--timeout 1h: a number of seconds" tools/debian-root --timeout 1h trixie -- true &&
        says 2 "--keep: a value is missing" tools/debian-root --keep &&
        says 2 "'--kept': the options are" tools/debian-root --kept DIR trixie -- true &&
        says 2 "--keep $scratch: it holds something else" as_root tools/debian-root --keep "$scratch" trixie -- true &&
        says 2 "no release of Debian: ../.." tools/debian-root ../.. -- true &&
        says 0 "Usage: tools/debian-root" tools/debian-root --help
}
root_needs_root() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid 65534 --regid 65534 --clear-groups true || return 0
        says 2 "this needs root" setpriv --reuid 65534 --regid 65534 --clear-groups tools/debian-root trixie -- true
    else
        says 2 "this needs root" tools/debian-root trixie -- true
    fi
}
check "debian-root: wrong use is told, with what is right" root_wants_its_words_in_order
check "debian-root: another user than root is told" root_needs_root

mirror_is_that_of_apt() {
    local system=debian
    program apt-get <<'APT'
printf '%s\n' "Google http://a/ trixie" "Debian http://updates/ bookworm-updates" "Debian http://own/ bookworm" "Debian http://other/ trixie"
APT
    ln -sf "$(type -P awk)" "$scratch/awk"
    says 0 "http://other/" on_system tools/debian-mirror trixie && says 0 "http://own/" on_system tools/debian-mirror forky &&
        system=none says 0 "" on_system tools/debian-mirror forky && says 2 "Usage:" on_system tools/debian-mirror
}
check "debian-mirror: a mirror that has the release by name comes before any other of Debian" mirror_is_that_of_apt

dnf_gets_its_names() {
    local system=fedora
    program dnf </dev/null
    program rpm <<<'[ "$3" != meson ]'
    says 2 "dnf install --setopt=install_weak_deps=False meson" on_system tools/install-packages build || return
    program rpm </dev/null
    program meson <<<'echo 1.0.0'
    says 0 "" on_system tools/install-packages build npm || return
    program meson <<<'echo 0.63.3'
    says 2 "older than 1.0" on_system tools/install-packages build
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
