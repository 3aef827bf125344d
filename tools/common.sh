# shellcheck shell=bash
# Sourced by tools/quickstart and tools/test: what both need.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# attended COMMAND...: runs it so that a signal to the script is heard at once, not when the command has ended.
attended() {
    env --default-signal=INT,QUIT "$@" </dev/null & # which a shell without jobs ignores in what it puts aside
    wait $!
}

# end_descendants: ends what this script began, and what that began. For its trap on EXIT.
end_descendants() {
    local ours
    ours=$(descendants_of $$)
    # shellcheck disable=SC2086 # words
    [ -z "$ours" ] || kill $ours 2>/dev/null || true
}
# descendants_of PROCESS: children before their parents. Of /proc, since a bare system has neither pgrep nor ps.
descendants_of() {
    # PID (NAME) STATE PARENT ...; a name may hold blanks and parentheses.
    { sed -n 's/^\([0-9]*\) (.*) [A-Za-z] \([0-9]*\) .*/\1 \2/p' /proc/[0-9]*/stat 2>/dev/null || true; } | awk -v top="$1" '
        function tell(process, i, n, each) {
            n = split(children[process], each, " ")
            for (i = 1; i <= n; i++) { tell(each[i]); print each[i] }
        }
        { children[$2] = children[$2] " " $1 }
        END { tell(top) }'
}

# tell_steps WHAT LOG: "[n/N]" of ninja's output in LOG, on stderr: in one line of a terminal, else once a minute.
tell_steps() {
    local pause=${TELL_STEPS_S:-60} begun=$SECONDS step before='' after='\n'
    if [ -t 2 ]; then
        pause=1 before='\r\033[K' after=
    fi
    while sleep "$pause"; do
        step=$(grep -o '^\[[0-9]*/[0-9]*\]' "$2" | tail -n 1)
        [ -n "$step" ] || continue
        step=${step//[\[\]]/}
        # shellcheck disable=SC2059 # they are formats
        printf "$before%s: step %s of %s, %d:%02d$after" "$1" "${step%/*}" "${step#*/}" \
            $(((SECONDS - begun) / 60)) $(((SECONDS - begun) % 60)) >&2
    done
}

# stepwise WHAT COMMAND...: as quietly; meanwhile it tells how far the command, a ninja, is.
stepwise() {
    local status=0 teller log
    log=$(mktemp)
    tell_steps "$1" "$log" &
    teller=$!
    quietly "$@" || status=$?
    # shellcheck disable=SC2046 # words
    kill $teller $(descendants_of $teller) 2>/dev/null || true
    wait $teller 2>/dev/null || true
    [ ! -t 2 ] || printf '\r\033[K' >&2
    return $status
}

# quietly WHAT COMMAND...: shows the command's output only if it fails.
quietly() {
    local what=$1 log=${log:-} status=0
    shift
    [ -n "$log" ] || log=$(mktemp)
    attended "$@" >"$log" 2>&1 || status=$?
    if [ $status -ne 0 ]; then
        tail -n 200 "$log" >&2
        echo "$what failed with status $status: $*" >&2
    fi
    rm -f "$log"
    return $status
}

# configure DIR OPTION...: sets up a build folder, once for the same options and npm packages.
configure() {
    local dir=$root/$1 mark
    shift
    mark="$* $(cat "$root/node_modules/.installed" 2>/dev/null || true)"
    [ -e "$dir/build.ninja" ] && [ "$(cat "$dir/configured-by-tools" 2>/dev/null)" = "$mark" ] && return
    if [ -e "$dir/build.ninja" ]; then
        quietly "Reconfiguring ${dir##*/}" meson setup --reconfigure "$dir" "$root" "$@"
    else
        quietly "Configuring ${dir##*/}" meson setup "$dir" "$root" "$@"
    fi
    echo "$mark" >"$dir/configured-by-tools"
}

# active_device: prints the first verbs device with an active port, or says why there is none (status 1).
active_device() {
    local answer
    answer=$("$root/build/rdmameter" devices --json 2>/dev/null) || true
    python3 -c '
import json, sys
try:
    devices = json.loads(sys.argv[1])["devices"]
except (ValueError, KeyError):
    devices = []
for device in devices:
    if any(port["state"] == "ACTIVE" for port in device.get("ports", [])):
        print(device["name"])
        sys.exit(0)
broken = [device["error"] for device in devices if "error" in device]
print(broken[0] if broken else "no RDMA device here has an active port" if devices
      else "this machine has no RDMA device")
sys.exit(1)' "$answer"
}
