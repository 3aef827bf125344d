#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`rdmameter ci` on the null device: from a plan to a verdict and its files.

Usage: ci_test.py PATH_OF_RDMAMETER [unittest's arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM = None
PASS, REGRESSION, USAGE, NOT_PROVEN = 0, 1, 2, 3
ARTEFACTS = {"new.json", "report.html", "junit.xml", "summary.md", "annotations.txt"}
PLAN = """
gates = {gates}
[[suite]]
tests = ["write_lat"]
axes = {{ device = "null", size = 64, iterations = 1000 }}
"""


class Ci(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def plan(self, gates, text=PLAN):
        with open(self.path("plan.toml"), "w", encoding="utf-8") as file:
            file.write(text.format(gates=json.dumps(gates)))
        return self.path("plan.toml")

    def ci(self, gates, *more, out="out", plan=PLAN):
        return subprocess.run([PROGRAM, "ci", "--plan", self.plan(gates, plan), "--out", self.path(out), *more],
                              capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)

    def base(self):
        result = self.ci(["work"], out="base")
        self.assertEqual(result.returncode, NOT_PROVEN, result.stderr)
        return self.path("base/new.json")

    def runs(self, out="out"):
        return sum(name.startswith("run") for name in os.listdir(self.path(out)))

    def test_without_a_base_measures_and_proves_nothing(self):
        result = self.ci(["work"])
        self.assertEqual(result.returncode, NOT_PROVEN, result.stderr)
        self.assertIn("Nothing is judged without --base", result.stdout)
        self.assertLessEqual({"new.json", "report.html"}, set(os.listdir(self.path("out"))))

    def test_takes_one_run_where_no_time_is_judged_and_writes_every_artefact(self):
        result = self.ci(["work"], "--base", self.base())
        self.assertEqual(result.returncode, PASS, result.stdout + result.stderr)
        self.assertEqual(self.runs(), 1)
        self.assertLessEqual(ARTEFACTS, set(os.listdir(self.path("out"))))
        xml.etree.ElementTree.parse(self.path("out/junit.xml"))

    def test_ends_with_1_where_a_gate_is_not_kept_and_annotates_it(self):
        result = self.ci(["work", "* latency.p50 <= 1ns"], "--base", self.base(), "--github")
        self.assertEqual(result.returncode, REGRESSION, result.stdout + result.stderr)
        self.assertIn("::error", result.stdout)
        self.assertEqual(result.stdout.count("::error"), self.text("out/annotations.txt").count("::error"))

    def test_measures_five_runs_at_least_where_times_are_judged(self):
        result = self.ci(["times"], "--base", self.base(), "--markdown", self.path("page.md"))
        self.assertIn(result.returncode, (PASS, REGRESSION, NOT_PROVEN), result.stderr)
        self.assertIn(self.runs(), (5, 10))
        self.assertEqual(self.text("out/summary.md").count("## "), 1)
        self.assertEqual(self.text("page.md"), self.text("out/summary.md"))

    def test_names_a_case_that_vanished_in_every_output_and_with_strict_proves_nothing(self):
        gone = "size:128/"
        self.ci(["work"], out="base", plan=PLAN.replace("size = 64", "size = [64, 128]"))
        for strict, status in (((), PASS), (("--strict",), NOT_PROVEN)):
            result = self.ci(["work"], "--base", self.path("base/new.json"), "--github", *strict)
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)
            self.assertIn("1 of BASE is not in NEW", result.stdout)
            self.assertRegex(result.stdout, rf"(?m)^::warning title=rdmameter%3A only in BASE::.*{gone}")
            for name in ("summary.md", "annotations.txt"):
                self.assertIn(gone, self.text("out/" + name))
            skipped = [case.get("name") for case in xml.etree.ElementTree.parse(self.path("out/junit.xml")).iter("testcase")
                       if case.find("skipped") is not None]
            self.assertTrue(any(gone in name for name in skipped), skipped)

    def test_tells_what_spoils_measurements_once_and_not_for_each_run(self):
        plan = PLAN.replace("write_lat", "tcp_lat").replace('device = "null", ', "")
        result = self.ci(["times"], "--runs", "3", "--", "--loopback", plan=plan)
        self.assertEqual(self.runs(), 3, result.stderr)
        self.assertLessEqual(result.stderr.count("remedies: rdmameter doctor"), 1, result.stderr)

    def test_measures_two_programs_in_turns(self):
        result = self.ci(["work"], "--base-binary", PROGRAM, "--runs", "2")
        self.assertEqual(result.returncode, PASS, result.stdout + result.stderr)
        self.assertLessEqual(ARTEFACTS, set(os.listdir(self.path("out"))))

    def test_leaves_no_verdict_of_an_earlier_job(self):
        os.mkdir(self.path("out"))
        with open(self.path("out/junit.xml"), "w", encoding="utf-8") as file:
            file.write("old")
        with open(self.path("verdicts.xml"), "w", encoding="utf-8") as file:
            file.write("old")
        self.ci(["work"], "--junit", self.path("verdicts.xml"))
        self.assertFalse(os.path.exists(self.path("out/junit.xml")))
        self.assertFalse(os.path.exists(self.path("verdicts.xml")))

    def test_any_gate_but_work_takes_five_runs(self):
        result = self.ci(["work", "* p50=500%"], "--base", self.base())
        self.assertEqual(result.returncode, PASS, result.stdout + result.stderr)
        self.assertEqual(self.runs(), 5)

    def test_refuses_what_cannot_be_judged_before_it_measures(self):
        for more, says in ((("--base", "nowhere.json"), "nowhere.json: cannot be read"),
                           (("--base", "a", "--base-binary", "b"), "give one"),
                           (("--base-binary", "./no_program"), "--base-binary ./no_program: cannot be executed"),
                           (("--runs", "0"), "--runs"), (("--gate", "nonsense"), "nonsense"),
                           (("--", "-o", "x.json"), "ci: -o cannot stand after --: --out has the results"),
                           (("--", "-ox.json"), "ci: -o cannot stand after --: --out has the results")):
            result = self.ci(["work"], *more)
            self.assertEqual(result.returncode, USAGE, more)
            self.assertIn(says, result.stderr)
            self.assertNotIn("run 1", result.stderr)

    def test_refuses_a_base_that_it_would_write_anew(self):
        base = self.base()
        result = self.ci(["work"], "--base", base, out="base")
        self.assertEqual(result.returncode, USAGE, result)
        self.assertIn("would be compared with itself", result.stderr)
        self.assertTrue(os.path.exists(base))
        os.symlink(base, self.path("link.json"))
        self.assertEqual(self.ci(["work"], "--base", self.path("link.json"), out="base").returncode, USAGE)
        os.rename(base, self.path("base/kept.json"))
        self.assertEqual(self.ci(["work"], "--base", self.path("base/kept.json"), out="base").returncode, PASS)

    def test_says_where_the_host_stands(self):
        result = self.ci(["work"], plan=PLAN.replace('device = "null", ', ""))
        self.assertEqual(result.returncode, USAGE, result)
        self.assertIn("run 1 ended with status 2: after -- stands what 'run' takes besides the plan", result.stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
