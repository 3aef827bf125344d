#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/mutate makes of code, and that it leaves the code as it was. Builds nothing."""
import importlib.machinery
import importlib.util
import os
import platform
import subprocess
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
        self.assertEqual(changes("  x =\n      f(y);"), [])

    def test_leave_comments_literals_and_declarations_alone(self):
        for line in ("// a < b", 'f("1 + 2")', "#if A == 1", "template <class A, int = 3>", "/* a\n   < b */",
                     "  static_assert(kBits == 11);", "  return;"):
            self.assertEqual(changes(line), [], line)

    def test_leave_alone_what_makes_no_difference_here(self):
        for line in ("  values.reserve(n + 1);", "  assert(a < b);", "  return false;", '  return "";', "struct A {\n  int b = 0;\n};"):
            self.assertNotIn("{}", "".join(changes(line)))
            self.assertLessEqual(len(changes(line)), line.endswith("false;"), line)
        self.assertEqual(changes('  return "a";'), ["  return {};"])
        self.assertEqual(len(changes("struct A {\n};\n  int b = 0;")), 1)
        of_architectures = ("#if defined(__x86_64__)\n  return a < b;\n#elif defined(__aarch64__)\n  return a > b;\n"
                            "#else\n  return 0;\n#endif")
        for mutant in mutate.mutants_of("a.cpp", of_architectures):
            self.assertEqual(mutant.line, {"x86_64": 2, "aarch64": 4}[platform.machine()], mutant)

    def test_leave_the_first_values_of_fields_alone(self):
        self.assertEqual(list(mutate.mutants_of("a.h", "  double low = 0, high = 1;\n  std::size_t n = 0;  ///< n\n"
                                                 "  bool known = false;\n  virtual int f() const = 0;")), [])
        self.assertEqual(len(list(mutate.mutants_of("a.h", "  double floor = 0.03;"))), 1)

    def test_are_drawn_by_the_seed_as_many_of_each_file(self):
        all_of = [mutate.Mutant(file, line, "", "", "", lambda on: [(0, 1, on)])
                  for file, lines in (("a", 50), ("b", 2)) for line in range(lines)]
        chosen = mutate.choose(all_of, 10, 3)
        self.assertEqual(chosen, mutate.choose(all_of, 10, 3))
        self.assertNotEqual(chosen, mutate.choose(all_of, 10, 4))
        self.assertEqual([mutant.file for mutant in chosen].count("b"), 2)
        self.assertEqual(len(set(mutate.choose(all_of, 1000, 3))), 52)

    def test_that_drop_a_statement_leave_the_else_behind_it_to_its_if(self):
        text = "// the licence\n  if (a)\n    b = c;\n  else\n    d = e;\n"
        drops = {number: mutant for number, mutant in enumerate(mutate.mutants_of("a.cpp", text)) if mutant.operator == "statement"}
        lines = mutate.with_switches(text, drops).split("\n")
        self.assertRegex(lines[2], r"^    \{ if \(!mutant::on\(\d\)\) b = c; \}$")

    def test_of_one_place_are_never_in_one_build(self):
        mutants = list(mutate.mutants_of("a.cpp", "  x = a < b;"))
        self.assertEqual([mutant.operator for mutant in mutants], ["boundary", "comparison", "statement"])
        self.assertEqual(len(mutate.choose(mutants, 3, 1)), 2)

    def test_of_every_file_that_is_named_are_there(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(TOOL)))
        for pattern in mutate.CODE:
            self.assertTrue(any(mutate.fnmatch.fnmatch(os.path.relpath(os.path.join(folder, file), root), pattern)
                                for top in ("core", "reports", "topologies") for folder, _, files in os.walk(os.path.join(root, top))
                                for file in files), pattern)


SOURCE = """// the licence
#include <cstdio>
constexpr int kLimit = 3;
int twice(int a) {
  return a * 2;
}
int main() {
  int sum = 0;
  for (int i = 0; i < kLimit; ++i) sum += twice(i);
  if (sum >= 6 && sum != 7) std::puts("in");
  std::printf("%d\\n", sum);
}
"""


class Switches(unittest.TestCase):
    """Of all mutants of SOURCE, each is on in one build exactly where it is asked for."""

    def outputs(self, mutants):
        """What the program prints with each of `mutants`, by number; of 0: without any."""
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "a.cpp"), os.path.join(folder, "a")
            with open(source, "w", encoding="utf-8") as file:
                file.write(mutate.with_switches(SOURCE, mutants))
            root = os.path.dirname(os.path.dirname(os.path.realpath(TOOL)))
            subprocess.run(["c++", "-std=c++20", "-w", "-I", root, source, "-o", program], check=True)
            return {number: subprocess.run([program], env=dict(os.environ, RDMAMETER_MUTANT=str(number)), text=True,
                                           stdout=subprocess.PIPE, check=True).stdout for number in [0, *mutants]}

    def test_do_what_the_change_says(self):
        expected = {"  return a / 2;": "1\n", "  return a * 3;": "in\n9\n", "constexpr int kLimit = 4;": "in\n12\n",
                    "  for (int i = 0; i <= kLimit; ++i) sum += twice(i);": "in\n12\n",
                    "  for (int i = 0; i < kLimit; ++i) sum -= twice(i);": "-6\n", "  int sum = 1;": "7\n",
                    "  if (sum > 6 && sum != 7) std::puts(\"in\");": "6\n",
                    "  if (sum >= 6 && sum == 7) std::puts(\"in\");": "6\n", "  ;": "in\n"}
        mutants = {number: one for number, one in enumerate(mutate.mutants_of("a.cpp", SOURCE), 1) if one.after in expected}
        self.assertEqual(len(mutants), len(expected))
        outputs = self.outputs(mutants)
        self.assertEqual(outputs.pop(0), "in\n6\n")
        self.assertEqual({mutants[number].after: text for number, text in outputs.items()}, expected)

    def test_that_cannot_be_built_are_named(self):
        mutants = dict(enumerate(mutate.mutants_of("a.cpp", SOURCE), 1))
        in_line = lambda line: {number for number, mutant in mutants.items() if mutant.line == line}
        self.assertEqual(mutate.blamed("../a.cpp:5:3: error: no\n../a.cpp:9:3: note: here", mutants), in_line(5))
        self.assertEqual(mutate.blamed("../a.cpp:4:3: error: no\n../a.cpp:5:3: note: here", mutants), in_line(5))
        self.assertEqual(mutate.blamed("../a.cpp:4:3: error: no", mutants), {max(in_line(3))})
        self.assertEqual(mutate.blamed("/tmp/mutate-x/tree/build/../a.cpp:5:3: error: no", mutants), in_line(5))
        self.assertEqual(mutate.blamed("../b.cpp:5:3: error: no", mutants), set())


class Told(mutate.Tree):
    """A tree whose programs end as they are told."""

    def __init__(self, outcomes):
        self.outcomes = outcomes

    def test(self, program, limit, variables):
        return self.outcomes[program]


class Judging(unittest.TestCase):
    def outcome_of(self, **outcomes):
        return Told(outcomes).judge(1, list(outcomes), dict.fromkeys(outcomes))

    def test_ends_at_the_first_program_that_notices(self):
        self.assertEqual(self.outcome_of(x="passed", y="failed", z="hang"), "caught")
        self.assertEqual(self.outcome_of(x="hang", y="failed"), "hang")
        self.assertEqual(self.outcome_of(x="compiler", y="failed"), "compiler")
        self.assertEqual(self.outcome_of(x="passed", y="passed"), "survived")


if __name__ == "__main__":
    unittest.main()
