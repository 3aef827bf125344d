#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which is slow: a rank, the path between two ranks, or one direction of it. Delays are injected, long beside what a busy machine does."""
import subprocess

import rdmameter
from topo_test import Topo

RANKS = 4
EXCESS_MS = 60  # of a slow round trip; a usual one takes 2 * 2 ms
SEEDS = ((1, 0, 3), (2, 2, 1), (3, 1, 2))  # and the ranks a and b in question


def qp_of(rank, peer):
    """Which of the QPs that a rank of a mesh creates leads to a peer, counted from 1."""
    return peer + 1 if peer < rank else peer


@rdmameter.on(rdmameter.SOFTWARE)
class SlowPairs(Topo):
    def run_ranks(self, delays, *arguments):
        """Delays [ms] by rank and peer: what the rank sends to this peer arrives so much later."""
        slow = [",".join(f"{qp_of(rank, peer)}={delay}ms" for (sender, peer), delay in delays.items() if sender == rank)
                for rank in range(RANKS)]
        return self.mpirun("pairs", "latency=2ms", slow, "mesh", "--traffic", "pairs", "--size", "8", "--iterations", "3",
                           "--warmup", "0", "--patience", "30", *arguments, status=rdmameter.PASS)

    def assert_found(self, seed, delays, verdict, *ranks):
        done = self.run_ranks(delays, "--judge-shared", "--seed", str(seed))
        straggler = done.rows[0]["topology"]["straggler"]
        self.assertEqual((straggler["verdict"], *(straggler[key] for key in ("rank", "to") if key in straggler)), (verdict, *ranks),
                         done.rows[0]["topology"])
        self.assertGreater(straggler["factor"], 1.33)
        self.assertGreater(straggler["measured_again"], 0)
        return done

    def test_a_slow_node_is_named(self):
        for seed, node, _ in SEEDS:
            with self.subTest(node):
                done = self.assert_found(seed, {(node, peer): EXCESS_MS for peer in range(RANKS) if peer != node}, "node", node)
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertRegex(" ".join(shown.split()), rf"! rank {node} \(\S+\) takes \S+ times as long as the others, with every peer")

    def test_a_slow_path_is_named(self):
        for seed, a, b in SEEDS:
            with self.subTest((a, b)):
                self.assert_found(seed, {(a, b): EXCESS_MS // 2, (b, a): EXCESS_MS // 2}, "path", min(a, b), max(a, b))

    def test_a_slow_direction_is_named(self):
        for seed, a, b in SEEDS:
            with self.subTest((a, b)):
                self.assert_found(seed, {(a, b): EXCESS_MS}, "direction", a, b)

    def test_pairs_go_in_rounds_and_nobody_is_judged_where_ranks_share_cores(self):
        [row] = self.run_ranks({}, "--wait", "yield").rows
        data = row["topology"]
        self.assertEqual(data["rounds"], RANKS - 1)
        self.assertEqual(row["latency"]["count"], 3 * RANKS * (RANKS - 1))
        self.assertNotIn("straggler", data)
        self.assertEqual(row["case"]["seed"], 1)
        for rank, times in enumerate(data["matrix_ns"]):
            self.assertEqual([time is None for time in times], [rank == to for to in range(RANKS)])

    def test_a_sample_has_so_many_partners_of_each_rank(self):
        [row] = self.run_ranks({}, "--pairs", "sampled:2", "--seed", "5").rows
        self.assertEqual(row["topology"]["rounds"], 2)
        for rank, times in enumerate(row["topology"]["matrix_ns"]):
            self.assertEqual(sum(time is not None for time in times), 2, row["topology"]["matrix_ns"])
            for to, time in enumerate(times):
                self.assertEqual(time is None, row["topology"]["matrix_ns"][to][rank] is None)

    def test_streams_of_pairs_have_a_bandwidth_for_each_direction(self):
        """A QP whose acknowledgements take long has its window full: a sixteenth of that for each message."""
        excess = 160
        slow = ["", f"{qp_of(1, 2)}={excess}ms", "", ""]
        done = self.mpirun("streams", "latency=2ms", slow, "mesh", "--traffic", "pairs-bw", "--size", "1K", "--iterations", "48",
                           "--depth", "16", "--warmup", "0", "--wait", "yield", "--verify", status=rdmameter.PASS)
        [row] = done.rows
        data = row["topology"]
        self.assertEqual(data["rounds"], RANKS - 1)
        self.assertEqual(row["bandwidth"]["messages"], 48 * RANKS * (RANKS - 1))
        self.assertEqual(row["verified_bytes"], 48 * RANKS * (RANKS - 1) * 1024)
        self.assertNotIn("straggler", data)
        usual = sorted(time for times in data["matrix_ns"] for time in times if time is not None)[4]
        self.assertGreater(data["matrix_ns"][1][2], 1.9 * excess * 1e6 / 48)
        self.assertLess(usual, excess * 1e6 / 48)
        shown = " ".join(subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True, timeout=60).stdout.split())
        self.assertRegex(shown, r"bandwidth between ranks: mesh.* [kM]b/s")
        self.assertRegex(shown, r"up to [\d.]+")

    def test_streams_of_pairs_write_and_read_and_go_by_datagrams(self):
        for graph, *arguments in (("mesh", "--opcode", "write"), ("mesh", "--opcode", "read"), ("udmesh",), ("ring",),
                                  ("mesh", "--transport", "uc")):
            with self.subTest([graph, *arguments]):
                done = self.mpirun("streams", "latency=100us", [""] * RANKS, graph, "--traffic", "pairs-bw", "--size", "512", "--iterations", "20",
                                   "--wait", "yield", "--verify", *arguments, status=rdmameter.PASS)
                [row] = done.rows
                self.assertEqual(row["bandwidth"]["messages"], 20 * RANKS * (RANKS - 1), row)
                self.assertGreater(row["verified_bytes"], 0)
                for rank, times in enumerate(row["topology"]["matrix_ns"]):
                    self.assertEqual([time is None for time in times], [rank == to for to in range(RANKS)])

    def test_what_is_no_choice_of_pairs_is_refused(self):
        done = self.topo("mesh", "--ranks", "2", "--pairs", "sampled:0", status=rdmameter.USAGE)
        self.assertIn("--pairs sampled:0", done.stderr)
        self.assertIn("sampled:K", done.stderr)


if __name__ == "__main__":
    rdmameter.main()
