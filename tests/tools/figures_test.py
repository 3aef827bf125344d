#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/summarize-tests and tools/house tell. Builds nothing."""
import json
import os
import subprocess
import tempfile
import unittest

TOOLS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools")


def told(tool, *arguments):
    return subprocess.run([os.path.join(TOOLS, tool), *arguments], check=True, capture_output=True, text=True).stdout


class Summary(unittest.TestCase):
    def summary(self, cpu_s):
        """Of twelve tests, the slowest of which took 12 s, and of a build."""
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/log.json", "w", encoding="ascii") as log:
                for seconds in range(1, 13):
                    log.write(json.dumps({"name": f"unit / t{seconds}", "result": "OK", "duration": seconds, "stdout": ""}) + "\n")
            with open(f"{folder}/log.junit.xml", "w", encoding="ascii") as junit:
                junit.write("<testsuites/>")
            with open(f"{folder}/times", "w", encoding="ascii") as times:
                times.write(f"40 30 5 unit\n90 {cpu_s} 0 build build\n")
            return told("summarize-tests", "--times", f"{folder}/times", "--wall", "120", "--most", "45", f"unit={folder}/log")

    def test_has_wall_and_cpu_time_of_each_suite_and_build_and_of_all(self):
        text = self.summary(85)
        self.assertRegex(text, r"(?m)^suite +passed +failed +skipped +wall \[s\] +CPU \[s\]\nunit +12 +0 +0 +40 +35\nbuild build +90 +85$")
        self.assertIn("\n2.0 CPU minutes (user and system), 2.0 minutes\n", text)
        self.assertTrue(text.endswith("\n12 passed, 0 failed, 0 skipped\n"), text)

    def test_names_the_ten_slowest(self):
        slowest = self.summary(85).partition("\nslowest:\n")[2].splitlines()[:10]
        self.assertEqual([line.split()[-1] for line in slowest], [f"t{seconds}" for seconds in range(12, 2, -1)])
        self.assertNotIn(" t2\n", self.summary(85))

    def test_says_so_where_it_took_more_than_it_should(self):
        self.assertIn("\nThat is more than 45 CPU minutes: this machine is slow or busy, or", self.summary(2700))
        self.assertNotIn("That is more", self.summary(2600))


class House(unittest.TestCase):
    def test_counts_what_a_reader_meets(self):
        if not os.path.exists(os.path.join(TOOLS, "..", ".git")):
            self.skipTest("the list of files is git's")
        text = told("house")
        for name in ("files", "lines", "lines of code", "tokens", "one-word comment lines"):
            self.assertRegex(text, rf"(?m)^{name} +[\d,]+$")
        self.assertRegex(text, r"(?m)^files that a command reaches by its includes\n(  [\w-]+ +\d+\n)+\nfiles in a folder\n(  [\w/]+ +\d+\n)+$")


if __name__ == "__main__":
    unittest.main()
