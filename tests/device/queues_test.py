#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--qps, --depth, --rx-depth, --post-list, --signal-every: seen in the work that was done."""
import rdmameter

BANDWIDTH = ("send_bw", "write_bw", "read_bw")


class Queues(rdmameter.Test):
    @rdmameter.spared_in_vm
    def test_each_number_of_qps_carries_verified_traffic(self):
        rows = self.measure(*BANDWIDTH, "--qps", "1,4,16", "--size", "64,8K", "--iterations", "400", "--warmup", "64",
                            "--verify")
        self.assertEqual(len(rows), 18)
        for row in rows:
            self.assertEqual(row["resources"]["qps"], row["case"]["qps"], row["name"])
            self.assertGreater(row["verified_bytes"], 0, row["name"])

    @rdmameter.spared_in_vm
    def test_unconnected_and_unreliable_qps_share_the_traffic_too(self):
        rows = self.measure("send_bw", "--transport", "uc,ud", "--qps", "4", "--depth", "64", "--iterations", "400",
                            "--warmup", "64", "--size", "256", "--verify")
        for row in rows:
            self.assertEqual(row["bandwidth"]["counted_by"], "receiver")
            self.assertEqual(row["bandwidth"]["received"] + row["bandwidth"]["lost"], row["bandwidth"]["sent"])

    def test_a_list_of_requests_is_one_doorbell(self):
        rows = self.measure("write_bw", "send_bw", "--size", "64", "--post-list", "1,4,16", "--signal-every", "1,16",
                            "--depth", "64", "--iterations", "640", "--warmup", "64", "--verify")
        self.assertEqual(len(rows), 12)
        for row in rows:
            work, case = row["work"], row["case"]
            with self.subTest(row["name"]):
                # The last request on each QP ends the traffic, with a doorbell and a completion of its own.
                self.assertEqual(work["doorbells"], (work["wrs"] - 1) / case["post_list"] + 1)
                self.assertEqual((work["wrs"] - 1) % case["post_list"], 0)

    @rdmameter.spared_in_vm
    def test_every_nth_request_has_a_completion(self):
        rows = self.measure("write_bw", "--size", "64", "--post-list", "1,4", "--signal-every", "1,4,16",
                            "--depth", "64", "--iterations", "640", "--warmup", "64")
        for row in rows:
            work, case = row["work"], row["case"]
            with self.subTest(row["name"]):
                # Those of the last requests in flight stay uncounted once the window is closed.
                fewest = (704 - 1) // case["signal_every"]
                most = work["wrs"] // case["signal_every"] + 1
                self.assertTrue(fewest <= work["cqes"] <= most, f"{work}, {fewest} to {most}")

    @rdmameter.spared_in_vm
    def test_the_queues_are_as_deep_as_asked_for(self):
        rows = self.measure("send_bw", "--depth", "8,128", "--rx-depth", "16,500", "--signal-every", "4",
                            "--iterations", "300", "--warmup", "10", "--verify")
        for row in rows:
            self.assertEqual(row["resources"]["send_wrs_per_qp"], row["case"]["depth"])
        self.assertEqual([row["case"]["rx_depth"] for row in rows], [16, 500, 16, 500])

    @rdmameter.spared_in_vm
    def test_an_axis_without_meaning_for_a_test_makes_one_row_without_it(self):
        rows = self.measure("read_lat", "send_bw", "--post-list", "1,4", "--rx-depth", "16,32", "--iterations", "20")
        self.assertEqual(len(rows), 1 + 4)
        self.assertFalse({"post_list", "rx_depth"} & set(rows[0]["case"]))

    @rdmameter.spared_in_vm
    def test_the_messages_of_a_latency_go_over_the_qps_in_turn(self):
        rows = self.measure(*rdmameter.RC_LATENCIES, "--transport", "rc", "--qps", "3", "--size", "64", "--iterations", "60",
                            "--warmup", "5", "--signal-every", "1,4", "--verify")
        for row in rows:
            self.assertEqual(row["latency"]["count"], 60, row["name"])
            self.assertEqual(row["resources"]["qps"], 3, row["name"])


class Completions(rdmameter.Test):
    @rdmameter.spared_in_vm
    def test_each_qp_has_cqs_of_its_own_where_asked(self):
        rows = self.measure("send_bw", "send_lat", "read_bw", "write_lat", "--qps", "1,3", "--cq-sharing", "shared,per-qp",
                            "--cq", "classic,extended", "--wait", "yield", "--size", "64", "--iterations", "200",
                            "--warmup", "16", "--verify")
        self.assertEqual(len(rows), 4 * 2 * (1 + 2))  # one QP has nobody to share with
        for row in rows:
            case, cqs = row["case"], row["resources"]["cqs"]
            self.assertEqual(cqs, 6 if case.get("cq_sharing") == "per-qp" else 2, row["name"])

    @rdmameter.everyday
    def test_waits_for_events_of_several_cqs_miss_none(self):
        rows = self.measure("send_bw", "send_lat", "read_lat", "write_imm_lat", "--qps", "5", "--cq-sharing", "per-qp",
                            "--cq", "classic,extended", "--recv", "rq,srq", "--wait", "event", "--size", "64",
                            "--iterations", "300", "--warmup", "8", "--verify")
        for row in rows:
            if "latency" in row and "bandwidth" not in row:
                self.assertEqual(row["latency"]["count"], 300)

    @rdmameter.spared_in_vm
    def test_a_cq_is_as_deep_as_asked_or_refused_where_it_would_overrun(self):
        rows = self.measure("send_bw", "--cq-depth", "1024,auto", "--iterations", "200", "--verify")
        self.assertEqual([row["case"]["cq_depth"] for row in rows], [1024, "auto"])
        self.assertGreaterEqual(rows[0]["resources"]["send_cqes"], 1024)
        self.assertLess(rows[1]["resources"]["send_cqes"], 1024)
        self.assertRegex(self.skipped("send_bw", "--cq-depth", "511"),
                         "the responder: the receive CQ on .* must hold 512 completions, and one of 511 entries overruns: "
                         "use --cq-depth 512 or more")
        self.assertRegex(self.skipped("write_bw", "--signal-every", "1", "--qps", "2", "--cq-depth", "200"),
                         "the send CQ on .* must hold 256 completions, and one of 200 entries overruns")
        self.measure("write_bw", "--signal-every", "1", "--qps", "2", "--cq-depth", "200", "--cq-sharing", "per-qp",
                     "--iterations", "200")

    def test_events_come_on_the_vector_asked_for_or_it_is_not_there(self):
        [(device, _), *_] = rdmameter.active_ports()
        vectors = device["limits"]["completion_vectors"]
        [row] = self.measure("send_lat", "--wait", "event", "--comp-vector", str(vectors - 1), "--iterations", "50")
        self.assertEqual(row["case"]["comp_vector"], vectors - 1)
        self.assertRegex(self.skipped("send_lat", "--wait", "event", "--comp-vector", str(vectors)),
                         f"completion vector {vectors}: .* has {vectors}, 0 being the first; use a smaller --comp-vector")

    def test_timestamps_are_told_apart_or_the_device_has_none(self):
        done = self.run_program("--loopback", "send_lat", "read_lat", "--cq", "extended", "--timestamps", "off,on",
                                "--iterations", "100")
        for row in done.rows:
            if row["case"].get("timestamps") and "skip_message" in row:
                self.assertRegex(row["skip_message"], "gives no completion timestamps: use --timestamps off")
            else:
                self.assertEqual("shares" in row, row["case"]["timestamps"])
        self.assert_valid(done.path)


@rdmameter.spared_in_vm
class TooShallow(rdmameter.Test):
    def test_for_signal_every_it_says_how_deep_and_which_option(self):
        reason = self.skipped("write_bw", "--depth", "16", "--signal-every", "32")
        self.assertRegex(reason, "--signal-every 32 .* queue of 16 fills up .* use --depth 32 or more")

    def test_for_both_together_it_counts_both(self):
        reason = self.skipped("write_bw", "--depth", "46", "--signal-every", "32", "--post-list", "16")
        self.assertRegex(reason, "--signal-every 32 and --post-list 16 .* use --depth 47 or more")

    def test_one_more_is_enough(self):
        self.measure("write_bw", "--depth", "47", "--signal-every", "32", "--post-list", "16", "--iterations", "500",
                     "--warmup", "0", "--verify")

    def test_for_a_list_it_says_so(self):
        self.assertRegex(self.skipped("write_bw", "--depth", "8", "--post-list", "16"),
                         "a list of 16 WRs does not fit a send queue of 8")


class BeyondTheDevice(rdmameter.Test):
    def test_a_queue_deeper_than_the_device_allows_is_skipped_with_its_limit(self):
        [(device, _), *_] = rdmameter.active_ports()
        most = device["limits"]["max_qp_wr"]
        if most >= 1 << 20:
            self.skipTest("it takes whatever --depth can ask for")
        reason = self.skipped("write_bw", "--depth", str(most + 1), "--device", device["name"])
        self.assertRegex(reason, rf"the device takes {most}; use a smaller --depth")

    def test_more_completions_than_a_cq_holds_are_skipped_with_the_remedy(self):
        [(device, _), *_] = rdmameter.active_ports()
        most = device["limits"]["max_cqe"]
        depth = min(most + 1, device["limits"]["max_qp_wr"])
        reason = self.skipped("write_bw", "--qps", str(most // depth + 1), "--depth", str(depth), "--signal-every", "1", "--size",
                              "8", "--device", device["name"])
        self.assertRegex(reason, f"largest holds {most}: use .*fewer --qps")


if __name__ == "__main__":
    rdmameter.main()
