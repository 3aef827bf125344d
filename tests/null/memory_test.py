#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Memory does not grow with what is measured: on the null device a thousand times as much takes no more.

Usage: memory_test.py RDMAMETER
"""
import os
import subprocess
import sys

ALLOWED_KIB = 1024
TESTS = ("send_lat", "write_bw")


def most_resident_kib(program, *arguments):
    """The largest resident set of a run [KiB]."""
    with subprocess.Popen([program, "run", *arguments, "--device", "null"], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{process.args} ended with {process.returncode}")
    return usage.ru_maxrss


def main(program):
    print(f"1..{2 * len(TESTS)}")
    number = 0
    for test in TESTS:
        little = most_resident_kib(program, test, "--iterations", "10000")
        for claim, more in (("iterations", ("--iterations", "10000000")), ("time", ("--duration", "2"))):
            number += 1
            grown = most_resident_kib(program, test, *more) - little
            good = grown < ALLOWED_KIB
            print(f"{'ok' if good else 'not ok'} {number} - the memory of {test} does not grow with {claim}")
            print(f"# {little} KiB with 10^4 iterations, {grown:+} KiB with {' '.join(more)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
