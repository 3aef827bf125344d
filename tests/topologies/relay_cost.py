#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions that passing a message on takes, beside one post and one poll, on QPs of the null device.

Counted by callgrind, with what the null device does for each and without; see tests/null/instructions.py.
A message that is passed on takes the completion of its receive, a place on a list of WRs, and its share of the
list's post and completion, of posting receives and of crediting them to the sender.

A step of a collective sends one message of 8 bytes, takes one and adds its words.

  relay_cost.py RELAY_DRIVER
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "null"))
import instructions  # noqa: E402

MOST = 2.5  # times one post and one poll, the device's part included
TESTS = ("relay", "relay_shared", "relay_one_by_one", "collective")
BOUNDED = ("relay", "relay_shared")  # one by one each poll finds one completion: that is told, and not bounded
# Where messages come from and go to is no part of it.
OUTSIDE = re.compile(r"null_verbs::(feed|take|complete_and_answer)\(")


def per_message(driver, test):
    """Instructions of our own, and all."""
    made = []
    for left_out in (instructions.NULL_DEVICE, OUTSIDE):
        instructions.NULL_DEVICE, kept = left_out, instructions.NULL_DEVICE
        (few, few_done), (many, many_done) = (instructions.count(driver, test, n, []) for n in (8000, 24000))
        instructions.NULL_DEVICE = kept
        made.append((many - few) / (many_done - few_done))
    return made


def main():
    failed = 0
    own, whole = per_message(sys.argv[1], "one_post_one_poll")
    print(f"one post, one poll: {own:.1f} instructions, {whole:.1f} with the device's")
    for test in TESTS:
        relay_own, relay = per_message(sys.argv[1], test)
        bad = test in BOUNDED and relay > MOST * whole
        failed += bad
        print(f"{test}: {relay_own:.1f} instructions, {relay:.1f} with the device's, {relay / whole:.2f} times as many"
              f"{f': TOO MANY, at most {MOST}' if bad else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
