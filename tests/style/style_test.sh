#!/bin/bash
# Rules that a program can check, one TAP line each. Usage: style_test.sh SOURCE_ROOT
set -euo pipefail
. "$(dirname "$0")/../tap.sh"
cd "$1"
if ! git rev-parse --git-dir >/dev/null 2>&1; then
    echo "1..0 # SKIP not a git checkout: its list of files says what is ours"
    exit 0
fi

sources() { git ls-files -z -- '*.h' '*.cpp'; }
# tools/vm holds what runs in the guest, partly in busybox's shell.
scripts() { git ls-files -z -- ':!tools/vm' | xargs -0 grep -lZE '^#!.*/(ba)?sh' --; }

formatted() {
    local ill
    ill=$(sources | xargs -0r clang-format --dry-run 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning:.*//p' | sort -u)
    [ -z "$ill" ] || { printf 'clang-format -i %s\n' "${ill//$'\n'/ }"; return 1; }
}
if [[ $(clang-format --version 2>/dev/null) == *" version 14."* ]]; then
    check "sources have the format of .clang-format" formatted
else
    skip "sources have the format of .clang-format" "needs clang-format 14, whose format this is"
fi

scripts_parse() {
    local status=0 file
    while read -rd '' file; do bash -n "$file" || status=1; done < <(scripts)
    return $status
}
check "scripts parse" scripts_parse
shellchecked() { scripts | xargs -0r shellcheck -S warning; }
if command -v shellcheck >/dev/null; then
    check "scripts pass shellcheck" shellchecked
else
    skip "scripts pass shellcheck" "shellcheck is not installed"
fi

# Names of one machine have no place in what others build.
no_machine_paths() { ! git grep -nIE '(^|[^[:alnum:]_./-])/(work|home|Users)/[[:alnum:]]'; }
check "no file names a path of somebody's machine" no_machine_paths

no_programs() { ! git ls-files -z | xargs -0 grep -lP '\A\x7fELF' --; }
check "no built program or object is kept" no_programs

no_stray_space() { ! git grep -nIE '[[:space:]]+$' -- '*.h' '*.cpp' '*.build' '*.sh' 'tools/*' '*.py' '*.md'; }
check "no line ends in white space" no_stray_space

# Else the suite runs nothing of it, and passes.
everyday_files() { ! grep -oP "^ +\['\K[^']+(?=', .*\[.*'(kernel|siw)'.*\])" tests/meson.build | sed 's|^|tests/|' | xargs grep -L 'rdmameter\.everyday' | grep .; }
check "each file of the suites kernel and siw has a test that is marked everyday" everyday_files

echo "1..$number"
