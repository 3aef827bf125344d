# shellcheck shell=bash
# The lines of a test that prints TAP; a script sources this.

number=0
# check CLAIM COMMAND...: the claim holds if the command succeeds; what it prints tells where it does not.
check() {
    local claim=$1 output result=ok
    shift
    number=$((number + 1))
    output=$("$@" 2>&1) || result="not ok"
    echo "$result $number - $claim"
    # shellcheck disable=SC2001 # a prefix for every line
    [ "$result" = ok ] || sed 's/^/# /' <<<"$output"
}
skip() { number=$((number + 1)); echo "ok $number - $1 # SKIP $2"; }
