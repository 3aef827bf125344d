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
    from scipy import optimize, special, stats
except ImportError:
    print("skipped: python3-scipy is not installed")
    sys.exit(77)

DRIVER = None
ALTERNATIVES = ("greater", "less")


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


def holm(p):
    """Step-down, by its definition."""
    order = sorted(range(len(p)), key=p.__getitem__)
    return [max(min(1, (len(p) - place) * p[order[place]]) for place in range(order.index(own) + 1)) for own in range(len(p))]


def samples(seed, m, n, distinct):
    generator = random.Random(seed)
    draw = lambda: 1 + generator.randrange(distinct)
    return {"x": [draw() for _ in range(m)], "y": [draw() for _ in range(n)]}


def samples_with_u(m, n, u):
    """A first sample of m whose U against the second, of n, is u, without ties."""
    above = [min(n, max(0, u - i * n)) for i in range(m)]  # of each, how many of the second it exceeds
    return [10 * count + i / m for i, count in enumerate(above)], [10 * i + 5 for i in range(n)]


QUESTIONS = [samples(seed, m, n, distinct) for seed, (m, n, distinct) in enumerate(
    itertools.product((2, 5, 7), (3, 5, 6), (3, 8, 10**6)))]


class Oracles(unittest.TestCase):
    def test_mann_whitney_is_scipys_permutation_test(self):
        for question, answer in zip(QUESTIONS, ask(*QUESTIONS)):
            for side in ALTERNATIVES:
                expected = permutation_p(question["x"], question["y"], side)
                self.assertAlmostEqual(answer[side], expected, delta=1e-9, msg=(question, side))

    def test_mann_whitney_is_scipys_exact_one_without_ties(self):
        question = samples(1, 14, 13, 10**9)
        [answer] = ask(question)
        for side in ALTERNATIVES:
            expected = stats.mannwhitneyu(question["y"], question["x"], alternative=side, method="exact")
            self.assertAlmostEqual(answer[side], expected.pvalue, delta=1e-9)

    def test_mann_whitney_of_many_is_scipys_asymptotic_one(self):
        question = samples(2, 60, 50, 40)
        [answer] = ask(question)
        expected = stats.mannwhitneyu(question["y"], question["x"], alternative="greater", method="asymptotic")
        self.assertAlmostEqual(answer["greater"], expected.pvalue, delta=1e-9)

    def test_hodges_lehmann_is_that_of_brute_force(self):
        for question, answer in zip(QUESTIONS, ask(*QUESTIONS)):
            expected = numpy.median([y - x for x in question["x"] for y in question["y"]])
            self.assertTrue(math.isclose(answer["shift"], expected, rel_tol=1e-9, abs_tol=1e-9), question)

    def test_benjamini_hochberg_is_that_of_its_definition(self):
        generator = random.Random(3)
        questions = [{"p": [round(generator.random() ** 3, digits) for _ in range(size)]}
                     for size in (1, 2, 10, 100) for digits in (2, 9)]
        for question, answer in zip(questions, ask(*questions)):
            for ours, expected in zip(answer["q"], benjamini_hochberg(question["p"])):
                self.assertAlmostEqual(ours, expected, delta=1e-9)

    def test_rank_interval_is_that_of_scipys_exact_distribution(self):
        for question, answer in zip(QUESTIONS, ask(*QUESTIONS)):
            m, n = len(question["x"]), len(question["y"])
            # scipy's p-value of U, for samples made to have it: the rank of the bound by definition.
            tail = lambda u: stats.mannwhitneyu(*samples_with_u(m, n, u), alternative="less", method="exact").pvalue
            rank = next(u for u in range(m * n + 1) if tail(u) > 0.025)
            differences = sorted(y - x for x in question["x"] for y in question["y"])
            if rank == 0:
                self.assertEqual((answer["low"], answer["high"]), (None, None))
            else:
                self.assertEqual((answer["low"], answer["high"]), (differences[rank - 1], differences[-rank]))

    def test_student_t_is_scipys(self):
        questions = [{"t": t, "degrees": degrees} for t in (-7.5, -1, 0, 0.3, 2, 6, 40)
                     for degrees in (0.5, 1, 8, 33.3, 1e4, 1e7)]
        for question, answer in zip(questions, ask(*questions)):
            expected = stats.t.sf(question["t"], question["degrees"])
            self.assertTrue(math.isclose(answer["above"], expected, rel_tol=1e-8, abs_tol=1e-300), question)
        questions = [{"above": above, "degrees": degrees} for above in (1e-6, 0.0003, 0.025, 0.7)
                     for degrees in (1, 8, 33.3, 1e4)]
        for question, answer in zip(questions, ask(*questions)):
            expected = stats.t.isf(question["above"], question["degrees"])
            self.assertTrue(math.isclose(answer["t"], expected, rel_tol=1e-8), question)

    def test_fisher_exact_is_scipys(self):
        questions = [{"fisher": [[a, m], [b, n]]} for m in (1, 5, 50) for n in (3, 15)
                     for a in range(0, m + 1, max(1, m // 4)) for b in range(0, n + 1, 3)]
        for question, answer in zip(questions, ask(*questions)):
            (a, m), (b, n) = question["fisher"]
            expected = stats.fisher_exact([[b, n - b], [a, m - a]], alternative="greater")[1]
            self.assertAlmostEqual(answer["p"], expected, delta=1e-9, msg=question)

    def test_sign_randomisation_is_scipys_permutation_test(self):
        generator = numpy.random.default_rng(4)
        for pairs, shift in ((3, 0), (7, 0.5), (10, 1)):
            differences = generator.normal(size=pairs) + shift
            [answer] = ask({"pairs": [differences.tolist()]})
            expected = stats.permutation_test((differences,), lambda x, axis: x.mean(axis=axis),
                                              permutation_type="samples", n_resamples=math.inf,
                                              vectorized=True, alternative="greater").pvalue
            self.assertAlmostEqual(answer["p"], expected, delta=1e-9)

    def test_sign_randomisation_of_members_is_that_of_its_definition(self):
        generator = numpy.random.default_rng(6)
        members = generator.normal(size=(3, 9)) + 0.4
        scaled = members / numpy.sqrt((members ** 2).sum(axis=1, keepdims=True))
        worst = [(scaled * signs).sum(axis=1).max() for signs in itertools.product((1, -1), repeat=9)]
        [answer] = ask({"pairs": members.tolist()})
        self.assertAlmostEqual(answer["p"], numpy.mean(numpy.array(worst) >= worst[0] - 1e-12), delta=1e-9)

    def test_factorial_effects_are_those_of_least_squares_and_their_tests_scipys(self):
        """A linear model of levels 0 and 1 with all pairs, fitted in each block."""
        generator = numpy.random.default_rng(8)
        for factors in range(1, 9):
            [answer] = ask({"factors": factors})
            design, blocks = answer["design"], 5
            levels = numpy.array([[row >> i & 1 for i in range(factors)] for row in design])
            pairs = list(itertools.combinations(range(factors), 2))
            columns = [numpy.ones(len(design)), *levels.T, *(levels[:, i] * levels[:, k] for i, k in pairs)]
            model = numpy.column_stack(columns)
            self.assertEqual(numpy.linalg.matrix_rank(model), len(columns), "nothing is mixed with anything else")
            values = generator.normal(size=(blocks, len(design))) + model @ generator.normal(size=len(columns))
            runs = [[row, block, values[block, at]] for block in range(blocks) for at, row in enumerate(design)]
            generator.shuffle(runs)
            [answer] = ask({"factors": factors, "runs": [[int(row), int(block), value] for row, block, value in runs]})
            fitted = numpy.linalg.lstsq(model, values.T, rcond=None)[0].T
            found = {1 << i | 1 << k: fitted[:, 1 + factors + at] for at, (i, k) in enumerate(pairs)}
            for i in range(factors):  # on average over the levels of the others
                found[1 << i] = fitted[:, 1 + i] + sum(each / 2 for key, each in list(found.items()) if key >> i & 1 and key != 1 << i)
            self.assertEqual({effect[0] for effect in answer["effects"]}, set(found))
            p = holm([stats.ttest_1samp(found[effect[0]], 0).pvalue for effect in answer["effects"]])
            for (key, value, low, high, adjusted), expected_p in zip(answer["effects"], p):
                self.assertAlmostEqual(value, found[key].mean(), delta=1e-9)
                expected = stats.t.interval(1 - 0.05 / len(found), blocks - 1, found[key].mean(), stats.sem(found[key]))
                numpy.testing.assert_allclose((low, high), expected, rtol=1e-7, atol=1e-9)
                self.assertAlmostEqual(adjusted, expected_p, delta=1e-9)

    def test_shared_variance_is_that_of_smyths_formulae(self):
        generator = numpy.random.default_rng(5)
        for spread, degrees in ((0.3, 8), (1, 8), (0.6, 3)):
            true = numpy.exp(spread * generator.normal(size=600))
            variances = true * generator.chisquare(degrees, size=600) / degrees
            [answer] = ask({"variances": [[v, degrees] for v in variances]})
            logs = numpy.log(variances) - special.digamma(degrees / 2) + math.log(degrees / 2)
            beyond = logs.var(ddof=1) - special.polygamma(1, degrees / 2)
            half = optimize.brentq(lambda x: special.polygamma(1, x) - beyond, 1e-6, 1e9)
            expected = math.exp(logs.mean() + special.digamma(half) - math.log(half))
            self.assertTrue(math.isclose(answer["degrees"], 2 * half, rel_tol=1e-6), answer)
            self.assertTrue(math.isclose(answer["variance"], expected, rel_tol=1e-9), answer)


if __name__ == "__main__":
    DRIVER = sys.argv.pop(1)
    unittest.main()
