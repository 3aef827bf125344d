#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--mtu: the path MTU is the smaller active MTU of the two ports, or the one asked for."""
import rdmameter


class Mtu(rdmameter.Test):
    def setUp(self):
        super().setUp()
        [(device, port), *_] = rdmameter.active_ports()
        self.active = port["active_mtu_bytes"]
        self.device = ("--device", device["name"], "--peer-device", device["name"])

    def test_auto_is_the_active_mtu_of_the_port(self):
        [row] = self.measure("write_lat", "--iterations", "20", *self.device)
        self.assertEqual(row["case"]["mtu_bytes"], self.active)

    def test_a_smaller_one_is_taken_and_carries_more_packets(self):
        rows = self.measure("send_bw", "--mtu", f"256,{self.active}", "--size", str(4 * self.active), "--iterations",
                            "100", "--warmup", "0", "--verify", *self.device)
        self.assertEqual([row["case"]["mtu_bytes"] for row in rows], [256, self.active])
        packets = [(row["device_counters"]["initiator"] or {}).get("sent_pkts") for row in rows]
        if None not in packets:
            self.assertGreater(packets[0], 3 * packets[1])

    def test_it_bounds_a_ud_message(self):
        done = self.run_program("--loopback", "send_lat", "--transport", "ud", "--mtu", "1024", "--size", "1K,1025",
                                "--iterations", "20", *self.device)
        fits, too_long = done.rows
        self.assertIn("latency", fits)
        self.assertRegex(too_long["skip_message"], "a UD message is one packet: 1025 bytes .* MTU of 1024; use --size 1024")

    def test_one_above_the_active_mtu_is_skipped_with_both_ends_own(self):
        if self.active == 4096:
            self.skipTest("there is none above 4096")
        self.assertIn("active MTU is", self.skipped("write_lat", "--mtu", "4096", *self.device))


if __name__ == "__main__":
    rdmameter.main()
