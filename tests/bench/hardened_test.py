#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program is hardened, as its ELF file tells.

hardened_test.py RDMAMETER
"""
import re
import subprocess
import sys


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *arguments, sys.argv[1]], capture_output=True, text=True, check=True).stdout


def main():
    symbols, dynamic, segments = readelf("--dyn-syms"), readelf("-d"), readelf("-lh")
    claims = {
        "its stack frames are checked": "__stack_chk_fail" in symbols,
        "its copies are checked against the size of the target": re.search(r"__\w+_chk@", symbols.replace("__stack_chk_fail", "")),
        "all symbols are bound before it starts": re.search(r"BIND_NOW|\bNOW\b", dynamic),
        "what is relocated is read-only afterwards": "GNU_RELRO" in segments,
        "it is loaded anywhere": re.search(r"Type:\s+DYN", segments),
        "its stack is not executable": re.search(r"GNU_STACK\s.*\sRW\s", segments),
    }
    for number, (claim, holds) in enumerate(claims.items(), 1):
        print(f"{'ok' if holds else 'not ok'} {number} - {claim}")
    print(f"1..{len(claims)}")
    return 0 if all(claims.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
