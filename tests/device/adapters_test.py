#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adapters of several makers, as the software device plays them: each gives its numbers without an option for it."""
import json
import os
import re
import subprocess
import unittest

import rdmameter

BETWEEN_BOTH = ("--device", "soft0", "--peer-device", "soft1")
SHORT = ("--iterations", "50", "--warmup", "10")


class WithCosts(rdmameter.Test):
    def let_cost(self, costs):
        """Makes verbs of the software device last, for what this test starts from now on."""
        os.environ["RDMAMETER_DEVICE_COSTS"] = costs
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_COSTS", None)


class WithRanks(WithCosts):
    def topo(self, *options, **of_topo):
        [row] = self.topologies(*options, **of_topo)
        return row

    def topologies(self, *options, graphs=(), graph="mesh", ranks=2, traffic="pairs", status=rdmameter.PASS):
        path = self.output()
        started = rdmameter.Started([rdmameter.program, "topo", *(graphs or [graph]), "--ranks", str(ranks), "--traffic", traffic, *options, "-o", path],
                                    rdmameter.environment(), path)
        self.addCleanup(started.end, 0)
        done = started.end(120)
        self.assertEqual(done.status, status, done)
        return done.rows


@rdmameter.on(rdmameter.SOFTWARE)
class Paths(rdmameter.Test):
    def test_a_virtual_function_is_reached_with_a_grh(self):
        for personality, ends in (("mlx5-ib-vf", ()), ("mlx5-ib,mlx5-ib-vf", BETWEEN_BOTH)):
            with self.subTest(personality):
                self.play(personality)
                self.measure("send_lat", "send_bw", "--transport", "rc,uc,ud", "--size", "64", *ends, *SHORT, "--verify")
                self.measure("connect", "--transport", "rc,ud", "--iterations", "5", *ends)

    def test_verbs_of_a_virtual_function_are_called_for_a_path_with_a_grh(self):
        self.play("mlx5-ib-vf")
        self.measure("create_ah", "modify_qp_rtr", "modify_qp_rts", "bind_mw_1", "--iterations", "5")

    def test_a_partition_key_is_found_by_its_value_wherever_it_stands(self):
        self.play("mlx5-ib,mlx5-ib-vf")
        for options, index, key in (((), 0, "0xffff"), (("--pkey", "0x8001"), 1, "0x8001"),
                                    (("--pkey", "0x1"), 2, "0x1"), (("--pkey-index", "1"), 1, "0x8001")):
            with self.subTest(options):
                for row in self.measure("send_lat", "send_bw", "--transport", "rc,ud", "--size", "64", *options,
                                        *BETWEEN_BOTH, *SHORT):
                    self.assertEqual((row["case"]["pkey_index"], row["case"]["pkey"]), (index, key))

    def test_of_the_two_ends_one_is_a_full_member_of_the_partition(self):
        self.play("mlx5-ib")  # of 0x1 it has both memberships, of 0x3 the limited one
        self.measure("send_lat", "--transport", "rc,ud", "--pkey", "0x1", *BETWEEN_BOTH, *SHORT)
        self.measure("send_bw", "--bidirectional", "--pkey", "0x1", "--size", "64", *BETWEEN_BOTH, *SHORT)
        self.assertRegex(self.skipped("send_lat", "--pkey", "0x3", *BETWEEN_BOTH, *SHORT), "both ports are limited members of the partition 0x3")

    def test_a_partition_key_that_a_port_lacks_is_skipped_with_those_it_has(self):
        self.play("mlx5-ib,mlx5-ib-vf")
        self.assertRegex(self.skipped("send_lat", "--pkey", "0x8002", *BETWEEN_BOTH),
                         r"0x8002 is not in the table of soft\d/1, which has 0x.* \(0\), 0x.* \(1\)")

    def test_reads_go_as_deep_as_each_direction_takes(self):
        for personality, depth in (("tiny,generic", 1), ("generic,tiny", 4)):
            self.play(personality)
            for connect in ("tcp", "cm"):
                with self.subTest(f"{personality} {connect}"):
                    rows = self.measure("read_bw", "--connect", connect, "--depth", "8", "--size", "64", *BETWEEN_BOTH,
                                        *SHORT, "--verify")
                    rows += self.measure("read_lat", "--connect", connect, *BETWEEN_BOTH, *SHORT)
                    self.assertEqual([row["case"]["outstanding_reads"] for row in rows], [depth] * 2)
            self.measure("connect", "--connect", "tcp,cm", "--depth", "8", "--rx-depth", "8", "--iterations", "5",
                         *BETWEEN_BOTH)

    def test_gids_of_one_subnet_are_found_where_the_first_ones_are_of_vlans_apart(self):
        self.play("mlx5-roce")
        rows = self.measure("send_lat", "send_bw", "--transport", "rc,uc,ud", "--size", "64", *BETWEEN_BOTH, *SHORT,
                            "--verify")
        rows += self.measure("send_lat", "--transport", "rc,ud", "--connect", "cm", *BETWEEN_BOTH, *SHORT)
        rows += self.measure("write_bw", "--threads", "2", "--bidirectional", *BETWEEN_BOTH, *SHORT)
        for row in rows:
            self.assertEqual((row["case"]["gid_index"], row["case"]["peer_gid_index"]), (5, 5), row["name"])

    def test_an_end_with_one_gid_by_choice_is_met_by_one_of_its_subnet(self):
        self.play("mlx5-roce")
        for option in ("--gid-index", "--peer-gid-index"):
            [row] = self.measure("send_lat", option, "7", *BETWEEN_BOTH, *SHORT)
            self.assertEqual((row["case"]["gid_index"], row["case"]["peer_gid_index"]), (7, 7))


@rdmameter.on(rdmameter.SOFTWARE)
class Iwarp(WithCosts):
    def setUp(self):
        super().setUp()
        self.play("iwarp")

    def test_its_qps_are_connected_by_rdma_cm_without_an_option(self):
        rows = self.measure("send_lat", "write_lat", "read_lat", "send_bw", "write_bw", "read_bw", "--size", "64,8K", *SHORT, "--verify")
        rows += self.measure("send_bw", "read_bw", "--bidirectional", "--size", "64", "--threads", "2", "--qps", "2", *SHORT)
        rows += self.measure("write_lat", "read_bw", "--size", "64", *BETWEEN_BOTH, *SHORT, "--verify")
        for row in rows:
            self.assertEqual(row["case"]["connect"], "cm", row["name"])

    def test_receives_are_there_before_the_peer_can_send(self):
        self.let_cost("receive=10ms")
        self.measure("send_bw", "--bidirectional", "--size", "64", *SHORT)

    def test_connecting_is_measured_by_rdma_cm(self):
        [row] = self.measure("connect", "--iterations", "5", "--objects", "2")
        self.assertEqual(row["case"]["connect"], "cm")
        self.measure("cm_resolve_addr", "cm_resolve_route", "cm_connect", "--iterations", "5")

    def test_what_iwarp_lacks_is_skipped_with_the_reason(self):
        for options, why in ((("send_lat", "--transport", "ud", "--size", "64"), "has no UD: use --transport rc"),
                             (("write_bw", "--transport", "uc"), "has no UC: use --transport rc"),
                             (("fetch_add_lat",), "has no atomic operations"),
                             (("mcast_lat",), "has no multicast"),
                             (("connect", "--transport", "ud"), "has no UD: use --transport rc"),
                             (("send_lat", "--connect", "tcp"), "rdma_cm alone can connect: use --connect cm"),
                             (("connect", "--connect", "tcp"), "rdma_cm alone can connect: use --connect cm"),
                             (("modify_qp_rtr",), "this test connects them without: choose another"),
                             (("bind_mw_1",), "this test connects them without: choose another")):
            with self.subTest(options):
                self.assertRegex(self.skipped(*options), "soft0/1 is an iWARP device, .*" + why)
        self.measure("create_qp", "modify_qp_init", "reg_mr", "--iterations", "5")

    def test_its_address_is_that_of_its_network_interface(self):
        [row] = self.measure("send_lat", *BETWEEN_BOTH, *SHORT)
        self.assertEqual((row["case"]["gid_index"], row["case"]["peer_gid_index"]), (0, 0))
        self.assertRegex(self.run_program("--loopback", "send_lat", "--gid-index", "1", status=rdmameter.USAGE).stderr,
                         r"it has 0 \(iWARP, ::ffff:127.0.0.2\)")

    def test_an_adapter_that_is_not_iwarp_is_no_peer(self):
        self.play("generic,iwarp")
        self.assertIn("soft0/1 is RoCE and soft1/1 of the responder iWARP: they cannot be connected; soft0/1 and soft0/1 of the responder can: ",
                      self.skipped("send_lat", "--connect", "cm", *BETWEEN_BOTH))


@rdmameter.on(rdmameter.SOFTWARE)
class IwarpRanks(WithRanks):
    def test_ranks_are_connected_by_rdma_cm_and_messages_say_for_whom_they_are(self):
        for personality in ("siw", "iwarp", "cxgb4"):
            with self.subTest(personality):
                self.play(personality)
                rows = self.topologies("--size", "4,13,8K", "--verify", *SHORT, graphs=("mesh", "ring"), ranks=4, traffic="pairs,alltoall,allgather,flood")
                self.assertEqual(len(rows), 2 * 4 * 3)
                for row in rows:
                    self.assertNotIn("error_message", row)
                    self.assertNotIn("mtu_bytes", row["case"])
                    self.assertGreater(row["topology"]["setup_ns"]["rdma_cm"], 0)
                    if row["case"]["size_bytes"] > 4:  # of which the last four are not compared
                        self.assertEqual(row["verified_bytes"] % (row["case"]["size_bytes"] - 4), 0)

    def test_writes_and_reads_carry_messages_between_neighbours(self):
        self.play("siw")
        for opcode in ("write", "read"):
            for row in self.topologies("--opcode", opcode, "--qps-per-edge", "3", "--verify", *SHORT, ranks=4, traffic="flood,incast:3"):
                self.assertGreater(row["verified_bytes"], 0)

    def test_an_edge_has_several_qps_and_each_its_cq(self):
        self.play("cxgb4")
        self.topologies("--qps-per-edge", "1,3", "--cq-sharing", "per-qp", *SHORT, graphs=("mesh", "star"), ranks=4)

    def test_a_rank_takes_more_calls_than_it_has_answered(self):
        """At a backlog of 128 the kernel turns away some of those that seven ranks make at once."""
        self.play("siw")
        self.topo("--qps-per-edge", "32", "--depth", "1", "--iterations", "5", "--warmup", "1", ranks=8)

    def test_what_iwarp_lacks_is_skipped_with_the_reason(self):
        self.play("siw")
        for options, of_topo, why in (((), {"graph": "udmesh"}, "which has no UD: use another graph"),
                                      (("--transport", "uc"), {}, "which has no UC: use --transport rc"),
                                      ((), {"traffic": "allreduce-ring"}, "has no immediate data: .* a collective's hold its words: use another --traffic"),
                                      (("--recv", "srq"), {}, "has no immediate data: .*own receives: use --recv rq"),
                                      (("--size", "3"), {}, "has no immediate data: .* and 3 are too few: use --size 4 or more"),
                                      (("--tclass", "104"), {}, "driver is not known to heed it"),
                                      (("--mtu", "1024"), {}, "TCP and the driver choose that")):
            with self.subTest(options, **of_topo):
                row = self.topo(*options, *SHORT, **of_topo, status=rdmameter.USAGE)
                self.assertRegex(row["skip_message"], "soft0/1 is an iWARP device.*" + why)
        self.play("erdma")  # has immediate data, which ranks do not use
        self.assertIn("where a rank's message has no immediate data", self.topo("--size", "3", *SHORT, status=rdmameter.USAGE)["skip_message"])


@rdmameter.on(rdmameter.SOFTWARE)
class Refusals(WithRanks):
    def test_a_type_of_qp_that_a_provider_lacks_is_skipped_however_it_says_so(self):
        for personality, transport in (("bnxt", "uc"), ("hns", "ud"), ("hns", "uc")):
            self.play(personality)
            for options in (("send_lat", "--size", "64"), ("send_lat", "--size", "64", "--thread-domain", "off"), ("create_qp",), ("connect",)):
                with self.subTest(personality, options=options):
                    self.assertIn(f"soft0/1 has no QPs of {transport}: use another --transport", self.skipped(*options, "--transport", transport))
        self.play("bnxt")
        row = self.topo("--transport", "uc", *SHORT, status=rdmameter.USAGE)
        self.assertIn("has no QPs of uc", row["skip_message"])

    def test_a_priority_that_no_vlan_has_is_skipped_among_ranks_too(self):
        self.play("mlx5-roce")
        self.assertIn("--sl 8: on soft0/1 it is the priority", self.topo("--sl", "8", *SHORT, status=rdmameter.USAGE)["skip_message"])
        self.topo("--sl", "7", *SHORT)

    def test_what_a_provider_has_no_verb_for_is_skipped_with_the_remedy(self):
        for personality, options, why in (("bnxt", ("--cq", "extended"), "no extended CQs: use --cq classic"), ("siw", ("--cq", "extended"), "use --cq classic"),
                                          ("irdma-roce", ("--api", "extended"), "use --api classic"), ("mana", ("--recv", "srq"), "use --recv rq"),
                                          ("hns", ("--memory", "dmabuf:software"), "use --memory host"),
                                          ("cxgb4", ("--thread-domain", "on"), "use --thread-domain auto")):
            with self.subTest(personality):
                self.play(personality)
                self.assertRegex(self.skipped("send_lat", *options), why)

    def test_want_of_resources_is_no_want_of_a_type(self):
        self.inject("create_qp@1+=ENOMEM")
        [row] = self.run_program("--loopback", "send_lat", "--transport", "uc", status=rdmameter.FAILED).rows
        self.assertIn("Cannot allocate memory", row["error_message"])

    def test_a_post_that_fails_names_its_reason_whatever_its_sign(self):
        for personality in ("generic", "bnxt"):
            self.play(personality)
            self.inject("post_send@60=ENOMEM")
            [row] = self.run_program("--loopback", "write_bw", "--size", "64", "--qps", "2", status=rdmameter.FAILED).rows
            self.assertRegex(row["error_message"], "posting on soft0/1 failed: Cannot allocate memory")

    def test_a_port_that_tells_no_largest_message_takes_any(self):
        self.play("mana")
        self.measure("send_lat", "write_bw", "--size", "64,1M", *SHORT, "--verify")


@rdmameter.on(rdmameter.SOFTWARE)
class OrderOfData(rdmameter.Test):
    NOTE = "the tail may be missing"

    def wire(self, words):
        os.environ["RDMAMETER_DEVICE_WIRE"] = words
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE", None)

    def test_a_write_whose_middle_comes_late_is_told_and_verify_finds_it(self):
        self.wire("torn=1")
        done = self.run_program("--loopback", "write_lat", "--size", "64,64K", "--iterations", "20")
        self.assertEqual([row["data_in_order"] for row in done.rows], [False, False])
        self.assertEqual(done.stderr.replace("\n", " ").count(self.NOTE), 1, done.stderr)
        shown = subprocess.run([rdmameter.program, "show", done.path], check=True, capture_output=True, text=True).stdout
        self.assertEqual(" ".join(shown.split()).count(self.NOTE), 1, shown)
        few = ("--iterations", "1", "--warmup", "0", "--verify")
        short, long = self.run_program("--loopback", "write_lat", "--size", "4096,64K", *few, status=rdmameter.FAILED).rows
        self.assertNotIn("error_message", short)
        self.assertRegex(long["error_message"], "bytes")

    def test_it_is_promised_if_both_ends_promise_it(self):
        for personality, promised in (("mlx5-ib", True), ("mlx5-roce,rxe", False), ("rxe,mlx5-roce", False)):
            for connect in ("tcp", "cm"):
                with self.subTest(personality, connect=connect):
                    self.play(personality)
                    done = self.run_program("--loopback", "write_lat", "--size", "64K", "--connect", connect, *BETWEEN_BOTH, *SHORT)
                    self.assertEqual(done.rows[0]["data_in_order"], promised)
                    self.assertEqual(self.NOTE in done.stderr.replace("\n", " "), not promised, done.stderr)
        self.play("rxe")
        done = self.run_program("--loopback", "write_lat", "write_imm_lat", "--size", "1024", *SHORT)
        self.assertEqual(["data_in_order" in row for row in done.rows], [True, False])
        self.assertNotIn(self.NOTE, done.stderr.replace("\n", " "))


@rdmameter.on(rdmameter.SOFTWARE)
class RelaxedOrdering(WithRanks):
    def test_is_on_but_where_messages_are_seen_in_memory(self):
        tests = {"send_lat": True, "write_bw": True, "read_lat": True, "write_imm_lat": True, "reg_mr": True, "write_lat": False}
        for row in self.measure(*tests, "--size", "64", "--iterations", "20"):
            self.assertEqual(row["case"]["relaxed_ordering"], tests[row["case"]["test"]], row["name"])
        self.assertFalse(self.topo(*SHORT)["case"]["relaxed_ordering"])
        for row in self.measure("send_lat", "write_bw", "--size", "64", "--relaxed-ordering", "off,on,auto", *SHORT):
            self.assertEqual(row["case"]["relaxed_ordering"], "relaxed-ordering:off" not in row["name"], row["name"])
        self.assertIn("with relaxed ordering", self.skipped("write_lat", "--relaxed-ordering"))
        [row] = self.run_program("--device", "null", "write_bw", "--iterations", "1000").rows
        self.assertFalse(row["case"]["relaxed_ordering"])

    def test_memory_is_registered_as_the_row_says(self):
        log = os.path.join(self.scratch, "log")
        os.environ["RDMAMETER_DEVICE_LOG"] = log
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_LOG", None)
        for test, told in (("send_lat", "1"), ("write_lat", "0")):
            done = self.run_program("--loopback", test, *SHORT)
            self.assertEqual(done.rows[0]["case"]["relaxed_ordering"], told == "1")
            said = set()
            for name in os.listdir(self.scratch):
                if name.startswith("log."):
                    with open(os.path.join(self.scratch, name), encoding="ascii") as file:
                        said |= {line.split()[2] for line in file if line.startswith("relaxed_ordering ")}
                    os.remove(os.path.join(self.scratch, name))
            self.assertEqual(said, {told})


@rdmameter.on(rdmameter.SOFTWARE)
class EnhancedConnections(rdmameter.Test):
    """Shown here alone: no adapter has."""

    def agreed(self, *options):
        [row] = self.measure("write_bw", "--connect", "cm", "--size", "64", *options, *SHORT, "--verify")
        return row.get("ece")

    def test_ends_agree_on_what_both_can(self):
        both = {"vendor_id": 0x15b3, "options": 0x10000003}
        for personality, agreed in (("mlx5-roce", both | {"options": 0x10000007}), ("mlx5-ib,mlx5-ib-vf", both), ("mlx5-ib-vf,mlx5-ib", both),
                                    ("mlx5-roce,generic", {"vendor_id": 0, "options": 0}), ("generic", {"vendor_id": 0, "options": 0})):
            for transport in ("rc", "uc"):
                with self.subTest(personality, transport=transport):
                    self.play(personality)
                    self.assertEqual(self.agreed("--transport", transport, *BETWEEN_BOTH), agreed)
        self.measure("connect", "cm_connect", "--connect", "cm", "--iterations", "5")

    def test_a_call_that_fails_leaves_the_connection_without_it(self):
        self.play("mlx5-roce")
        for fault, failed in (("query_ece@1=EIO", "ibv_query_ece"), ("set_ece@2=EINVAL", "ibv_set_ece")):
            with self.subTest(fault):
                self.inject(fault)
                self.assertEqual(self.agreed(), {"vendor_id": 0, "options": 0, "failed": failed})
        self.inject("set_ece@1=EINVAL")  # the responder's
        self.assertEqual(self.agreed()["options"], 0)

    def test_nothing_is_said_where_rdma_cm_does_not_connect_it(self):
        self.play("mlx5-roce")
        [row] = self.measure("write_bw", *SHORT)
        self.assertNotIn("ece", row)
        [row] = self.measure("send_bw", "--transport", "ud", "--connect", "cm", "--size", "64", *SHORT)
        self.assertNotIn("ece", row)


@rdmameter.on(rdmameter.SOFTWARE)
class LinkRate(rdmameter.Test):
    def rates(self, *options):
        done = self.run_program("--loopback", "write_bw", "--size", "64K", *options, *SHORT)
        ends = done.result["context"]["rdmameter"]
        return [ends[end]["device"]["rate_gbps"] for end in ("initiator", "responder")], done.rows[0]

    def listed(self):
        devices = subprocess.run([rdmameter.program, "devices", "--json"], env=rdmameter.environment(), check=True, capture_output=True, text=True).stdout
        return [device["ports"][0]["rate_gbps"] for device in json.loads(devices)["devices"]]

    def test_is_the_links_and_not_what_a_driver_tells_of_each(self):
        """XDR that verbs show as NDR, a port that a VF has half of, SDR on an Ethernet whose interface knows, constants."""
        for personality, rate in (("mlx5-xdr", 800), ("mlx5-ib-vf", 100), ("mlx5-ib", 200), ("hns", 100), ("mana", None), ("rxe", None)):
            with self.subTest(personality):
                self.play(personality)
                self.assertEqual(self.rates(*BETWEEN_BOTH)[0], [rate, rate])
                self.assertEqual(self.listed(), [rate, rate])
        self.play("efa")
        self.assertEqual(self.listed(), [None, None])

    def test_a_rate_that_nothing_tells_is_said_in_place_of_a_share_of_it(self):
        self.play("mana")
        path = self.run_program("--loopback", "write_bw", *BETWEEN_BOTH, *SHORT).path
        shown = subprocess.run([rdmameter.program, "show", path], check=True, capture_output=True, text=True).stdout
        self.assertIn("Ethernet, link rate not known, MTU", " ".join(shown.split()))
        self.assertNotIn("of line", shown)

    def test_what_a_payload_can_get_is_the_lesser_of_line_and_slot_at_both_ends(self):
        self.play("mlx5-xdr,mlx5-ib")
        rates, row = self.rates(*BETWEEN_BOTH)
        self.assertEqual(rates, [800, 200])
        slot, line = 16 * 16 * 128 / 130 * 0.85, 200 * 4096 / (4096 + 26)
        self.assertAlmostEqual(row["bound_gbps"]["initiator"], slot)
        self.assertAlmostEqual(row["bound_gbps"]["responder"], line)
        self.play("mana")
        self.assertEqual(self.rates(*BETWEEN_BOTH)[1]["bound_gbps"], {"initiator": None, "responder": None})
        self.play("mlx5-roce")
        line = 100 * 4096 / (4096 + 82)
        for bound in self.rates(*BETWEEN_BOTH)[1]["bound_gbps"].values():
            self.assertAlmostEqual(bound, line)
        self.assertNotIn("bound_gbps", self.rates()[1], "a device that sends to itself")


@rdmameter.on(rdmameter.SOFTWARE)
class Containers(rdmameter.Test):
    def setUp(self):
        super().setUp()
        self.play("pod")

    def test_the_default_partition_is_taken_where_sysfs_shows_none(self):
        for options in ((), ("--pkey", "0xffff"), ("--pkey-index", "0")):
            for row in self.measure("send_lat", "--transport", "rc,ud", "--size", "64", *options, *SHORT):
                self.assertEqual((row["case"]["pkey_index"], row["case"]["pkey"]), (0, "0xffff"))
        for options in (("--pkey", "0x8001"), ("--pkey-index", "1")):
            self.assertRegex(self.skipped("send_lat", *options), "soft0/1 shows no partition keys in sysfs: there is only --pkey-index 0")

    def test_a_gid_of_another_network_namespace_is_not_taken(self):
        for options in ((), BETWEEN_BOTH):
            for row in self.measure("send_lat", "send_bw", "--transport", "rc,ud", "--size", "64", *options, *SHORT):
                self.assertEqual((row["case"]["gid_index"], row["case"]["peer_gid_index"]), (5, 5))
        shown = subprocess.run([rdmameter.program, "devices"], check=True, capture_output=True, text=True, env=rdmameter.environment()).stdout
        self.assertEqual(set(re.findall(r"GID +(\d+)\*", shown)), {"5"})


@rdmameter.on(rdmameter.SOFTWARE)
class Rnics(rdmameter.Test):
    def test_one_with_atomics_and_immediate_data_is_measured_with_them(self):
        self.play("erdma")
        self.measure("fetch_add_lat", "cmp_swap_bw", "send_imm_lat", "write_imm_lat", "write_imm_bw", *SHORT, "--verify")
        self.play("cxgb4")
        self.measure("write_imm_lat", "write_imm_bw", *SHORT, "--verify")

    def test_what_it_refuses_when_it_is_posted_is_skipped(self):
        for personality, test in (("cxgb4", "send_imm_lat"), ("cxgb4", "send_imm_bw"), ("iwarp", "write_imm_lat"), ("siw", "write_imm_lat")):
            with self.subTest(personality, test=test):
                self.play(personality)
                self.assertIn("soft0/1 is an iWARP device, which has no immediate data: use the same test without", self.skipped(test))

    def test_a_post_to_a_qp_that_has_failed_says_nothing_of_immediate_data(self):
        self.play("cxgb4")
        self.inject("post_send@3=RETRY_EXC_ERR")
        done = self.run_program("--loopback", "write_imm_bw", *SHORT, status=rdmameter.FAILED)
        [row] = done.rows
        self.assertNotIn("skip_message", row)
        self.assertNotIn("no immediate data", row["error_message"])

    def test_a_send_never_finds_no_receive(self):
        """Which would end the connection: it waits for a credit, and an open loop's request for an answer."""
        few = ("--iterations", "500", "--wait", "yield")
        for personality in ("iwarp", "siw"):
            self.play(personality)
            rows = self.measure("send_bw", "--rx-depth", "1,3,16", *few, "--verify")
            rows += self.measure("send_bw", "--qps", "4", "--rx-depth", "2", "--cq-sharing", "per-qp", *few, "--verify")
            rows += self.measure("send_bw", "--post-list", "4", "--signal-every", "8", "--depth", "64", "--rx-depth", "9", "--wait", "yield,event",
                                 "--iterations", "500", "--verify")
            rows += self.measure("send_bw", "--bidirectional", "--threads", "2", "--qps", "2", *few)
            rows += self.measure("send_bw", "--peak", *few)
            rows += self.measure("send_cqe_lat", "--rx-depth", "1,4", "--duration", "200ms", "--wait", "yield")
            rows += self.measure("send_load", "--rate", "3M", "--qps", "4", *few)
            rows += self.measure("mix_load", "--mix", "send:50,write:50", "--rate", "1M", *few)
            rows += self.measure("send_lat", "--rx-depth", "2", *few)
            self.assertEqual({row["case"].get("connect") for row in rows}, {"cm"})
        self.measure("send_bw", "--recv", "srq", "--qps", "3", "--rx-depth", "5", *few, "--verify")

    def test_a_case_whose_sends_could_find_no_receive_is_skipped(self):
        self.play("siw")
        for options, why in ((("send_lat", "--rx-depth", "1"), "1 receives in lists of 1: .*; use --rx-depth 2 or more"),
                             (("send_bw", "--post-list", "8", "--depth", "64", "--rx-depth", "4"), "use --rx-depth 8 or more"),
                             (("send_lat", "--rx-depth", "16", "--recv-post-list", "16"), "use --rx-depth 32 or more"),
                             (("send_bw", "--recv", "srq", "--recv-post-list", "4", "--rx-depth", "8"), "use --recv-post-list 1"),
                             (("send_bw", "--sharers", "2", "--signal-every", "1"), "use --sharers 1, or RDMA WRITEs"),
                             (("send_cqe_lat", "--blame"), "use it with another test")):
            with self.subTest(options):
                self.assertRegex(self.skipped(*options), "over iWARP a send that finds no receive ends the connection; .*" if why.startswith("use") else why)
                self.assertRegex(self.skipped(*options), why)
        for options in (("send_lat", "--rx-depth", "2"), ("send_bw", "--post-list", "8", "--depth", "64", "--rx-depth", "8"),
                        ("send_bw", "--post-list", "16", "--depth", "64", "--rx-depth", "16"),
                        ("send_lat", "--rx-depth", "32", "--recv-post-list", "16")):  # as the reasons say
            self.measure(*options, *SHORT, "--wait", "yield")

    def test_more_pieces_are_sent_than_the_device_tells_of_receives(self):
        self.play("erdma")
        rows = self.measure("send_lat", "write_bw", "--sge", "2,6", "--size", "64", *SHORT, "--verify")
        self.assertEqual({row["case"]["sge"] for row in rows}, {2, 6})
        self.assertRegex(self.skipped("send_lat", "--sge", "7", "--size", "64"), r"SGEs per request on soft0/1: 7 wanted, the device takes 6; use fewer --sge")
        self.assertRegex(self.skipped("send_lat", "--recv-sge", "2", "--size", "64"), "SGEs per receive on soft0/1: 2 wanted, the device takes 1")


@rdmameter.on(rdmameter.SOFTWARE)
class Habits(WithRanks):
    def test_a_window_whose_key_the_provider_sets_is_written_through(self):
        self.play("irdma-roce")
        self.measure("bind_mw_1", "bind_mw_2", "invalidate_mw", "--iterations", "5")

    def test_a_mask_of_timestamps_without_times_is_no_timestamps(self):
        self.play("irdma-roce")
        shown = subprocess.run([rdmameter.program, "devices"], check=True, capture_output=True, text=True, env=rdmameter.environment()).stdout
        self.assertIn("completion timestamps no", shown)
        self.assertIn("soft0/1 gives no completion timestamps: use --timestamps off",
                      self.skipped("send_lat", "--cq", "extended", "--timestamps", "on"))

    def test_pieces_that_the_provider_would_count_wrongly_are_skipped(self):
        """The device is as before rdma-core 64, and the program goes by the libibverbs that is loaded."""
        self.play("rxe")
        loaded = self.run_program("--loopback", "send_lat", *SHORT).result["context"]["rdmameter"]["initiator"]["libibverbs"]
        if loaded and int(loaded.split(".")[2]) >= 64:
            self.skipTest("the rxe of this rdma-core counts them right")
        of_pieces = ("--api", "extended", "--sge", "3")
        for test, options, why in (("write_bw", ("--size", "64"), "each SGE for as long as the first"),
                                   ("read_bw", ("--size", "64"), "each SGE for as long as the first"),
                                   ("send_lat", ("--size", "66", "--sge-layout", "uneven"), "each SGE for as long as the first"),
                                   ("send_lat", ("--size", "66", "--inline", "66"), "nothing of several inlined pieces")):
            with self.subTest(test, options=options):
                self.assertRegex(self.skipped(test, *of_pieces, *options), f"rdma-core's rxe before 64 .*{why}")
        self.measure("send_lat", "write_bw", "read_bw", *of_pieces, "--size", "66", *SHORT, "--verify")
        self.measure("send_lat", "write_bw", "--sge", "3", "--size", "64", *SHORT, "--verify")

    def test_reads_deeper_than_a_queue_of_the_provider_are_skipped(self):
        self.play("mana")
        self.measure("read_bw", "--depth", "128", *SHORT, "--verify")
        for test in ("read_bw", "mix_load"):
            options = ("--mix", "read:50,write:50", "--rate", "10k") if test == "mix_load" else ()
            self.assertRegex(self.skipped(test, "--depth", "256", *options), "reads posted to a QP on soft0/1: 256 wanted, the device takes 128; use a smaller --depth")
        for pieces, depth in ((2, 64), (3, 64), (6, 32)):
            options = ("read_bw", "--sge", str(pieces), "--size", "64")
            self.measure(*options, "--depth", str(depth), *SHORT, "--verify")
            self.assertRegex(self.skipped(*options, "--depth", str(depth + 1)),
                             f"reads posted to a QP on soft0/1: {depth + 1} wanted, the device takes {depth}; use a smaller --depth")
        self.measure("write_bw", "--depth", "256", *SHORT)
        row = self.topo("--opcode", "read", "--depth", "256", *SHORT, traffic="flood", status=rdmameter.USAGE)
        self.assertRegex(row["skip_message"], r"reads posted to a QP on soft\d/1: 256 wanted, the device takes 128; use a smaller --depth")
        self.topo("--opcode", "read", "--depth", "128", *SHORT, traffic="flood")

    def test_ranks_need_memory_that_peers_write_for_their_barrier(self):
        self.play("efa")
        row = self.topo("--size", "64", *SHORT, graph="udmesh", status=rdmameter.USAGE)
        self.assertIn("soft0/1 opens no memory to peers, and the barrier of ranks is RDMA writes over RC", row["skip_message"])


@rdmameter.on(rdmameter.SOFTWARE)
class InfinibandByCm(rdmameter.Test):
    ENDS = (("mlx5-ib", ()), ("mlx5-ib-vf", ()), ("mlx5-ib,mlx5-ib-vf", BETWEEN_BOTH))

    def test_rdma_cm_connects_by_the_gids(self):
        for personality, ends in self.ENDS:
            with self.subTest(personality):
                self.play(personality)
                rows = self.measure("send_lat", "send_bw", "--connect", "cm", "--transport", "rc,uc,ud", "--size", "64", *ends,
                                    *SHORT, "--verify")
                rows += self.measure("write_bw", "read_lat", "fetch_add_lat", "--connect", "cm", *ends, *SHORT, "--verify")
                rows += self.measure("send_bw", "--connect", "cm", "--qps", "4", "--threads", "2", "--bidirectional", *ends, *SHORT)
                for row in rows:
                    self.assertEqual(row["route"], {"service_level": 3, "rate_gbps": 103.125, "mtu_bytes": 2048}, row["name"])
                    self.assertEqual(row["case"]["mtu_bytes"], 2048, row["name"])

    def test_the_route_bounds_a_ud_message_whatever_the_ports_take(self):
        self.play("mlx5-ib")
        for options in ((), ("--mtu", "4096")):
            fits, too_long = self.run_program("--loopback", "send_lat", "--transport", "ud", "--connect", "cm", "--size",
                                              "2048,2049", *options, *SHORT).rows
            self.assertEqual(fits["case"]["mtu_bytes"], 2048)
            self.assertRegex(too_long["skip_message"], "2049 bytes are more than the path's MTU of 2048; use --size 2048")

    def test_a_chosen_service_level_goes_before_that_of_the_route(self):
        self.play("mlx5-ib")
        for transport in ("rc", "ud"):
            [row] = self.measure("send_lat", "--connect", "cm", "--sl", "5", "--transport", transport, *SHORT)
            self.assertEqual(row["route"]["service_level"], 5)
        [row] = self.measure("send_lat", *SHORT)
        self.assertNotIn("route", row)

    def test_a_chosen_mtu_goes_before_that_of_the_route(self):
        self.play("mlx5-ib")
        for mtu in (1024, 4096):
            [row] = self.measure("write_bw", "--connect", "cm", "--mtu", str(mtu), *SHORT)
            self.assertEqual((row["case"]["mtu_bytes"], row["route"]["mtu_bytes"]), (mtu, 2048))
        for personality, options in (("mlx5-ib", ()), ("mlx5-roce", ("--connect", "cm"))):  # no route is asked, or none is managed
            self.play(personality)
            [row] = self.measure("write_bw", *options, *SHORT)
            self.assertEqual(row["case"]["mtu_bytes"], 4096)

    def test_another_partition_is_reached(self):
        self.play("mlx5-ib,mlx5-ib-vf")
        self.measure("send_lat", "--connect", "cm", "--pkey", "0x8001", "--transport", "rc,ud", *BETWEEN_BOTH, *SHORT, "--verify")

    def test_connecting_is_measured(self):
        for personality, ends in self.ENDS:
            with self.subTest(personality):
                self.play(personality)
                self.measure("connect", "--connect", "cm", "--transport", "rc,uc,ud", "--iterations", "5", "--objects", "2", *ends)
                self.measure("cm_resolve_addr", "cm_resolve_route", "cm_connect", "--iterations", "5", *ends)

    def test_multicast_groups_are_joined(self):
        for personality, ends in self.ENDS:
            with self.subTest(personality):
                self.play(personality)
                for row in self.measure("mcast_lat", "mcast_bw", "--peers", "1,3", "--size", "64", *ends, *SHORT, "--verify"):
                    self.assertEqual(row["route"]["service_level"], 3)
        self.play("mlx5-ib")
        for group in ("239.255.7.7", "ff12:a01b::7"):
            [row] = self.measure("mcast_lat", "--group", group, *SHORT, "--verify")
            self.assertEqual(row["multicast_group"], group)

    def test_no_group_is_joined_without_an_address_of_ipoib(self):
        self.play("mlx5-ib-bare")
        self.assertRegex(self.skipped("mcast_lat"), "soft0/1 joins multicast groups of InfiniBand by the IP address of its interface of IPoIB")
        self.assertRegex(self.skipped("mcast_lat", "--pkey", "0x8001"), "of the partition 0x8001")


@rdmameter.on(rdmameter.SOFTWARE)
class SharedMemory(rdmameter.Test):
    def test_messages_leave_from_and_arrive_in_a_dma_buf(self):
        for memory in ("dmabuf:udmabuf", "dmabuf:software"):
            rows = self.measure("send_lat", "write_lat", "read_lat", "send_bw", "write_bw", "read_bw", "fetch_add_bw", "--memory", memory,
                                "--size", "64,8K", *SHORT, "--verify")
            for row in rows:
                self.assertEqual((row["case"]["memory"], row["case"]["peer_memory"]), (memory, "host"))
            self.measure("send_bw", "--memory", memory, "--qps", "2", "--mr-per-qp", *SHORT, "--verify")
        [row] = self.measure("write_bw", "--memory", "dmabuf:udmabuf", "--bidirectional", *SHORT, "--verify")
        self.assertEqual(row["directions"]["backward"]["memory"], "host")
        self.measure("reg_mr", "dereg_mr", "--memory", "dmabuf:udmabuf", "--size", "4K,1M", "--iterations", "5")

    def test_what_cannot_be_is_skipped_with_the_reason(self):
        self.assertRegex(self.skipped("send_lat", "--memory", "dmabuf:none"), "this machine has no /dev/dma_heap/none")
        self.assertRegex(self.skipped("send_lat", "--peer-memory", "dmabuf:udmabuf"), "--peer-memory takes host, huge, huge1g, device or a GPU's")
        self.play("rxe")
        self.assertRegex(self.skipped("send_lat", "--memory", "dmabuf:udmabuf"), "registers no dma-buf .ibv_reg_dmabuf_mr.: use --memory host")
        for word in ("dmabuf:", "dmabuf:../x", "cuda:", "cuda:x", "cuda:256", "cuda:0000:17:00.0:00.0", "cuda:::.", "cuda:1:2", "rocm:0000:17:00.0", "rocm:"):
            self.assertIn("dmabuf:NAME", self.run_program("--loopback", "send_lat", "--memory", word, status=rdmameter.USAGE).stderr)


@rdmameter.on(rdmameter.SOFTWARE)
class GpuMemory(rdmameter.Test):
    """With libraries in the place of the drivers' own, whose memory ends the program when the CPU touches it."""

    def setUp(self):
        super().setUp()
        self.set("LD_LIBRARY_PATH", rdmameter.gpu_libraries())

    def set(self, name, value):
        os.environ[name] = value
        self.addCleanup(os.environ.pop, name, None)

    def ways(self, *options):
        [row] = self.measure(*options, *SHORT)
        return row.get("gpu_registration"), row.get("peer_gpu_registration")

    def test_messages_leave_from_and_arrive_in_it_at_either_end(self):
        for personality in ("generic", "mlx5-roce"):
            self.play(personality)
            for ends in (("--memory", "cuda:0"), ("--peer-memory", "rocm:1"), ("--memory", "cuda:0000:27:00.0", "--peer-memory", "cuda:0"),
                         ("--memory", "rocm:0", "--peer-memory", "cuda:1")):
                rows = self.measure("send_lat", "read_lat", "write_imm_lat", "send_bw", "write_bw", "read_bw", "fetch_add_bw", "mix_load",
                                    *ends, "--size", "64,8K", "--rate", "100k", "--verify", *SHORT)
                for row in rows:
                    self.assertEqual(["gpu_registration" in row, "peer_gpu_registration" in row], ["--memory" in ends, "--peer-memory" in ends])
                    self.assertIn(row.get("gpu_pcie_path", row.get("peer_gpu_pcie_path")), ("unknown",)) # the device is in no slot
                    self.assertEqual(("gpu_bytes" in row["resources"], "inlined" not in row or "--memory" not in ends), ("--memory" in ends, True))
            self.measure("send_bw", "--memory", "cuda:1", "--threads", "2", "--qps", "2", *SHORT)
        self.measure("reg_mr", "--memory", "cuda:0,rocm:1", "--size", "4K,1M", "--iterations", "5")

    def test_each_machine_has_its_own_in_both_directions(self):
        for ends, theirs in ((("--memory", "cuda:0"), "host"), (("--memory", "cuda:0", "--peer-memory", "rocm:1"), "rocm:1"),
                             (("--peer-memory", "cuda:1"), "cuda:1")):
            for row in self.measure("send_bw", "write_bw", "--transport", "rc,uc", *ends, "--bidirectional", "--verify", *SHORT):
                self.assertEqual(row["directions"]["backward"]["memory"], theirs)

    def test_it_is_registered_as_asked_or_as_the_device_can(self):
        for word, way in (("auto", "dmabuf"), ("dmabuf", "dmabuf"), ("pointer", "pointer"), ("pointer-first", "pointer")):
            for gpu in "cuda:0", "rocm:0":
                self.assertEqual(self.ways("write_bw", "--memory", gpu, "--gpu-registration", word, "--verify"), (way, None))
        [row] = self.measure("reg_mr", "--memory", "cuda:0", "--gpu-registration", "pointer", "--iterations", "5")
        self.assertEqual(row["gpu_registration"], "pointer")
        self.assertEqual(self.ways("send_bw", "--memory", "cuda:2"), ("pointer", None)) # one that shares nothing
        self.play("rxe") # a device that registers no dma-buf
        self.assertEqual(self.ways("send_bw", "--memory", "cuda:0"), ("pointer", None))
        self.assertRegex(self.skipped("send_bw", "--memory", "cuda:0", "--gpu-registration", "dmabuf"),
                         "soft0/1 registers no dma-buf .ibv_reg_dmabuf_mr.: use --gpu-registration auto, or --memory host")

    def test_rocm_is_found_by_the_name_of_each_release(self):
        for release in "7", "5":
            os.mkdir(folder := f"{self.scratch}/{release}")
            for name, library in (f"libamdhip64.so.{release}", "libamdhip64.so.6"), ("libhsa-runtime64.so.1",) * 2:
                os.symlink(os.path.abspath(f"{rdmameter.gpu_libraries()}/{library}"), f"{folder}/{name}")
            os.environ["LD_LIBRARY_PATH"] = folder
            self.assertEqual(self.ways("write_bw", "--memory", "rocm:0", "--verify"), ("dmabuf", None))

    @unittest.skipUnless(os.geteuid() == 0, "another /sys takes root")
    def test_what_is_between_it_and_the_adapter_is_recorded_and_shown(self):
        for link, place, node in (("class/infiniband/soft0/device", "pci0000:15/0000:15:01.0/0000:19:00.0", 0),
                                  ("bus/pci/devices/0000:17:00.0", "pci0000:15/0000:15:01.0/0000:17:00.0", 0),
                                  ("bus/pci/devices/0000:27:00.0", "pci0000:26/0000:27:00.0", 1)):
            os.makedirs(f"{self.scratch}/devices/{place}")
            with open(f"{self.scratch}/devices/{place}/numa_node", "w", encoding="ascii") as file:
                file.write(f"{node}\n")
            os.makedirs(os.path.dirname(f"{self.scratch}/{link}"), exist_ok=True)
            os.symlink(f"{self.scratch}/devices/{place}", f"{self.scratch}/{link}")
        mounts = " && ".join(f"mount --bind {self.scratch}/{each} /sys/{each}" for each in ("bus", "class"))
        done = self.run_program("--loopback", "write_bw", "--memory", "cuda:0", "--peer-memory", "cuda:0,cuda:1", *SHORT,
                                prefix=("unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh"))
        self.assertEqual([(row["gpu_pcie_path"], row["peer_gpu_pcie_path"]) for row in done.rows], [("switch", "switch"), ("switch", "socket")])
        shown = subprocess.run([rdmameter.program, "show", done.path], check=True, capture_output=True, text=True).stdout
        for way in "gpu pcie path switch,", "peer gpu pcie path switch in 1 of 2 rows", "peer gpu pcie path socket in 1 of 2 rows":
            self.assertIn(way, " ".join(shown.split()))

    def test_data_direct_is_taken_where_adapter_and_gpu_have_it(self):
        direct = ("send_bw", "--gpu-registration", "data-direct", "--memory")
        self.assertRegex(self.skipped(*direct, "cuda:1"), "the device has no data-direct engine")
        self.play("mlx5-xdr")
        self.assertEqual(self.ways(*direct, "cuda:1", "--verify"), ("data-direct", None))
        self.assertRegex(self.skipped(*direct, "cuda:0"), "maps no dma-buf of that GPU through PCIe")
        self.assertRegex(self.skipped(*direct, "rocm:0"), "data-direct is NVIDIA's")

    def test_what_the_cpu_would_do_is_skipped_with_the_reason(self):
        for options, why in ((("write_lat",), "the CPU looks for the last byte of each message, and does not reach GPU memory"),
                             (("send_lat", "--transport", "ud", "--size", "64"), "does not reach GPU memory"),
                             (("send_lat", "--inline", "64"), "does not reach GPU memory: use --inline off")):
            for end in ("--memory", "cuda:0"), ("--peer-memory", "rocm:0"):
                self.assertRegex(self.skipped(*options, *end), why)
        for gpu, name in ("cuda:7", "CUDA_ERROR_INVALID_DEVICE"), ("cuda:0000:99:00.0", "CUDA_ERROR_INVALID_DEVICE"), ("rocm:7", "hipErrorInvalidDevice"):
            self.assertRegex(self.skipped("send_lat", "--memory", gpu), f"{name} .*no such GPU")
        self.assertRegex(self.skipped("send_lat", "--memory", "rocm:%l"), "%l is the number of a rank on its machine, and .*: use rocm:N")
        # The machine's own may be there: Debian 13's Open MPI brings libamdhip64.so.5.
        os.mkdir(unusable := f"{self.scratch}/unusable")
        for library in "libcuda.so.1", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5":
            with open(f"{unusable}/{library}", "w", encoding="ascii") as file:
                file.write("no library")
        os.environ["LD_LIBRARY_PATH"] = unusable
        self.assertRegex(self.skipped("send_lat", "--memory", "cuda:0"), "this machine has no usable libcuda.so.1")
        self.assertRegex(self.skipped("send_lat", "--peer-memory", "rocm:0"), "this machine has no usable libamdhip64.so.7, .6 or .5")

    def test_several_devices_have_one_together_or_one_each(self):
        devices = ("--device", "soft0+soft1", "--peer-device", "soft1+soft0", "--size", "8K", "--verify", *SHORT)
        for ends in ("--memory", "cuda:0"), ("--memory", "cuda:0+cuda:1"), ("--memory", "cuda:1+rocm:0", "--peer-memory", "rocm:1+cuda:0"):
            for row in self.measure("write_bw", "read_bw", "send_bw", *devices, *ends, "--threads", "2"):
                self.assertEqual((row["gpu_registration"], len(row["per_device"])), ("dmabuf", 2))
                self.assertEqual(row["resources"]["gpu_bytes"], row["resources"]["buffer_bytes"])
            for row in self.measure("write_bw", *devices, *ends, "--bidirectional"):
                self.assertEqual(row["directions"]["backward"]["memory"], "rocm:1+cuda:0" if "--peer-memory" in ends else "host")
        [row] = self.measure("write_bw", *devices, "--memory", "cuda:0+cuda:2", "--peer-memory", "cuda:2+cuda:0")  # the third shares nothing
        self.assertEqual((row["gpu_registration"], row["peer_gpu_registration"]), ("dmabuf+pointer", "pointer+dmabuf"))
        self.assertRegex(self.skipped("write_bw", *devices, "--memory", "cuda:0+cuda:7"), "cuda:7: .*no such GPU")
        self.assertRegex(self.skipped("write_bw", "--memory", "cuda:0+cuda:1"), "--memory names 2 GPUs, one for each device in order")

    def test_a_kernel_that_lets_no_device_in_is_skipped_with_the_modules_name(self):
        self.inject("reg_mr@1+=EFAULT")
        for gpu, module in ("cuda:0", "nvidia-peermem"), ("rocm:0", "amdgpu"):
            self.assertRegex(self.skipped("reg_mr", "--memory", gpu, "--gpu-registration", "pointer"), f"takes the module {module}")
        self.assertRegex(self.skipped("reg_mr", "--memory", "cuda:0", "--gpu-registration", "pointer-first"),
                         "registers no dma-buf .ibv_reg_dmabuf_mr., and by its address .*nvidia-peermem")
        self.inject("reg_mr@1+=ENOTSUPP") # the kernel's own error, which NVIDIA's driver lets through
        self.assertRegex(self.skipped("reg_mr", "--memory", "cuda:0"), "owns the dma-buf does not let soft0/1 reach it .*nvidia-peermem.*use --memory host")

    def test_a_server_opens_one_only_where_its_owner_has_said_so(self):
        ends = ("--peer-memory", "cuda:0", *SHORT)
        server = self.serve()
        [row] = self.run_program(f"localhost:{server.port}", "write_bw", *ends, status=rdmameter.USAGE).rows
        self.assertRegex(row["skip_message"], "cuda:0: this server opens no GPU for its clients: start it with `rdmameter serve --gpu`")
        server = self.serve("--gpu")
        for row in self.run_program(f"localhost:{server.port}", "write_bw", "read_bw", "send_lat", "--memory", "rocm:0", "--verify", *ends).rows:
            self.assertEqual((row["gpu_registration"], row["peer_gpu_registration"]), ("dmabuf", "dmabuf"))
        server = self.serve("--gpu", "--max-memory", "1M")
        small, large = self.run_program(f"localhost:{server.port}", "write_bw", "--size", "64,1M", *ends).rows
        self.assertEqual(small["peer_gpu_registration"], "dmabuf")
        self.assertRegex(large["skip_message"], "buffers and queues of .* MiB, while the server gives its clients 1.0 MiB")

    def test_a_server_that_is_shut_in_opens_one_too(self):
        self.set("RDMAMETER_DEVICE_AGENT", "1")
        server = self.serve("--gpu", "--sandbox", "on", "--sandbox-allow", "/dev/shm", "--sandbox-allow", os.environ["LD_LIBRARY_PATH"])
        for row in self.run_program(f"localhost:{server.port}", "write_bw", "read_bw", "send_lat", "--memory", "cuda:0", "--peer-memory", "cuda:1",
                                    "--size", "8,200K", "--verify", *SHORT).rows:
            self.assertNotIn("error_message", row)
            self.assertEqual((row["gpu_registration"], row["peer_gpu_registration"]), ("dmabuf", "dmabuf"))

    def test_the_software_device_copies_through_the_driver_what_it_cannot_map(self):
        self.set("FAKE_GPU_UNMAPPED", "1") # as the dma-bufs of a real GPU
        self.measure("send_lat", "write_bw", "read_bw", "--memory", "cuda:0", "--peer-memory", "cuda:0", "--size", "8,8K", "--verify", *SHORT)


@rdmameter.on(rdmameter.SOFTWARE)
class Rights(rdmameter.Test):
    def test_a_device_that_opens_no_memory_to_peers_carries_sends(self):
        self.play("efa")
        self.measure("send_lat", "send_imm_lat", "--transport", "ud", "--size", "64,4K", *SHORT, "--verify")

    def test_what_it_lacks_is_skipped_with_the_reason(self):
        self.play("efa")
        for options, why in ((("send_lat", "--size", "64"), "has no QPs of rc: use another --transport"),
                             (("send_lat", "--transport", "uc", "--size", "64"), "has no QPs of uc"),
                             (("write_lat",), "opens no memory to peers in this way: use a test of sends"),
                             (("read_bw", "--size", "4K"), "opens no memory to peers in this way: use a test of sends"),
                             (("mcast_lat", "--size", "64"), "has no multicast"),
                             (("send_lat", "--transport", "ud", "--connect", "cm", "--size", "64"), "use --connect tcp"),
                             (("cm_connect",), "use --connect tcp, or a test without rdma_cm")):
            self.assertRegex(self.skipped(*options), why)
        self.measure("create_qp", "modify_qp_rts", "create_ah", "connect", "--transport", "ud", "--iterations", "5")
        for test in ("create_qp", "destroy_qp", "modify_qp_init", "connect", "send_bw", "write_bw"):
            self.assertRegex(self.skipped(test, "--iterations", "5"), "has no QPs of rc: use another --transport")

    def test_regions_are_for_this_end_alone_where_none_is_open_to_peers(self):
        for personality, opened in (("efa", False), ("generic", True)):
            self.play(personality)
            for row in self.measure("reg_mr", "dereg_mr", "--size", "64,1M", "--objects", "2", "--iterations", "5"):
                self.assertEqual(row["remote_access"], opened, personality)


@rdmameter.on(rdmameter.SOFTWARE)
class Signals(rdmameter.Test):
    def test_a_device_that_takes_no_unsignaled_request_has_a_completion_of_each_by_default(self):
        self.play("efa")
        for row in self.measure("send_bw", "--transport", "ud", "--size", "64,4K", "--depth", "4,128", *SHORT, "--verify"):
            self.assertEqual(row["case"]["signal_every"], 1)

    def test_fewer_signals_that_were_asked_for_are_skipped_with_the_reason(self):
        self.play("efa")
        self.assertRegex(self.skipped("send_bw", "--transport", "ud", "--size", "64", "--signal-every", "4"),
                         "--signal-every 4: soft0/1 does not support unsignaled requests; use --signal-every 1")


@rdmameter.on(rdmameter.SOFTWARE)
class DeviceMemory(rdmameter.Test):
    def test_small_receives_into_it_do_not_crash_where_the_provider_would_copy_them_by_the_cpu(self):
        self.play("mlx5-ib")
        for ends in (("--memory", "device"), ("--peer-memory", "device"), ("--memory", "device", "--peer-memory", "device")):
            for tests, transport in ((("send_lat", "send_imm_lat", "send_bw"), "rc"), (("send_imm_lat", "send_bw"), "uc")):
                self.measure(*tests, "--transport", transport, "--size", "8,64", "--recv", "rq", *ends, *SHORT, "--verify")
        self.measure("send_lat", "--size", "8", "--recv", "srq", "--peer-memory", "device", *SHORT, "--verify")

    def test_it_has_no_pages(self):
        self.play("mlx5-roce")
        self.assertRegex(self.skipped("write_bw", "--memory", "device", "--odp", *SHORT), "on-demand paging is of pages of the host: use --odp off")
        self.assertRegex(self.skipped("reg_mr", "--memory", "device", "--odp", *SHORT), "on-demand paging is of pages of the host")

    def test_it_needs_no_option_in_latencies_which_are_inlined_elsewhere(self):
        self.play("mlx5-roce")
        [row] = self.measure("send_lat", "--memory", "device", *SHORT, "--verify")
        self.assertEqual(row["case"]["inline_bytes"], 0)
        self.assertNotIn("inlined", row)


@rdmameter.on(rdmameter.SOFTWARE)
class Paging(rdmameter.Test):
    def test_it_is_asked_for_by_transport_and_use(self):
        self.play("mlx5-ib")
        self.measure("send_lat", "write_bw", "read_lat", "fetch_add_lat", "--odp", "--size", "64", *SHORT, "--verify")
        for test, transport, use in (("send_lat", "ud", "receives over ud"), ("send_bw", "ud", "receives over ud"),
                                     ("write_bw", "uc", "RDMA WRITEs over uc")):
            self.assertRegex(self.skipped(test, "--odp", "--transport", transport, "--size", "64"),
                             f"has no on-demand paging for {use}: use --odp off, or --transport rc")


@rdmameter.on(rdmameter.SOFTWARE)
class Inline(WithRanks):
    def test_automatic_ends_at_the_limit_of_the_device(self):
        for personality, limit in (("bnxt", 96), ("irdma-roce", 101), ("tiny", 0)):
            self.play(personality)
            for size in (8, 96, 101, 128):
                [row] = self.measure("send_lat", "--size", str(size), "--rx-depth", "16", *SHORT, "--verify")
                self.assertEqual(row.get("inlined", False), size <= limit, (personality, size))
                self.assertEqual(row["case"]["inline_bytes"] != 0, size <= limit, (personality, size))

    def test_a_limit_that_is_lowered_without_a_word_is_the_limit(self):
        self.play("hns")
        self.assertIn("a QP can be created with at most 1024; use --inline 1024", self.skipped("send_lat", "--inline", "2048"))
        [row] = self.measure("send_lat", "--inline", "max", *SHORT)
        self.assertEqual(row["case"]["inline_bytes"], 1024)
        self.assertEqual(self.inline_of_devices(), 1024)

    def test_a_provider_that_passes_inline_over_has_none(self):
        self.play("mana")
        for options, size in (((), 8), (("--inline", "max"), 8), (("--inline", "off"), 64)):
            [row] = self.measure("send_lat", "--size", str(size), *options, *SHORT, "--verify")
            self.assertFalse(row.get("inlined", False), options)
            self.assertEqual(row["case"]["inline_bytes"], 0)
        self.assertIn("passes over IBV_SEND_INLINE; use --inline off", self.skipped("send_lat", "--inline", "64"))
        self.assertEqual(self.inline_of_devices(), 0)

    def inline_of_devices(self):
        done = rdmameter.Started([rdmameter.program, "devices", "--json"], rdmameter.environment()).end(60)
        return json.loads(done.stdout)["devices"][0]["transports"]["rc"]["max_inline_bytes"]

    def test_short_messages_of_latencies_spare_the_device_a_fetch(self):
        self.let_cost("fetch=20ms")
        few = ("--iterations", "3", "--warmup", "1")
        for test in ("send_lat", "write_lat"):
            for inline, fetches in (("auto", False), ("off", True)):
                [row] = self.measure(test, "--size", "64", "--inline", inline, *few)
                self.assertEqual(row["latency"]["min"] >= 20e6, fetches, (test, inline, row["latency"]["min"]))

    def test_barriers_and_credits_of_ranks_spare_the_device_a_fetch(self):
        """By what a fetch costs on this device: an exchange is one message each way, for which the one before has left a credit."""
        self.let_cost("fetch=50ms")
        row = self.topo("--depth", "1", "--iterations", "6", "--warmup", "1", traffic="alltoall")
        self.assertLess(row["topology"]["barrier_ns"], 50e6)
        self.assertTrue(50e6 <= row["latency"]["min"] < 100e6, row["latency"])


@rdmameter.on(rdmameter.SOFTWARE)
class Locks(WithRanks):
    def test_each_thread_has_a_thread_domain_and_cqs_of_its_own_where_the_device_has_them(self):
        self.play("mlx5-ib")
        for options, threads, cqs in (((), 1, 2), (("--threads", "2"), 2, 4), (("--qps", "3", "--cq-sharing", "per-qp"), 1, 6),
                                      (("--cq", "extended"), 1, 2), (("--wait", "event"), 1, 2)):
            for row in self.measure("send_lat", "send_bw", "--size", "64", *options, *SHORT, "--verify"):
                self.assertEqual(row["case"]["thread_domain"], "on")
                self.assertEqual((row["resources"]["thread_domains"], row["resources"]["single_threaded_cqs"]), (threads, cqs))
        for test, transport in (("send_bw", "uc,ud"), ("read_bw", "rc"), ("mcast_lat", None)):
            self.play("mlx5-roce")
            self.measure(test, *(("--transport", transport) if transport else ()), "--size", "64", *SHORT, "--verify")
        self.measure("write_bw", "--threads", "2", "--bidirectional", "--size", "64", *SHORT)
        self.measure("send_bw", "--recv", "srq", "--qps", "2", "--size", "64", *SHORT, "--verify")

    def test_queues_are_made_without_locks(self):
        """By what a lock costs on this device: each post and each poll that takes one. mlx5 takes one in each ibv_poll_cq()."""
        self.let_cost("lock=50ms")
        lock_ns, few = 50e6, ("--iterations", "3", "--warmup", "1", "--core", "off")
        for personality, options, of_polls in (("generic", (), 0), ("generic", ("--connect", "cm"), 0), ("mlx5-ib", ("--cq", "extended"), 0), ("mlx5-ib", (), 1),
                                               ("efa", ("--transport", "ud", "--cq", "extended"), 0), ("efa", ("--transport", "ud"), 1)):
            self.play(personality)
            for domain, locks in (("auto", of_polls), ("off", 2)):  # a post at each end; polls pass while messages are on their way
                [row] = self.measure("send_lat", "--thread-domain", domain, *options, *few)
                least = row["latency"]["min"]
                self.assertTrue(least < lock_ns if locks == 0 else least >= locks * lock_ns, (personality, options, domain, least))

    def test_a_process_that_the_user_calls_single_threaded_is_told_on_mlx5_alone(self):
        os.environ["MLX5_SINGLE_THREADED"] = "1"
        self.addCleanup(os.environ.pop, "MLX5_SINGLE_THREADED", None)
        for personality, told in (("mlx5-ib", True), ("generic", None)):
            self.play(personality)
            [row] = self.measure("send_lat", *SHORT)
            self.assertEqual(row.get("mlx5_single_threaded"), told)
        os.environ["MLX5_SINGLE_THREADED"] = "0"
        self.play("mlx5-ib")
        [row] = self.measure("send_lat", *SHORT)
        self.assertNotIn("mlx5_single_threaded", row)

    def test_ranks_have_them_too(self):
        few = ("--iterations", "3", "--warmup", "1")
        self.let_cost("lock=50ms")
        for domain, chosen in (("auto", "on"), ("off", "off")):
            row = self.topo("--thread-domain", domain, *few)
            self.assertEqual(row["case"]["thread_domain"], chosen)
            self.assertEqual(row["latency"]["min"] >= 50e6, chosen == "off", row["latency"])

    def test_ranks_without_them_say_so(self):
        self.play("bnxt")
        row = self.topo(*SHORT)
        self.assertEqual(row["case"]["thread_domain"], "off")
        row = self.topo("--thread-domain", "on", *SHORT, status=rdmameter.USAGE)
        self.assertIn("has no thread domains: use --thread-domain auto", row["skip_message"])

    def test_off_has_none(self):
        self.play("mlx5-ib")
        [row] = self.measure("send_lat", "--thread-domain", "off", *SHORT)
        self.assertEqual(row["case"]["thread_domain"], "off")
        self.assertNotIn("thread_domains", row["resources"])

    def test_a_device_without_them_goes_on_with_locks_and_the_row_says_so(self):
        self.play("bnxt")
        [row] = self.measure("send_lat", *SHORT)
        self.assertEqual(row["case"]["thread_domain"], "off")
        self.assertRegex(self.skipped("send_lat", "--thread-domain", "on"), "soft0/1 has no thread domains: use "
                         "--thread-domain auto, or --thread-domain off")

    def test_ends_that_differ_are_told_apart(self):
        self.play("mlx5-roce,rxe")
        [row] = self.measure("send_lat", "--device", "soft0", "--peer-device", "soft1", *SHORT)
        self.assertEqual((row["case"]["thread_domain"], row["peer_thread_domain"]), ("on", False))

    def test_one_that_the_device_has_no_more_of_is_gone_without(self):
        self.play("mlx5-ib")
        server = self.serve()
        self.inject("alloc_td@2+=ENOMEM")  # one for two threads: the locks of the other are in the numbers of both
        [row] = self.run_program(f"localhost:{server.port}", "send_bw", "--threads", "2", *SHORT).rows
        self.assertEqual((row["case"]["thread_domain"], row["peer_thread_domain"]), ("off", True))
        self.assertEqual(row["resources"]["thread_domains"], 1)
        self.inject("alloc_td@1+=ENOMEM")
        [row] = self.measure("send_lat", *SHORT)
        self.assertEqual(row["case"]["thread_domain"], "off")
        [row] = self.run_program("--loopback", "send_lat", "--thread-domain", "on", *SHORT, status=rdmameter.FAILED).rows
        self.assertIn("ibv_alloc_td", row["error_message"])


@rdmameter.on(rdmameter.SOFTWARE)
class Events(rdmameter.Test):
    def test_what_traffic_outlives_is_noted_in_the_row(self):
        self.inject("post_send@200=GID_CHANGE,post_send@300=PKEY_CHANGE,post_send@400=SM_CHANGE")
        first, second = self.measure("send_lat", "--size", "8,64", "--iterations", "2000")
        self.assertEqual(sorted(first["async_events"]), ["IBV_EVENT_GID_CHANGE", "IBV_EVENT_PKEY_CHANGE", "IBV_EVENT_SM_CHANGE"])
        self.assertNotIn("async_events", second)

    def test_another_lid_ends_the_case_and_the_next_one_uses_it(self):
        self.play("mlx5-ib")
        self.inject("post_send@2000=LID_CHANGE")
        # It is the event that ends the first case, however late it comes.
        rows = self.run_program("--loopback", "send_lat", "--duration", "600,0.5", status=rdmameter.FAILED).rows
        self.assertIn("IBV_EVENT_LID_CHANGE: the port got another LID", rows[0]["error_message"])
        self.assertNotIn("error_message", rows[1])


if __name__ == "__main__":
    rdmameter.main()
