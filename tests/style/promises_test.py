#!/usr/bin/python3
"""Holds docs/security.md to its tests: each promise of its last table names one, and each that is named exists.

Usage: promises_test.py SOURCE_ROOT
"""
import os
import re
import sys

HEADING = "## Which test holds what"
NAMED = re.compile(r"`([\w/]+\.(?:py|cpp)):([\w.]+)`")


def promises(root):
    """[(promise, [(file, test)])] of the table."""
    with open(os.path.join(root, "docs/security.md"), encoding="utf-8") as file:
        table = file.read().partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.strip("| \n").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return [(row[0], NAMED.findall(row[-1])) for row in rows[2:]]


def exists(root, path, test):
    try:
        with open(os.path.join(root, "tests", path), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return False
    if path.endswith(".py"):
        return f"def test_{test}(" in text
    suite, _, name = test.partition(".")
    return re.search(rf"\bTEST(_F|_P)?\({suite}, {name}\)", text) is not None


def main():
    root, found = sys.argv[1], promises(sys.argv[1])
    claims = {
        "the page has a table of its promises": [] if found else [HEADING],
        "each promise names a test": [promise for promise, tests in found if not tests],
        "each test that is named exists": [f"{path}:{test}" for _, tests in found for path, test in tests
                                           if not exists(root, path, test)],
    }
    for number, (claim, faults) in enumerate(claims.items(), 1):
        print(f"{'not ok' if faults else 'ok'} {number} - {claim}")
        for fault in faults:
            print(f"# {fault}")
    print(f"1..{len(claims)}")
    return any(claims.values())


if __name__ == "__main__":
    sys.exit(main())
