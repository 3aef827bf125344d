# shellcheck shell=bash
# Sourced by tools/quickstart and tools/test: what both need.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# quietly WHAT COMMAND...: shows the command's output only if it fails.
quietly() {
    local what=$1 log status=0
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    if [ $status -ne 0 ]; then
        tail -n 200 "$log" >&2
        echo "$what failed with status $status: $*" >&2
    fi
    rm -f "$log"
    return $status
}

# configure DIR OPTION...: sets up a build folder, once for the same options.
configure() {
    local dir=$root/$1
    shift
    [ -e "$dir/build.ninja" ] && [ "$(cat "$dir/configured-by-tools" 2>/dev/null)" = "$*" ] && return
    if [ -e "$dir/build.ninja" ]; then
        quietly "Reconfiguring ${dir##*/}" meson setup --reconfigure "$dir" "$root" "$@"
    else
        quietly "Configuring ${dir##*/}" meson setup "$dir" "$root" "$@"
    fi
    echo "$*" >"$dir/configured-by-tools"
}

# active_device: prints the first verbs device with an active port, or says why there is none (status 1).
active_device() {
    local state
    for state in /sys/class/infiniband/*/ports/*/state; do
        [[ -r $state && $(<"$state") == *ACTIVE* ]] || continue
        state=${state#/sys/class/infiniband/}
        echo "${state%%/*}"
        return 0
    done
    if compgen -G '/sys/class/infiniband/*' >/dev/null; then
        echo "the RDMA devices here have no active port"
    else
        echo "this machine has no RDMA device"
    fi
    return 1
}
