#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tools/bisect names the commit that made a program slower, with a judge that is told the answer.

Usage: bisect_test.py BISECT
"""
import os
import subprocess
import sys
import tempfile
import unittest

BISECT = os.path.abspath(sys.argv.pop(1))

# What the programs of the commits say decides: 'ab' of this judge asks them.
JUDGE = """#!/bin/bash
[ "$1 $2 $4" = "ab --a --b" ] && [ "${*: -2}" = "-- case" ] || exit 2
[ "$(bash "$3")" = quick ] || exit 2
case $(bash "$5") in quick) exit 0 ;; slow) exit 1 ;; *) exit 3 ;; esac
"""


class Bisect(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name + "/repository"
        self.judge = folder.name + "/judge"
        with open(self.judge, "w", encoding="utf-8") as file:
            file.write(JUDGE)
        os.chmod(self.judge, 0o755)
        os.mkdir(self.folder)
        self.git("init", "--quiet")
        self.commits = []

    def git(self, *words):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=True).stdout

    def commit(self, *speeds):
        for number, speed in enumerate(speeds):
            with open(self.folder + "/source", "w", encoding="utf-8") as file:
                file.write(f"{speed} {number}")
            self.git("add", "source")
            self.git("commit", "--quiet", "-m", f"{number}: {speed}")
            self.commits.append(self.git("rev-parse", "HEAD").strip())

    def bisect(self, *words, ends=("case",), build='read -r speed rest <source; [ "$speed" != broken ] && echo "echo $speed" >program'):
        return subprocess.run([BISECT, "--build", build, "--program", "program", *words, "--", *ends], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "RDMAMETER": self.judge})

    def span(self):
        return f"{self.commits[0]}..{self.commits[-1]}"

    def test_names_the_commit_and_leaves_the_checkout_as_it_was(self):
        self.commit("quick", "quick", "quick", "slow", "slow", "slow")
        result = self.bisect(self.span())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{self.commits[3]} is the first bad commit", result.stdout)
        self.assertEqual(self.git("rev-parse", "HEAD").strip(), self.commits[-1])
        self.assertEqual(len(self.git("worktree", "list").splitlines()), 1)
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_skips_what_cannot_be_built_or_is_not_proven(self):
        self.commit("quick", "quick", "slow", "broken", "unclear", "slow", "slow")
        result = self.bisect(self.span())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{self.commits[2]} is the first bad commit", result.stdout)

    def test_that_only_skipped_commits_are_left_is_said(self):
        self.commit("quick", "broken", "slow")
        result = self.bisect(self.span())
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("only 'skip'ped commits left", result.stdout + result.stderr)

    def test_a_bad_that_is_not_worse_is_refused(self):
        self.commit("quick", "slow", "quick")
        result = self.bisect(self.span())
        self.assertEqual(result.returncode, 2)
        self.assertIn("BAD is not proven worse than GOOD", result.stderr)

    def test_wrong_use_is_refused(self):
        self.commit("quick", "slow")
        for words, says in (((self.commits[0],), "name two commits"), (("x..HEAD",), "x is no commit here"),
                            (("HEAD..HEAD~1",), "does not come before")):
            result = self.bisect(*words)
            self.assertEqual(result.returncode, 2)
            self.assertIn(says, result.stderr)
        bare = subprocess.run([BISECT, self.span()], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("after --, say what both sides measure", bare.stderr)


if __name__ == "__main__":
    unittest.main()
