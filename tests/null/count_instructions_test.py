#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tools/count-instructions puts a number that repeats into a result, and the work gate holds it.

Usage: count_instructions_test.py COUNT_INSTRUCTIONS RDMAMETER
"""
import json
import subprocess
import sys
import tempfile
import unittest

COUNT, PROGRAM = sys.argv[1:3]


def count(output, *arguments):
    return subprocess.run([COUNT, "--program", PROGRAM, "-o", output, *arguments], capture_output=True, text=True,
                          timeout=120, check=False)


class CountInstructions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base, self.more = folder.name + "/base.json", folder.name + "/more.json"

    def compare(self):
        return subprocess.run([PROGRAM, "compare", self.base, self.more, "--gate", "work"], capture_output=True,
                              text=True, timeout=60, check=False)

    def test_one_instruction_in_fifty_more_fails_the_work_gate(self):
        result = count(self.base, "write_lat", "--size", "64")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.base, encoding="utf-8") as file:
            made = json.load(file)
        [row] = made["benchmarks"]
        per_message = row["work"]["instructions"] / row["iterations"]
        self.assertTrue(80 < per_message < 400, per_message)
        for factor, status in ((1, 0), (1.02, 1)):
            row["work"]["instructions"] = round(per_message * factor * row["iterations"])
            with open(self.more, "w", encoding="utf-8") as file:
                json.dump(made, file)
            self.assertEqual(self.compare().returncode, status)

    def test_what_it_sets_itself_is_refused(self):
        result = count(self.base, "write_lat", "--iterations", "7")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--iterations is set by this script", result.stderr)

    def test_what_run_refuses_is_refused(self):
        result = count(self.base, "write_latt")
        self.assertEqual(result.returncode, 2)
        self.assertIn("did you mean 'write_lat'?", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
