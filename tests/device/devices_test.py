#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One case over several devices: the sum, each device's share, and what becomes of it when one of them fails."""
import os
import subprocess

import rdmameter


@rdmameter.on(rdmameter.SOFTWARE)
class Devices(rdmameter.Test):
    def set(self, name, value):
        os.environ[f"RDMAMETER_DEVICE_{name}"] = value
        self.addCleanup(os.environ.pop, f"RDMAMETER_DEVICE_{name}", None)

    def wire(self, wire, devices=2):
        self.set("DEVICES", str(devices))
        self.set("WIRE", wire)

    def row(self, *arguments):
        done = self.run_program("--loopback", *arguments)
        self.assert_valid(done.path)
        [row] = done.rows
        return row

    def shown(self, path):
        return subprocess.run([rdmameter.program, "show", path], check=True, capture_output=True, text=True).stdout

    def assert_shares(self, row, devices, gbps):
        shares = row["per_device"]
        self.assertEqual([share["device"] for share in shares], devices)
        self.assertAlmostEqual(sum(share["gbps"] for share in shares) / row["bandwidth"]["gbps"], 1, delta=0.005)
        self.assertAlmostEqual(row["bandwidth"]["gbps"] / gbps, 1, delta=0.02)
        return shares

    def test_the_sum_is_that_of_the_rates(self):
        for devices in (2, 4, 8):
            with self.subTest(devices):
                self.wire("rate=200M", devices)
                names = [f"soft{i}" for i in range(devices)]
                row = self.row("write_bw", "--device", "+".join(names), "--size", "64K", "--depth", "64", "--iterations", "400")
                self.assert_shares(row, names, 0.2 * devices)
                self.assertEqual(row["case"]["device"], "+".join(names))

    def test_all_takes_those_that_reach_the_peer(self):
        self.wire("rate=500M", 4)
        self.set("PORTS", "soft1=DOWN")
        row = self.row("send_bw", "--device", "all", "--size", "64K", "--depth", "64", "--iterations", "400", "--verify")
        self.assert_shares(row, ["soft0", "soft2", "soft3"], 1.5)

    def test_all_tells_what_it_leaves_out(self):
        self.set("DEVICES", "3")
        self.set("PORTS", "soft1=DOWN")
        server = self.serve("--sandbox", "off")
        del os.environ["RDMAMETER_DEVICE_PORTS"]
        done = self.run_program(f"127.0.0.1:{server.port}", "write_bw", "send_bw", "--device", "all", "--iterations", "50")
        self.assertEqual([len(row["per_device"]) for row in done.rows], [2, 2])
        self.assertEqual(done.stderr.count("device: all leaves out soft"), 1, done)

    def test_a_slow_device_is_named(self):
        self.wire("rate=1G,1-1:rate=250M", 2)
        done = self.run_program("--loopback", "write_bw", "--device", "soft0+soft1", "--size", "64K", "--depth", "64", "--iterations", "400")
        [row] = done.rows
        fast, slow = self.assert_shares(row, ["soft0", "soft1"], 1.25)
        self.assertAlmostEqual(slow["gbps"] / fast["gbps"], 0.25, delta=0.02)
        self.assertIn("Less than 90 % of the fastest one's rate: soft1.", self.shown(done.path))

    def test_both_directions_with_threads_and_pairs_in_another_order(self):
        for connect in ("tcp", "cm"):
            with self.subTest(connect):
                self.wire("rate=500M", 2)
                row = self.row("write_bw", "--device", "soft0+soft1", "--peer-device", "soft1+soft0", "--bidirectional",
                               "--threads", "2", "--size", "64K", "--depth", "16", "--iterations", "400", "--verify",
                               "--connect", connect)
                shares = self.assert_shares(row, ["soft0", "soft1"], 1)  # a port sends what both pairs send from it
                self.assertEqual([share["peer_device"] for share in shares], ["soft1", "soft0"])
                self.assertEqual(len(row["per_thread"]), 4)
                for share in shares:
                    self.assertAlmostEqual(share["bound_percent"], 100 * share["gbps"] / share["bound_gbps"])

    def test_a_load_is_shared_among_them(self):
        self.wire("latency=10us", 2)
        row = self.row("write_load", "--device", "soft0+soft1", "--rate", "2k", "--iterations", "500", "--threads", "2")
        self.assertAlmostEqual(sum(share["mmsg_per_s"] for share in row["per_device"]) / 2e-3, 1, delta=0.15)

    def test_datagrams_are_counted_by_the_receiver_of_each(self):
        self.wire("latency=10us", 2)
        row = self.row("send_bw", "--transport", "ud", "--device", "soft0+soft1", "--size", "1K", "--duration", "0.3",
                       "--rx-depth", "4096", "--depth", "16")
        self.assertEqual(sum(share["messages"] for share in row["per_device"]), row["bandwidth"]["messages"])

    def test_ports_of_one_slot_are_held_against_it_together(self):
        self.wire("rate=400M", 6)
        self.set("PORTS", ",".join(f"soft{i}=slot:2.5x1,soft{i}=pcie:{address}" for i, address in enumerate(
            ("0000:1a:00.0", "0000:1b:00.0", "0000:1a:00.1", "0000:2a:00.0", "0000:2b:00.0", "0000:2c:00.0"))))
        for options, directions in ((), 1), (("--bidirectional",), 2):
            done = self.run_program("--loopback", "write_bw", "--device", "soft0+soft1+soft2", "--peer-device", "soft3+soft4+soft5",
                                    "--size", "64K", "--depth", "64", "--iterations", "400", *options)
            [row] = done.rows
            first, other, second = row["per_device"]
            self.assertNotIn("slot_gbps", other)
            for device in (first, second):
                self.assertAlmostEqual(device["slot_bound_gbps"], directions * 2.5 * 0.8 * 0.85)
                self.assertAlmostEqual(device["slot_gbps"], first["gbps"] + second["gbps"])
                self.assertAlmostEqual(device["slot_percent"], 100 * device["slot_gbps"] / device["slot_bound_gbps"])
            shown = self.shown(done.path)
            self.assertRegex(shown, "of its slot")
            self.assertIn("Of its slot: what all devices in the same PCIe slot had together.", shown)

    def test_two_interfaces_of_one_subnet_are_not_connected_by_rdma_cm(self):
        self.set("PERSONALITY", "iwarp")  # whose devices have an interface each, and rdma_cm alone
        for end in ("--device", "--peer-device"):
            reason = self.skipped("write_bw", end, "soft0+soft1")
            self.assertRegex(reason, r"soft0/1 .soft0. and soft1/1 .soft1. are in one subnet: .*net.ipv4.conf.all.arp_ignore=1 ")
            self.assertNotIn("--connect tcp", reason)
        self.measure("write_bw", "--device", "soft0,soft1", "--iterations", "400")

    def test_ports_and_gids_are_one_for_all_or_left_open_where_they_differ(self):
        self.play("mlx5-roce,generic")  # whose best GIDs stand in different places
        ends = [f"{end}{key}" for end in ("", "peer_") for key in ("port_num", "gid_index")]
        for options, values in ((), [1, "auto", 1, "auto"]), (("--port-num", "1", "--peer-gid-index", "5"), [1, 5, 1, 5]), (
                ("--peer-port-num", "1", "--gid-index", "3", "--peer-gid-index", "3"), [1, 3, 1, 3]):
            with self.subTest(options):
                row = self.row("write_bw", "--device", "soft0+soft1", "--iterations", "50", *options)
                self.assertEqual([row["case"][key] for key in ends], values)

    def test_one_that_fails_ends_the_case_with_its_name(self):
        for test, *options in (("write_bw",), ("write_load", "--rate", "2k")):
            with self.subTest(test):
                self.wire("0-0:rate=1G,1-1:loss=1", 2)
                done = self.run_program("--loopback", test, "--device", "soft0+soft1", "--qp-timeout", "8", "--retry-count",
                                        "1", "--iterations", "400", *options, status=rdmameter.FAILED)
                [row] = done.rows
                self.assertIn("soft1/1", row["error_message"])

    def test_the_peers_that_fails_ends_the_case_with_its_name(self):
        self.set("DEVICES", "4")
        self.inject("post_send@1000+=RETRY_EXC_ERR")
        server = self.serve("--sandbox", "off")
        del os.environ["RDMAMETER_DEVICE_FAULTS"]
        done = self.run_program(f"127.0.0.1:{server.port}", "write_bw", "--device", "soft0+soft1", "--peer-device", "soft2+soft3",
                                "--bidirectional", "--duration", "1", status=rdmameter.FAILED)
        [row] = done.rows
        self.assertRegex(row["error_message"], r"responder.*soft[23]/1")

    def test_one_that_cannot_be_opened_or_joined_is_named(self):
        self.set("DEVICES", "4")
        for port in ("soft1=no-open", "soft3=no-open", "soft3=DOWN"):
            with self.subTest(port):
                self.set("PORTS", port)
                done = self.run_program("--loopback", "write_bw", "--device", "soft0+soft1", "--peer-device", "soft2+soft3", status=rdmameter.FAILED)
                self.assertIn(port.partition("=")[0], done.stderr + "".join(row.get("error_message", "") for row in done.rows))

    def test_what_has_no_sum_is_refused_with_a_reason(self):
        for test, options, reason in (
                ("write_lat", ("--device", "soft0+soft1"), "latencies of several devices have no sum"),
                ("read_lat", ("--device", "all"), "latencies of several devices have no sum"),
                ("write_bw", ("--device", "soft0+soft1", "--peer-device", "soft1"), "name 2 and 1"),
                ("write_bw", ("--device", "soft0+soft1", "--peak"), "--peak"),
                ("write_load", ("--device", "soft0+soft1", "--blame"), "--blame")):
            with self.subTest(test=test, options=options):
                self.assertIn(reason, self.skipped(test, *options))


if __name__ == "__main__":
    rdmameter.main(devices=2)
