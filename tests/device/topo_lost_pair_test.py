#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A path between two ranks over which nothing gets through: its pair is told as failed, and the others are measured."""
import subprocess

import rdmameter
from topo_pairs_test import RANKS, qp_of
from topo_test import Topo

A, B = 1, 3

@rdmameter.on(rdmameter.SOFTWARE)
class LostPairs(Topo):
    def run_ranks(self, lost, *arguments):
        """@param lost  by rank the QPs, as it creates them, whose messages get lost"""
        silent = [",".join(f"{number}=lost" for number in lost.get(rank, ())) for rank in range(RANKS)]
        return self.mpirun("lost", "latency=100us", silent, *arguments, "--traffic", "pairs", "--size", "8", "--iterations", "3",
                           "--warmup", "1", "--wait", "yield", "--retry-count", "1", status=rdmameter.FAILED)

    def assert_only_lost(self, done, *cells):
        [row] = done.rows
        data = row["topology"]
        self.assertEqual({(pair["from"], pair["to"]) for pair in data["failed_pairs"]}, set(cells), data)
        for rank, times in enumerate(data["matrix_ns"]):
            self.assertEqual([time is None for time in times],
                             [rank == to or (rank, to) in cells for to in range(RANKS)], data)
        self.assertEqual(row["latency"]["count"], 3 * (RANKS * (RANKS - 1) - len(cells)))
        self.assertNotIn("straggler", data)
        return data

    def test_a_path_that_loses_everything_fails_its_pair_alone(self):
        done = self.run_ranks({A: [qp_of(A, B)], B: [qp_of(B, A)]}, "mesh", "--patience", "20")
        data = self.assert_only_lost(done, (A, B), (B, A))
        for pair in data["failed_pairs"]:
            self.assertRegex(pair["reason"], rf"rank ({A}|{B}): IBV_WC_RETRY_EXC_ERR .* towards rank ({A}|{B})")
        self.assertIn("pairs of ranks failed in 1 of 1 measurements", done.stderr)
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertRegex(" ".join(shown.split()), rf"! between rank {A} \(\S+\) and rank {B} \(\S+\) failed: .*RETRY_EXC")

    def test_who_waits_for_an_answer_gives_up_and_the_other_one_tells_why(self):
        done = self.run_ranks({B: [qp_of(B, A)]}, "mesh", "--patience", "8")  # A begins
        data = self.assert_only_lost(done, (A, B), (B, A))
        self.assertRegex(data["failed_pairs"][0]["reason"], rf"rank {B}: IBV_WC_RETRY_EXC_ERR .* towards rank {A}")

    def test_the_barrier_goes_around_a_path_that_is_lost_to_it_too(self):
        # Of the first attempt the graph's QP and the barrier's, of the second one the graph's.
        done = self.run_ranks({A: [3, 6, 9], B: [2, 5, 8]}, "mesh", "--patience", "6")
        data = self.assert_only_lost(done, (A, B), (B, A))
        self.assertEqual(data["barrier_qps"], 2 * (RANKS - 1))  # of a tree


if __name__ == "__main__":
    rdmameter.main()
