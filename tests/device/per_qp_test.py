#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What each of several QPs did, in the row."""
import rdmameter


class PerQp(rdmameter.Test):
    def per_qp(self, *arguments):
        done = self.run_program("--loopback", *arguments)
        self.assert_valid(done.path)
        [row] = done.rows
        return row, row["per_qp"]

    def test_a_bandwidths_rates_add_up(self):
        for threads in (1, 2):
            with self.subTest(threads):
                row, per_qp = self.per_qp("write_bw", "--qps", "4", "--threads", str(threads), "--iterations", "4000",
                                          "--signal-every", "4")
                self.assertEqual(per_qp["qps"], 4 * threads)
                rates = per_qp["messages_per_s"]
                self.assertEqual(len(rates), 4 * threads)
                bandwidth = row["bandwidth"]
                self.assertAlmostEqual(sum(rates) / (bandwidth["messages"] / bandwidth["window_ns"] * 1e9), 1, delta=0.01)
                self.assertTrue(1 / len(rates) <= per_qp["jain"] <= 1)

    def test_a_latencys_samples_are_each_qps_own(self):
        for test in ("send_lat", "write_lat", "read_lat", "send_load"):
            with self.subTest(test):
                more = ("--rate", "2k", "--warmup", "50") if test == "send_load" else ()
                row, per_qp = self.per_qp(test, "--qps", "4", "--iterations", "400", *more)
                mean = (row["load"]["service"] if more else row["latency"])["mean"]
                self.assertEqual(len(per_qp["mean_ns"]), 4)
                if not more:  # as many of each
                    self.assertAlmostEqual(sum(per_qp["mean_ns"]) / 4 / mean, 1, delta=1e-3)
                most = (row["load"]["service"] if more else row["latency"])["max"]
                self.assertAlmostEqual(max(per_qp["max_ns"]) / most, 1, delta=1e-5)  # of six digits
                self.assertNotIn("jain", per_qp)

    def test_one_qp_has_its_port_where_its_label_was_given(self):
        row, per_qp = self.per_qp("write_lat", "--iterations", "50", "--flow-label", "16385")
        self.assertEqual(per_qp["flow_labels"], [16385])
        if row["case"]["transport"] == "rc" and "udp_source_ports" in per_qp:
            self.assertEqual(per_qp["udp_source_ports"], [0xC000])
        [plain] = self.measure("write_lat", "--iterations", "50")
        self.assertNotIn("per_qp", plain)

    def test_threads_have_labels_one_after_the_other(self):
        _, per_qp = self.per_qp("write_lat", "--qps", "2", "--threads", "2", "--iterations", "50", "--flow-label",
                                "per-qp:1,2,3")
        self.assertEqual(per_qp["flow_labels"], [1, 2, 3, 1])

    def test_qps_that_share_a_path_cannot_have_their_own(self):
        for options, reason in ((("--transport", "ud"), "address handle"), (("--connect", "cm"), "--connect tcp")):
            with self.subTest(options):
                self.assertIn(reason, self.skipped("send_lat", "--qps", "2", "--flow-label", "spread", *options))


if __name__ == "__main__":
    rdmameter.main()
