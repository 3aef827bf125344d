#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds our statistics to scipy's and to brute force, to 1e-9.

Usage: stats_oracle_test.py DRIVER
"""
import itertools
import json
import math
import random
import subprocess
import sys
import unittest

try:
    import numpy
    from scipy import stats
except ImportError:
    print("skipped: python3-scipy is not installed")
    sys.exit(77)

DRIVER = None
ALTERNATIVES = {"greater": "greater", "less": "less", "two_sided": "two-sided"}


def ask(*questions):
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    result = subprocess.run([DRIVER], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.splitlines()]


def rank_sum(y, x, axis):
    """Of y, by the ranks of both together; scipy permutes along the axis."""
    ranks = stats.rankdata(numpy.concatenate([y, x], axis=axis), axis=axis)
    return numpy.take(ranks, range(y.shape[axis]), axis=axis).sum(axis=axis)


def permutation_p(x, y, alternative):
    return stats.permutation_test((y, x), rank_sum, permutation_type="independent", vectorized=True,
                                  n_resamples=math.inf, alternative=alternative).pvalue


def benjamini_hochberg(p):
    """The ten-line reference: the definition, in quadratic time."""
    q = []
    for own in p:
        above = [other for other in p if other >= own]
        q.append(min(1, *[other * len(p) / sum(each <= other for each in p) for other in above], 1))
    return q


def samples(seed, m, n, distinct):
    generator = random.Random(seed)
    draw = lambda: 1 + generator.randrange(distinct)
    return {"x": [draw() for _ in range(m)], "y": [draw() for _ in range(n)]}


QUESTIONS = [samples(seed, m, n, distinct) for seed, (m, n, distinct) in enumerate(
    itertools.product((2, 5, 7), (3, 5, 6), (3, 8, 10**6)))]


class Oracles(unittest.TestCase):
    def test_mann_whitney_is_scipys_permutation_test(self):
        for question, answer in zip(QUESTIONS, ask(*QUESTIONS)):
            for ours, theirs in ALTERNATIVES.items():
                expected = permutation_p(question["x"], question["y"], theirs)
                self.assertAlmostEqual(answer[ours], expected, delta=1e-9, msg=(question, ours))

    def test_mann_whitney_is_scipys_exact_one_without_ties(self):
        question = samples(1, 14, 13, 10**9)
        [answer] = ask(question)
        for ours, theirs in ALTERNATIVES.items():
            expected = stats.mannwhitneyu(question["y"], question["x"], alternative=theirs, method="exact")
            self.assertAlmostEqual(answer[ours], expected.pvalue, delta=1e-9)

    def test_mann_whitney_of_many_is_scipys_asymptotic_one(self):
        question = samples(2, 60, 50, 40)
        [answer] = ask(question)
        expected = stats.mannwhitneyu(question["y"], question["x"], alternative="greater", method="asymptotic")
        self.assertAlmostEqual(answer["greater"], expected.pvalue, delta=1e-9)

    def test_hodges_lehmann_is_that_of_brute_force(self):
        for question, answer in zip(QUESTIONS, ask(*QUESTIONS)):
            logs = [math.log(y) - math.log(x) for x in question["x"] for y in question["y"]]
            expected = math.exp(numpy.median(logs))
            self.assertTrue(math.isclose(answer["ratio"], expected, rel_tol=1e-9), question)

    def test_benjamini_hochberg_is_that_of_its_definition(self):
        generator = random.Random(3)
        questions = [{"p": [round(generator.random() ** 3, digits) for _ in range(size)]}
                     for size in (1, 2, 10, 100) for digits in (2, 9)]
        for question, answer in zip(questions, ask(*questions)):
            for ours, expected in zip(answer["q"], benjamini_hochberg(question["p"])):
                self.assertAlmostEqual(ours, expected, delta=1e-9)


if __name__ == "__main__":
    DRIVER = sys.argv.pop(1)
    unittest.main()
