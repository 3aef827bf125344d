#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One QP to many: datagrams to several peers in turn, and multicast; who got what, and what is lost."""
import subprocess

import rdmameter

SHORT = ("--iterations", "240", "--warmup", "12", "--size", "64", "--verify")
# What arrives late is not lost: where others are busy, an end may be given no turn for longer than the default.
PATIENT = (*SHORT, "--loss-timeout", "20s")


class Peers(rdmameter.Test):
    def test_messages_go_round_and_each_peer_gets_its_share(self):
        rows = self.measure("send_bw", "send_imm_bw", "--transport", "ud", "--peers", "1,4,7", "--signal-every", "1,4",
                            "--depth", "32", *SHORT)
        for row in rows:
            peers = row["case"]["peers"]
            self.assertEqual(row["bandwidth"]["sent"], row["bandwidth"]["received"], row["name"])
            if peers == 1:
                self.assertNotIn("arrivals", row)
                continue
            self.assertEqual(row["resources"]["ahs"], peers)
            self.assertEqual(row["resources"]["qps"], 1)
            self.assertEqual(sum(row["arrivals"]), row["bandwidth"]["received"])
            self.assertEqual(len(row["arrivals"]), peers)
            # The closing message begins the round again.
            self.assertLessEqual(max(row["arrivals"]) - min(row["arrivals"]), 2, row["name"])

    @rdmameter.spared_in_vm
    def test_each_answers_for_itself(self):
        rows = self.measure("send_lat", "send_imm_lat", "--transport", "ud", "--peers", "5", "--api", "classic,extended",
                            "--cq", "classic,extended", *PATIENT)
        for row in rows:
            self.assertEqual(row["lost"], 0)
            self.assertLessEqual(max(row["arrivals"]) - min(row["arrivals"]), 1)

    @rdmameter.kernel_only
    def test_by_rdma_cm_each_is_looked_up(self):
        [row] = self.measure("send_bw", "--transport", "ud", "--peers", "6", "--connect", "cm", *SHORT)
        self.assertEqual((row["resources"]["ahs"], len(row["arrivals"])), (6, 6))

    @rdmameter.spared_in_vm
    def test_connected_qps_have_no_others(self):
        rows = self.measure("send_bw", "--transport", "rc,ud", "--peers", "3", *SHORT)
        self.assertEqual([row["case"].get("peers") for row in rows], [None, 3])

    @rdmameter.spared_in_vm
    def test_several_qps_at_both_ends_are_skipped_with_the_remedy(self):
        self.assertRegex(self.skipped("send_bw", "--transport", "ud", "--peers", "2", "--qps", "2", "--size", "64"),
                         "use --qps 1")


class Multicast(rdmameter.Test):
    @rdmameter.kernel_only
    @rdmameter.everyday
    def test_every_receiver_gets_every_message(self):
        rows = self.measure("mcast_bw", "mcast_lat", "--peers", "1,3", "--depth", "16", "--signal-every", "4", *PATIENT)
        for row in rows:
            peers = row["case"]["peers"]
            self.assertEqual(row["case"]["transport"], "ud")
            self.assertRegex(row["multicast_group"], r"^239\.255\.")
            if "bandwidth" in row:
                self.assertEqual(row["bandwidth"]["sent"], row["bandwidth"]["received"], row["name"])
                self.assertEqual(row["bandwidth"]["sent"], peers * row["bandwidth"]["traffic_messages"])
            else:
                self.assertEqual((row["lost"], row["latency"]["count"]), (0, 240))
            if peers > 1:
                self.assertEqual(len(set(row["arrivals"])), 1, row["name"])

    @rdmameter.kernel_only
    def test_all_interfaces_and_waits_go_along(self):
        self.measure("mcast_lat", "mcast_bw", "--peers", "2", "--api", "classic,extended", "--cq", "classic,extended",
                     "--wait", "yield,event", "--depth", "16", "--signal-every", "4", *PATIENT)

    @rdmameter.kernel_only
    def test_a_group_can_be_named(self):
        [row] = self.measure("mcast_lat", "--group", "239.255.77.1", *PATIENT)
        self.assertEqual((row["case"]["group"], row["multicast_group"]), ("239.255.77.1", "239.255.77.1"))

    @rdmameter.kernel_only
    def test_what_the_kernel_joins_no_groups_of_is_skipped(self):
        [(_, port), *_] = rdmameter.active_ports()
        v6 = [str(gid["index"]) for gid in port["gids"] if gid["type"] == "roce_v2" and gid["gid"].startswith("fd")]
        if not v6 or not rdmameter.IN_VM:
            self.skipTest("another kernel may join groups of IPv6")
        self.assertRegex(self.skipped("mcast_lat", "--gid-index", v6[0], "--peer-gid-index", v6[0], *SHORT),
                         "take fd00:9::1 on rxe0/1 into the group ff15:.*only IPv4 groups.*--gid-index")

    @rdmameter.spared_in_vm
    def test_what_is_no_group_is_refused(self):
        done = self.run_program("--loopback", "mcast_lat", "--group", "10.9.0.1", status=rdmameter.USAGE)
        self.assertIn("invalid value '10.9.0.1' for --group: expected auto, or a multicast address", done.stderr)

    @rdmameter.kernel_only
    def test_more_receivers_than_the_device_attaches_are_skipped(self):
        [(device, _), *_] = rdmameter.active_ports()
        most = device["limits"]["max_mcast_qp_attach"]
        if most >= 1024:
            self.skipTest("this device attaches more than --peers takes")
        self.assertRegex(self.skipped("mcast_bw", "--peers", str(most + 1), "--size", "64"),
                         rf"QPs in a multicast group.*the device takes {most}; use fewer --peers")


@rdmameter.on(rdmameter.RXE)
class Lost(rdmameter.Test):
    def netem(self, *arguments):
        subprocess.run(["tc", "qdisc", "add", "dev", "v0", "root", "netem", *arguments], check=True)
        self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", "v0", "root"], check=False)

    def test_multicast_between_two_devices_and_its_loss_is_a_figure(self):
        self.netem("loss", "10%")
        both = ("--peer-device", "rxe1", "--peers", "2", "--iterations", "1000", "--warmup", "12", "--size", "64")
        bandwidth, latency = self.measure("mcast_bw", "mcast_lat", "--loss-timeout", "20ms", *both)
        figures = bandwidth["bandwidth"]
        self.assertGreater(figures["sent"], figures["received"])
        self.assertEqual(sum(bandwidth["arrivals"]), figures["received"])
        self.assertGreater(latency["lost"], 0)
        self.assertEqual(latency["lost"] + latency["latency"]["count"], 1000)

    def test_a_group_that_nobody_hears_is_an_error(self):
        self.netem("loss", "100%")
        # The way of the pongs is looked up nevertheless.
        subprocess.run(["ip", "neigh", "replace", "10.9.0.1", "lladdr", "02:00:00:09:00:01", "dev", "v1"], check=True)
        for test, *axes in (("mcast_bw",), ("mcast_lat", "--loss-timeout", "2ms")):
            with self.subTest(test):
                done = self.run_program("--loopback", test, "--peer-device", "rxe1", "--iterations", "100", "--warmup", "0",
                                        "--size", "64", *axes, status=rdmameter.FAILED, timeout=60)
                self.assertRegex(done.rows[0]["error_message"], r"of \d+ messages 0 arrived|none of the 100 pings")


if __name__ == "__main__":
    rdmameter.main()
