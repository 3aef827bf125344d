#!/bin/bash
# Checks what tools/rxe-vm promises. Takes about 60 s: fourteen guests.
# Usage: rxe_vm_test.sh [path of rxe-vm]. Needs ibverbs-utils beside what rxe-vm needs.
set -u
rxe_vm=$(realpath "${1:-$(dirname "$0")/../../tools/rxe-vm}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir tmp
export TMPDIR=$scratch/tmp # where runs keep their scratch files: others may run guests, too
failures=0
command -v ibv_rc_pingpong >/dev/null || { echo "SKIP: no ibverbs-utils"; exit 77; }

# check CLAIM COMMAND...: the claim holds if the command succeeds.
check() {
  local claim=$1
  shift
  if "$@"; then echo "ok    $claim"; else
    echo "FAIL  $claim"
    failures=$((failures + 1))
  fi
}
same() { [ "$1" = "$2" ] || { echo "  expected '$2', got '$1'"; return 1; }; }
contains() { grep -q -- "$2" "$1" || { echo "  no '$2' in:"; sed 's/^/    /' "$1"; return 1; }; }
near() { # within 30 %: a busy machine delays either
  local gap=$(($1 > $2 ? $1 - $2 : $2 - $1))
  [ $((gap * 10)) -lt $(($2 * 3)) ] || { echo "  expected about $2, got $1"; return 1; }
}
at_least() { [ "$1" -ge "$2" ] || { echo "  expected at least $2, got $1"; return 1; }; }

# --- One guest that answers most questions ---
head -c 300000 /dev/urandom >bytes
printf 'a\r\nb\n\0\377c\n' >>bytes
cp "$(type -P true)" program
cat >inside.sh <<'INSIDE'
exec 3>answers
answer() { echo "$1=$2" >&3; }
cat bytes           # stdout: these bytes and nothing else
printf 'to stderr' >/dev/stderr
printf 'rxe: a kernel message\n' >/dev/kmsg
answer pwd "$PWD"
answer user "$(id -u)"
answer env "$RXE_VM,$RDMAMETER_TEST,${RXE_VM_TEST_UNSEEN-},$RXE_VM_TEST_PASSED"
answer arguments "$*"
answer stdin "$(wc -c)"
answer clock "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
: >tick; start=$(date +%s%N)  # the host dates these files, so they compare the two clocks
sleep 3
: >tock; end=$(date +%s%N)
answer pace $(((end - start) / 1000000))
answer memlock "$(ulimit -l)"
answer root "$(touch /usr/rxe-vm-test 2>/dev/null; echo $?)"
answer tmp "$(touch /tmp/x /run/x /var/tmp/x /dev/shm/x; echo $?)"
answer program "$(./program; echo $?)"
for device in rxe0 rxe1; do
  answer $device "$(ibv_devinfo -d $device | awk '/state:|active_mtu:/ {printf "%s ", $2}')"
done
answer gids "$(ibv_devinfo -v -d rxe0 | awk '/GID/ {printf "%s ", $(NF - 2)}')"
modprobe sch_tbf
answer modprobe $?

packets() { cat /sys/class/net/v0/statistics/rx_packets; }
# pingpong TRANSPORT DEVICE: rxe0 with DEVICE; prints exit status, microseconds, packets on v0.
pingpong() {
  local before=$(packets) server
  timeout 20 ibv_$1_pingpong -d rxe0 -g 1 -n 50 >/dev/null &
  server=$!
  until grep -q ':4853 .* 0A ' /proc/net/tcp*; do sleep 0.1; done # 18515 listens
  timeout 20 ibv_$1_pingpong -d $2 -g 1 -n 50 localhost >/tmp/client
  echo "$? $(awk '/usec\/iter/ {print int($(NF - 1))}' /tmp/client) $(($(packets) - before))"
  wait $server
}
for transport in rc uc ud; do
  answer same_$transport "$(pingpong $transport rxe0)"
  answer cross_$transport "$(pingpong $transport rxe1)"
done
tc qdisc add dev v0 root netem delay 5ms
answer netem "$(pingpong rc rxe1)"
sleep 1000 & # holds stdout open; must not keep the guest
exit 3
INSIDE
export RDMAMETER_TEST='a "b" $c' RXE_VM_TEST_UNSEEN=1 RXE_VM_TEST_PASSED=yes
"$rxe_vm" run --env RXE_VM_TEST_PASSED --quiet -- bash inside.sh 'one  two' "it's" </etc/passwd >out 2>err
status=$?
if grep "not installed" err; then exit 77; fi
check "the exit status is the command's" same $status 3
check "stdout arrives byte for byte, alone" cmp out bytes
check "stderr arrives by itself, alone" same "$(cat err)" "to stderr"
[ -e answers ] || touch answers
answer() { sed -n "s/^$1=//p" answers; }
check "a file written in the working directory is here, the caller's" \
  same "$(stat -c '%u %F' answers)" "$(id -u) regular file"
check "the working directory has the same path" same "$(answer pwd)" "$scratch"
check "the command is root" same "$(answer user)" 0
check "RXE_VM, RDMAMETER_* and --env pass, others do not" same "$(answer env)" '1,a "b" $c,,yes'
check "arguments pass as they are" same "$(answer arguments)" "one  two it's"
check "stdin is empty" same "$(answer stdin)" 0
check "the clock is the TSC" same "$(answer clock)" tsc
host_pace=$(($(date -r tock +%s%3N) - $(date -r tick +%s%3N)))
check "the clock keeps the host's pace" near "$(answer pace)" "$host_pace"
check "memlock is unlimited" same "$(answer memlock)" unlimited
check "the host's files are read-only" same "$(answer root)" 1
check "the temporary directories are writable" same "$(answer tmp)" 0
check "a program in the working directory runs" same "$(answer program)" 0
check "modprobe finds the kernel's modules" same "$(answer modprobe)" 0
for device in rxe0 rxe1; do
  check "$device is active with MTU 4096" same "$(answer $device)" "PORT_ACTIVE 4096 "
done
check "the GIDs are the same in each run" same "$(answer gids)" \
  "fe80::ff:fe09:1, ::ffff:10.9.0.1, fd00:9::1, "
for transport in rc uc ud; do
  read -r status _ packets <<<"$(answer same_$transport)"
  check "$transport within rxe0 works" same "$status" 0
  check "$transport within rxe0 stays off v0" same "$((packets < 10))" 1
  read -r status _ packets <<<"$(answer cross_$transport)"
  check "$transport from rxe1 to rxe0 works" same "$status" 0
  check "$transport from rxe1 to rxe0 crosses v0" at_least "$packets" 50
done
read -r status microseconds _ <<<"$(answer netem)"
check "5 ms of netem on v0 show in the round trip" at_least "${microseconds:-0}" 5000

# --- How runs end ---
"$rxe_vm" run --quiet -- sh -c 'kill -SEGV $$' 2>/dev/null
check "a signal's status is 128 + its number" same $? 139
"$rxe_vm" run --timeout 4 -- sleep 60 >out 2>err
check "the time limit ends with 124" same $? 124
check "the time limit is named" contains err "time limit of 4 s"
"$rxe_vm" run --quiet -- sh -c 'echo c >/proc/sysrq-trigger; sleep 30' >out 2>err
check "a dead guest ends with 125" same $? 125
check "a dead guest's last words are shown" contains err "Kernel panic"

"$rxe_vm" run --quiet -- sh -c 'echo started; sleep 1000' >out 2>err &
vm=$!
for _ in {1..600}; do grep -q started out && break; sleep 0.1; done
# QEMU has our directory in its arguments.
at_work() { pgrep -f "qemu-system.*${1-}.*path=$scratch" | wc -l; }
check "output arrives while the command runs" contains out started
check "QEMU runs" same "$(at_work)" 1
kill -TERM $vm
wait $vm
check "SIGTERM ends with 143" same $? 143
check "SIGTERM leaves no QEMU" same "$(at_work)" 0
check "SIGTERM leaves no scratch files" same "$(ls tmp)" ""

"$rxe_vm" run --quiet -- true 2>err &
vm=$!
for _ in {1..100}; do [ "$(at_work)" = 1 ] && break; sleep 0.05; done
check "QEMU runs" same "$(at_work)" 1
kill -KILL $vm
wait $vm 2>/dev/null
sleep 0.5
check "SIGKILL leaves no QEMU" same "$(at_work)" 0

"$rxe_vm" run --quiet -- true >out1 2>err1 &
first=$!
"$rxe_vm" run --quiet -- false >out 2>err
second=$?
wait $first
check "two runs at once keep to themselves" same "$? $second" "0 1"

# --- Two nodes ---
cat >inside.sh <<'INSIDE'
exec 3>answers
answer() { echo "$1=$2" >&3; }
answer here "$(hostname) $(nproc)"
answer there "$(ssh node1 'echo "$(hostname) $(nproc)"')"
answer session "$(ssh node1 'echo "$PWD,$RDMAMETER_TEST,$(ulimit -l)"; echo written there >file')"
answer file "$(cat file)"
answer device "$(ssh node1 ibv_devinfo | awk '/hca_id:|state:|active_mtu:/ {printf "%s ", $2}')"
answer gids "$(ssh node1 ibv_devinfo -v | awk '/GID/ {printf "%s ", $(NF - 2)}')"
answer back "$(ssh node1 ssh node0 hostname)"
answer keys "$(stat -c %a /run/rxe-vm/*_key | xargs)"
ssh node1 exit 4
INSIDE
"$rxe_vm" run --nodes 2 --quiet -- bash inside.sh >out 2>err
check "the exit status is that of the command, by ssh, too" same "$?" 4
check "it is quiet" same "$(cat out err)" ""
check "the command runs on node0, with one CPU" same "$(answer here)" "node0 1"
check "ssh runs one on node1" same "$(answer there)" "node1 1"
check "in the same directory, with the same environment and memlock" \
  same "$(answer session)" "$scratch,$RDMAMETER_TEST,unlimited"
check "what node1 writes there node0 reads" same "$(answer file)" "written there"
check "node1 has an rxe0 that is active with MTU 4096" same "$(answer device)" "rxe0 PORT_ACTIVE 4096 "
check "its GIDs are the same in each run" same "$(answer gids)" "fe80::ff:fe09:2, ::ffff:10.9.0.2, fd00:9::2, "
check "ssh works from node1 to node0" same "$(answer back)" node0
check "the private keys are root's alone" same "$(answer keys)" "600 600"

"$rxe_vm" run --nodes 2 --quiet -- sh -c 'ssh node1 "echo c >/proc/sysrq-trigger"; sleep 60' >out 2>err
check "a node that dies ends the run with 125" same $? 125
check "a node that dies is named" contains err "node1 died"
check "its last words are shown" contains err "Kernel panic"

"$rxe_vm" run --nodes 2 --quiet -- true >out 2>err &
vm=$!
for _ in {1..100}; do [ "$(at_work node1)" = 1 ] && break; sleep 0.05; done
check "QEMU runs twice" same "$(at_work)" 2
kill -KILL "$(pgrep -f "qemu-system.*rxe_vm_node=node1.*path=$scratch")"
wait $vm
check "a node that does not come up ends the run with 125" same $? 125
check "a node that does not come up is named" contains err "node1 did not start"
check "the other node has ended, too" same "$(at_work)" 0

"$rxe_vm" run --nodes 0 -- true >out 2>err
check "no node at all is wrong use" same $? 2
"$rxe_vm" run --cpus 2 --numa-nodes 3 -- true >out 2>err
check "CPUs that NUMA nodes cannot share equally are wrong use" same $? 2
"$rxe_vm" run --share "$scratch/none" -- true >out 2>err
check "wrong use ends with 2" same $? 2
check "wrong use is explained" contains err "none: no such directory"

[ $failures -eq 0 ] || echo "$failures failed"
exit $((failures > 0))
