#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--threads and --bidirectional: every thread and direction carries verified traffic, and the whole is their sum."""
import os

import rdmameter

FEW = ("--iterations", "300", "--warmup", "64", "--wait", "yield")


class Threads(rdmameter.Test):
    def test_each_has_its_own_qps_and_share_of_every_bandwidth(self):
        rows = self.measure("[!tm]*_bw", "--transport", "rc", "--threads", "3", "--qps", "2", "--size", "256",
                            "--verify", *FEW)
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

    @rdmameter.spared_in_vm
    def test_a_latency_has_the_samples_of_all(self):
        few = ("--threads", "2", "--size", "64", "--verify", "--iterations", "50", "--warmup", "5", "--wait", "yield")
        for row in self.measure("[!tm]*_lat", *few) + self.measure("s*_lat", "--transport", "uc,ud", *few):
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


class BothWays(rdmameter.Test):
    def test_each_direction_is_counted_and_verified(self):
        rows = []
        for tests, transport in (("[!tm]*_bw", "rc"), ("[sw]*_bw", "uc"), ("s*_bw", "ud")):
            rows += self.measure(tests, "--transport", transport, "--bidirectional", "--size", "512", "--verify",
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
