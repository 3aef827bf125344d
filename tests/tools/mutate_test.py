#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/mutate makes of code, and that it leaves the code as it was. Builds nothing."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOOL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "tools", "mutate")
loader = importlib.machinery.SourceFileLoader("mutate", TOOL)
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)


def changes(text):
    return [mutant.after for mutant in mutate.mutants_of("a.cpp", text)]


class Mutants(unittest.TestCase):
    def test_change_one_place_of_a_line(self):
        self.assertEqual(changes("  return a < b;"), ["  return a <= b;", "  return a > b;", "  return {};"])
        self.assertEqual(changes("  x = a - b * 2;"),
                         ["  x = a + b * 2;", "  x = a - b / 2;", "  x = a - b * 3;", "  ;"])
        self.assertEqual(changes("  if (done(x)) y();"), ["  if (!(done(x))) y();"])
        self.assertEqual(changes("  if (const int e = f(); g(e))"), ["  if (const int e = f(); !(g(e)))"])
        self.assertEqual(changes("  values.push_back(x);"), ["  ;"])
        self.assertEqual(changes("  bool wide = false;"), ["  bool wide = true;"])

    def test_leave_comments_literals_and_declarations_alone(self):
        for line in ("// a < b", 'f("1 + 2")', "#if A == 1", "template <class A, int = 3>", "/* a\n   < b */",
                     "  static_assert(kBits == 11);", "  return;"):
            self.assertEqual(changes(line), [], line)

    def test_leave_the_first_values_of_fields_alone(self):
        self.assertEqual(list(mutate.mutants_of("a.h", "  double low = 0, high = 1;\n  std::size_t n = 0;  ///< n")), [])
        self.assertEqual(len(list(mutate.mutants_of("a.h", "  double floor = 0.03;"))), 1)

    def test_are_drawn_by_the_seed_as_many_of_each_file(self):
        all_of = [mutate.Mutant(file, line, "", "", "") for file, lines in (("a", 50), ("b", 2)) for line in range(lines)]
        chosen = mutate.choose(all_of, 10, 3)
        self.assertEqual(chosen, mutate.choose(all_of, 10, 3))
        self.assertNotEqual(chosen, mutate.choose(all_of, 10, 4))
        self.assertEqual([mutant.file for mutant in chosen].count("b"), 2)
        self.assertEqual(len(set(mutate.choose(all_of, 1000, 3))), 52)

    def test_of_every_file_that_is_named_are_there(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(TOOL)))
        for pattern in mutate.CODE:
            self.assertTrue(any(mutate.fnmatch.fnmatch(os.path.relpath(os.path.join(folder, file), root), pattern)
                                for top in ("core", "reports") for folder, _, files in os.walk(os.path.join(root, top))
                                for file in files), pattern)


class Judged(mutate.Tree):
    """A tree whose programs end as they are told; it keeps what they saw."""

    def __init__(self, path, outcomes, builds=True):
        self.path, self.outcomes, self.builds, self.seen = path, outcomes, builds, []

    def make(self, programs):
        return "" if self.builds else "error: expected ';'"

    def test(self, program, limit):
        with open(os.path.join(self.path, "a.cpp"), encoding="utf-8") as file:
            self.seen.append(file.read())
        return self.outcomes[program]


class Judging(unittest.TestCase):
    TEXT = "int f(int a) {\n  return a + 1;\n}\n"

    def outcome_of(self, outcomes, builds=True):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.cpp")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.TEXT)
            tree = Judged(folder, outcomes, builds)
            outcome = tree.judge(next(mutate.mutants_of("a.cpp", self.TEXT)), list(outcomes), dict.fromkeys(outcomes))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), self.TEXT)
            for seen in tree.seen:
                self.assertEqual(seen, self.TEXT.replace("+", "-"))
            return outcome, len(tree.seen)

    def test_ends_at_the_first_program_that_notices(self):
        self.assertEqual(self.outcome_of({"x": "passed", "y": "failed", "z": "passed"}), ("caught", 2))
        self.assertEqual(self.outcome_of({"x": "hang", "y": "failed"}), ("hang", 1))

    def test_tells_survivors_from_what_cannot_be_built(self):
        self.assertEqual(self.outcome_of({"x": "passed", "y": "passed"}), ("survived", 2))
        self.assertEqual(self.outcome_of({"x": "passed"}, builds=False), ("compiler", 0))


if __name__ == "__main__":
    unittest.main()
