#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A path between two ranks over which nothing gets through, or that a verb refuses: its pair is told as failed, and the others are measured."""
import subprocess

import rdmameter
from topo_pairs_test import RANKS, qp_of
from topo_test import Topo

A, B = 1, 3

@rdmameter.on(rdmameter.SOFTWARE)
class LostPairs(Topo):
    def run_ranks(self, lost, *arguments, traffic="pairs"):
        """@param lost  by rank the QPs, as it creates them, whose messages get lost"""
        silent = [",".join(f"{number}=lost" for number in lost.get(rank, ())) for rank in range(RANKS)]
        return self.mpirun("lost", "latency=100us", silent, *arguments, "--traffic", traffic, "--size", "8", "--iterations", "3",
                           "--warmup", "1", "--wait", "yield", "--retry-count", "1", status=rdmameter.FAILED)

    def assert_only_lost(self, done, *cells):
        [row] = done.rows
        data = row["topology"]
        self.assertEqual({(pair["from"], pair["to"]) for pair in data["failed_pairs"]}, set(cells), data)
        for rank, times in enumerate(data["matrix_ns"]):
            self.assertEqual([time is None for time in times],
                             [rank == to or (rank, to) in cells for to in range(RANKS)], data)
        measured = row["latency"]["count"] if "latency" in row else row["bandwidth"]["messages"]
        self.assertEqual(measured, 3 * (RANKS * (RANKS - 1) - len(cells)))
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

    def test_where_all_datagrams_are_lost_no_pair_could_be_measured(self):
        for traffic in ("pairs", "pairs-bw"):
            with self.subTest(traffic):
                done = self.mpirun("lost", "latency=100us", ["1=lost"] * RANKS, "udmesh", "--traffic", traffic, "--size", "8",
                                   "--iterations", "3", "--warmup", "1", "--wait", "yield", "--loss-timeout", "5ms",
                                   status=rdmameter.FAILED)
                self.assertIn("no pair could be measured", done.stderr)

    def test_a_stream_that_loses_everything_fails_its_pair_alone(self):
        done = self.run_ranks({A: [qp_of(A, B)], B: [qp_of(B, A)]}, "mesh", "--patience", "10", traffic="pairs-bw")
        data = self.assert_only_lost(done, (A, B), (B, A))
        self.assertRegex(data["failed_pairs"][0]["reason"], rf"rank ({A}|{B}): IBV_WC_RETRY_EXC_ERR")

    def test_a_stream_that_loses_one_way_fails_its_pair_alone(self):
        done = self.run_ranks({A: [qp_of(A, B)]}, "mesh", "--patience", "10", traffic="pairs-bw")
        data = self.assert_only_lost(done, (A, B), (B, A))
        self.assertRegex(data["failed_pairs"][0]["reason"], rf"rank {A}: IBV_WC_RETRY_EXC_ERR")

    def test_who_waits_for_an_answer_gives_up_and_the_other_one_tells_why(self):
        done = self.run_ranks({B: [qp_of(B, A)]}, "mesh", "--patience", "8")  # A begins
        data = self.assert_only_lost(done, (A, B), (B, A))
        self.assertRegex(data["failed_pairs"][0]["reason"], rf"rank {B}: IBV_WC_RETRY_EXC_ERR .* towards rank {A}")

    def test_the_barrier_goes_around_a_path_that_is_lost_to_it_too(self):
        # Of the first attempt the graph's QP and the barrier's, of the second one the graph's.
        done = self.run_ranks({A: [3, 6, 9], B: [2, 5, 8]}, "mesh", "--patience", "6")
        data = self.assert_only_lost(done, (A, B), (B, A))
        self.assertEqual(data["barrier_qps"], 2 * (RANKS - 1))  # of a tree

    def run_refused(self, rank, call, graph, *arguments, traffic="pairs", status=rdmameter.FAILED, verb="modify_qp", patience=20):
        """@param call  which of the rank's calls of the verb fails"""
        faults = ["" if other != rank else f"{verb}@{call}=ETIMEDOUT" for other in range(RANKS)]
        return self.mpirun("refused", "latency=100us", faults, graph, "--traffic", traffic, "--size", "8", "--iterations", "3",
                           "--warmup", "1", "--wait", "yield", "--patience", str(patience), *arguments, status=status, setting="FAULTS")

    def test_a_QP_that_is_refused_a_transition_fails_its_pair_alone(self):
        # To INIT go three QPs of the graph and three of the barrier, and those three to RTR and RTS.
        connected = 3 + 3 + 2 * 3
        for to_rts in (False, True):
            done = self.run_refused(A, connected + 2 * qp_of(A, B) - (0 if to_rts else 1), "mesh")
            data = self.assert_only_lost(done, (A, B), (B, A))
            step = "RTR->RTS" if to_rts else "INIT->RTR"
            for pair in data["failed_pairs"]:
                self.assertRegex(pair["reason"], rf"^rank {A}: ibv_modify_qp\({step}\) QP .*timed out.*No route to the peer's GID")

    def test_over_a_graph_with_relays_it_fails_the_pairs_whose_messages_would_go_that_way(self):
        # A ring: 1 has QPs towards 0 and 2. From 0 to 2 messages go over 1, from 1 to 3 over 2, and back over 3 and 0.
        done = self.run_refused(1, 2 + 3 + 2 * 3 + 1, "ring")
        data = self.assert_only_lost(done, (0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 1))
        reasons = {(pair["from"], pair["to"]): pair["reason"] for pair in data["failed_pairs"]}
        self.assertRegex(reasons[0, 1], r"^rank 1: ibv_modify_qp\(INIT->RTR\)")
        self.assertRegex(reasons[2, 0], r"^rank 0: nothing goes from rank 1 to rank 0, which is on the way: ibv_modify_qp\(INIT->RTR\)")

    def test_the_barrier_goes_around_a_path_that_is_refused_to_it_too(self):
        # Its first try alone: the graph's own QPs of the second attempt are all connected.
        done = self.run_refused(A, 3 + 3 + 2 * qp_of(A, B) - 1, "mesh", "--repetitions", "2", status=rdmameter.PASS)
        for row in done.rows:
            self.assertEqual(row["topology"]["barrier_qps"], 2 * (RANKS - 1))  # of a tree
            self.assertEqual(row["latency"]["count"], 3 * RANKS * (RANKS - 1))
            self.assertNotIn("failed_pairs", row["topology"])

    def run_without_handle(self, traffic="pairs"):
        """Rank 1 gets no address handle for rank 3: it asks for one for each neighbour, in their order."""
        began = rdmameter.fair_time()
        done = self.run_refused(A, qp_of(A, B), "udmesh", "--loss-timeout", "5s", traffic=traffic, verb="create_ah", patience=600)
        self.assertLess(rdmameter.fair_time() - began, 60 * rdmameter.SLOW)  # nobody waits for the patience, or for half of it
        return done

    def test_a_UD_address_handle_that_is_refused_fails_its_pair_alone_and_nothing_is_sent_that_way(self):
        done = self.run_without_handle()
        data = self.assert_only_lost(done, (A, B), (B, A))
        for pair in data["failed_pairs"]:
            self.assertRegex(pair["reason"], rf"^rank {A}: ibv_create_ah towards rank {B} on .*timed out.*No route to the peer's GID")
        pings = (1 + 3) * (RANKS * (RANKS - 1) - 2)  # warm-up and iterations of each direction that is left
        self.assertEqual(done.rows[0]["work"]["wrs"], 2 * pings)
        self.assertEqual(done.rows[0]["lost"], 0)

    def test_a_UD_address_handle_that_is_refused_fails_the_case_of_another_traffic(self):
        [row] = self.run_without_handle("alltoall").rows
        self.assertRegex(row["error_message"], rf"^rank {A} on \S+: ibv_create_ah towards rank {B} on ")

    def test_it_fails_the_case_of_another_traffic(self):
        done = self.run_refused(A, 3 + 3 + 2 * 3 + 1, "mesh", traffic="alltoall")
        [row] = done.rows
        self.assertIn(f"rank {A} on ", row["error_message"])
        self.assertIn("ibv_modify_qp(INIT->RTR)", row["error_message"])


if __name__ == "__main__":
    rdmameter.main()
