#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--threads and --bidirectional: every thread and direction carries verified traffic, and the whole is their sum."""
import os
import unittest.mock

import rdmameter

FEW = ("--iterations", "300", "--warmup", "64", "--wait", "yield")


class Threads(rdmameter.Test):
    def test_each_has_its_own_qps_and_share_of_every_bandwidth(self):
        rows = self.measure(*rdmameter.RC_BANDWIDTHS, "--transport", "rc", "--threads", "3", "--qps", "2", "--size", "256",
                            "--depth", "16", "--verify", *FEW)  # a window longer than what is under way
        self.assertGreaterEqual(len(rows), 7)
        for row in rows:
            with self.subTest(row["name"]):
                self.assertEqual(row["resources"]["qps"], 6)
                self.assertEqual(len(row["per_thread"]), 3)
                self.assertEqual(sum(each["operations"] for each in row["per_thread"]), row["bandwidth"]["messages"])
                rates = sum(each["operations"] / each["elapsed_ns"] for each in row["per_thread"])
                self.assertAlmostEqual(row["bandwidth"]["messages"] / row["bandwidth"]["window_ns"] / rates, 1, 3)

    @rdmameter.spared_in_vm
    def test_unreliable_traffic_is_counted_by_each_receiver(self):
        rows = self.measure("send_bw", "--transport", "uc,ud", "--threads", "2", "--size", "256", "--verify", *FEW)
        for row in rows:
            self.assertEqual(row["bandwidth"]["received"] + row["bandwidth"]["lost"], row["bandwidth"]["sent"])
        # Of several loops the quicker goes on with more writes than have slots: nobody knows what arrived.
        [row] = self.measure("write_bw", "--transport", "uc", "--threads", "2", "--size", "256", "--verify", *FEW)
        self.assertIs(row["bandwidth"]["injected"], True)

    @rdmameter.spared_in_vm
    def test_a_latency_has_the_samples_of_all(self):
        few = ("--threads", "2", "--size", "64", "--verify", "--iterations", "50", "--warmup", "5", "--wait", "yield")
        for row in self.measure(*rdmameter.RC_LATENCIES, *few) + self.measure("s*_lat", "--transport", "uc,ud", *few):
            self.assertEqual(row["latency"]["count"] + row.get("lost", 0), 100, row["name"])

    @rdmameter.spared_in_vm
    def test_more_threads_than_cpus_yield_by_themselves(self):
        row, = self.measure("write_bw", "--threads", "8", "--size", "64", "--iterations", "300")
        self.assertEqual(row["case"]["wait"], "yield")

    @rdmameter.spared_in_vm
    def test_cores_follow_one_another(self):
        core = str(min(os.sched_getaffinity(0)))
        row, = self.measure("write_bw", "--threads", "1", "--core", core, "--size", "64", "--iterations", "300")
        self.assertNotIn("per_thread", row)
        cpus = os.sysconf("SC_NPROCESSORS_ONLN")
        done = self.run_program("--loopback", "write_bw", "--threads", str(cpus + 1), "--core", core, "--size", "64",
                                "--iterations", "300", status=rdmameter.USAGE)
        self.assertIn("there is no such CPU here", done.stderr)


class Sharers(rdmameter.Test):
    """--sharers: threads that post to the same QPs, and poll the same CQ."""

    def counts(self, row, sharers):
        """Each thread has measured its own messages, and each of them once."""
        each = [thread["operations"] for thread in row["per_thread"]]
        self.assertEqual(len(each), sharers)
        self.assertGreater(row["verified_bytes"], 0)
        self.assertEqual(row["work"]["cqes"] * row["case"].get("signal_every", 1), row["work"]["wrs"])
        return each

    @rdmameter.on("software")
    def test_whoever_polls_a_completion_gives_it_back_to_its_owner(self):
        # Messages are under way for a while, so threads poll each other's. A list that comes back to another thread, or
        # twice, is posted to a full queue, which ends the program.
        with unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_WIRE": "latency=20us", "RDMAMETER_DEVICE_STRICT": "1"}):
            for post_list in ("1", "2"):
                rows = self.measure("send_bw", "write_bw", "read_bw", "--sharers", "4", "--qps", "2", "--size", "256", "--depth", "16",
                                    "--post-list", post_list, "--signal-every", post_list, "--peer-device", "soft1", "--verify", *FEW)
                for row in rows:
                    with self.subTest(row["name"]):
                        each = self.counts(row, 4)
                        self.assertEqual(row["resources"]["qps"], 2)
                        self.assertEqual(row["bandwidth"]["messages"], sum(each))
                        self.assertEqual(row["latency"]["count"] * int(post_list), sum(each))
                        self.assertLessEqual(max(each), 300 + 64)  # what one poll may bring beyond
                        self.assertGreaterEqual(min(each), 300)
            for row in self.measure("send_cqe_lat", "write_cqe_lat", "read_lat", "--sharers", "3", "--qps", "2", "--size", "256",
                                    "--iterations", "100", "--warmup", "10", "--wait", "yield", "--peer-device", "soft1", "--verify"):
                with self.subTest(row["name"]):
                    self.assertEqual(self.counts(row, 3), [100] * 3)
                    self.assertEqual(row["latency"]["count"], 300)
                    self.assertGreaterEqual(row["latency"]["min"], 40_000)

    @rdmameter.spared_in_vm
    def test_QPs_that_threads_share_keep_their_locks_and_what_cannot_be_is_skipped(self):
        few = ("write_bw", "--sharers", "2", "--signal-every", "1", "--size", "64")
        for api in ("classic", "extended"):
            [row] = self.measure(*few, "--api", api, *FEW, "--verify")
            self.assertFalse(row["case"]["thread_domain"] == "on", row["case"])
        for arguments, why in ((("--threads", "2"), "--threads 1"), (("--wait", "event"), "--wait spin or yield"),
                               (("--thread-domain", "on"), "--thread-domain off"), (("--depth", "1"), "--depth 2 or more"),
                               (("--signal-every", "4"), "--signal-every 1")):
            run = self.run_program("--loopback", *few[:3], *(few[3:5] if "--signal-every" not in arguments else ()),
                                   *few[5:], *arguments, status=rdmameter.USAGE)
            self.assertIn(why, run.stdout + run.stderr)


class BothWays(rdmameter.Test):
    def test_each_direction_is_counted_and_verified(self):
        rows = []
        for tests, transport in ((rdmameter.RC_BANDWIDTHS, "rc"), (["[sw]*_bw"], "uc"), (["s*_bw"], "ud")):
            rows += self.measure(*tests, "--transport", transport, "--bidirectional", "--size", "512", "--verify",
                                 "--depth", "32", *FEW)
        self.assertGreaterEqual(len(rows), 13)
        for row in rows:
            with self.subTest(row["name"]):
                ways = row["directions"]
                self.assertEqual(sum(way["messages"] for way in ways.values()), row["bandwidth"]["messages"])
                for way in ways.values():
                    self.assertGreater(way["messages"], 0)
                    self.assertGreater(way["window_ns"], 0)
                # A loss of unreliable traffic is a figure; what is reliable comes whole.
                if row["case"]["transport"] == "rc":
                    self.assertGreater(row["verified_bytes"], 0)

    @rdmameter.spared_in_vm
    def test_for_a_time_the_windows_are_of_one_length(self):
        row, = self.measure("write_bw", "--bidirectional", "--size", "4K", "--duration", "0.3", "--wait", "yield")
        forward, backward = (row["directions"][way]["window_ns"] for way in ("forward", "backward"))
        self.assertAlmostEqual(forward / backward, 1, delta=0.3)  # a completion tells of 32 messages

    @rdmameter.spared_in_vm
    def test_with_threads(self):
        row, = self.measure("send_bw", "--bidirectional", "--threads", "2", "--size", "512", "--verify", *FEW)
        self.assertEqual(len(row["per_thread"]), 2)
        self.assertIn("backward", row["directions"])


if __name__ == "__main__":
    rdmameter.main()
