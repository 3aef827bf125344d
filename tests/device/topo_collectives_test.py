#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Collectives among ranks: every result is right, whatever relays and however many ranks, and a rank that dies is named."""
import rdmameter
from topo_test import Topo

COLLECTIVES = ("allreduce-ring", "allreduce-rd", "alltoall-pairwise", "alltoall-bruck", "allgather-ring", "broadcast-binomial",
               "barrier-dissemination")
TIMES = 5
SHORT = ("--traffic", ",".join(COLLECTIVES), "--iterations", str(TIMES), "--warmup", "2", "--patience", "30")


@rdmameter.on(rdmameter.SOFTWARE)
class Collectives(Topo):
    def rows(self, *arguments):
        done = self.topo(*arguments)
        for row in done.rows:
            self.assertNotIn("error_message", row, done)
        return done

    def test_every_collective_is_right_over_every_graph_among_any_number_of_ranks(self):
        done = self.rows("mesh", "ring", "star", "--ranks", "6", "--scale", "3,6", "--size", "10,30000", "--verify", "--depth", "2",
                         *SHORT)
        self.assert_valid(done.path)
        seen = set()
        for row in done.rows:
            case = row["case"]
            with self.subTest(row["name"]):
                ranks, blocks = case["ranks"], case["traffic"].startswith(("alltoall", "allgather"))
                least = 4 * ranks if blocks else 4
                if case.get("size_bytes", least) < least:
                    self.assertIn(f"at least --size {least}", row["skip_message"])
                    continue
                seen.add((case["graph"], case["traffic"], ranks))
                data = row["topology"]["collective"]
                self.assertEqual(row["latency"]["definition"], "collective")
                self.assertEqual(row["latency"]["count"], TIMES)
                self.assertGreater(row["verified_bytes"], 0)
                self.assertGreater(row["topology"]["barrier_ns"], 0)
                self.assertLessEqual(data["rank_min_ns"], data["rank_mean_ns"])
                self.assertLessEqual(data["rank_mean_ns"], data["rank_max_ns"])
                self.assertLessEqual(data["rank_max_ns"], row["latency"]["max"])
                # Beside the measured ones: the warm-up, and the first one, which is always compared.
                self.assertEqual(row["passed_on"], data["relayed_hops"] * (TIMES + 2 + 1))
                if case["graph"] == "mesh":
                    self.assertEqual(data["relayed_hops"], 0)
                if case["traffic"].startswith("barrier"):
                    self.assertNotIn("algbw_gb_per_s", data)
                    continue
                self.assertEqual(data["bytes"], case["size_bytes"] // least * least)
                mean_ns = row["latency"]["mean"]
                self.assertAlmostEqual(data["algbw_gb_per_s"] / (data["bytes"] / mean_ns), 1, places=3)
        self.assertEqual(seen, {(graph, traffic, ranks) for graph in ("mesh", "ring", "star") for traffic in COLLECTIVES
                                for ranks in (3, 6)})
        relayed = {(row["case"]["graph"], row["case"]["traffic"]): row["topology"]["collective"]["relayed_hops"]
                   for row in done.rows if row["case"]["ranks"] == 6 and "skip_message" not in row}
        self.assertEqual(relayed["ring", "allreduce-ring"], 0)
        self.assertEqual(relayed["ring", "alltoall-pairwise"], 6 * (1 + 2 + 1))  # 1, 2, 3, 2, 1 hops to the others
        self.assertGreater(relayed["star", "allgather-ring"], 0)

    def test_a_result_is_compared_without_verify_too_and_what_cannot_be_is_skipped(self):
        rows = self.rows("mesh", "udmesh", "--ranks", "2", "--recv", "rq,srq", "--qps-per-edge", "1,2", "--size", "64",
                         *SHORT).rows
        reasons = {}
        for row in rows:
            case = row["case"]
            wanted = (case["graph"], case.get("recv"), case.get("qps_per_edge"))
            reasons.setdefault(wanted, set()).add(row.get("skip_message", ""))
        self.assertEqual(reasons.pop(("mesh", "rq", 1)), {""})
        for (graph, receive, qps), (reason, *others) in reasons.items():
            self.assertEqual(others, [])
            self.assertIn("--transport rc" if graph == "udmesh" else "--recv rq" if receive == "srq" else "--qps-per-edge 1",
                          reason, (graph, receive, qps))

    def test_a_rank_that_is_killed_or_hangs_in_a_collective_is_named_and_the_rows_are_kept(self):
        for traffic in COLLECTIVES:
            with self.subTest(traffic):
                self.assert_both_are_named(traffic)


if __name__ == "__main__":
    rdmameter.main()
