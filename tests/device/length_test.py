#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long and how often: --iterations, --duration, --warmup, --repetitions, Google Benchmark's own flags."""
import rdmameter

ALL = ("send_lat", "write_lat", "read_lat", "send_bw", "write_bw", "read_bw")


def measured_seconds(row):
    """Time between the first and the last measured moment."""
    if "bandwidth" in row:
        return row["bandwidth"]["window_ns"] / 1e9
    return int(row["latency"]["histogram"]["sum"]) / 1e9


class Length(rdmameter.Test):
    @rdmameter.spared_in_vm
    def test_a_duration_is_kept_and_has_percentiles(self):
        rows = self.measure(*ALL, "--duration", "0.2", "--size", "64")
        self.assertEqual(len(rows), len(ALL))
        for row in rows:
            with self.subTest(row["name"]):
                self.assertEqual(row["case"]["duration_ns"], 200_000_000)
                self.assertNotIn("iterations", row["case"])
                self.assertLess(measured_seconds(row), 1.0)  # it ends with the first completion past the time
                if "bandwidth" in row:
                    self.assertGreater(measured_seconds(row), 0.195)
                else:  # the sum of the samples: without what lies between them
                    self.assertGreater(measured_seconds(row), 0.05)
                for name, least in (("p50", 20), ("p90", 100), ("p99", 1000)):
                    self.assertIs(row["latency"][name] is None, row["latency"]["count"] < least)

    @rdmameter.spared_in_vm
    def test_iterations_are_counted_exactly_and_warm_up_is_not_among_them(self):
        rows = self.measure(*ALL, "--iterations", "96", "--warmup", "0,32,320")
        self.assertEqual({row["case"]["warmup"] for row in rows}, {0, 32, 320})
        for row in rows:
            with self.subTest(row["name"]):
                case = row["case"]
                if "bandwidth" in row:  # whole completions, each of signal_every messages
                    self.assertTrue(96 <= row["bandwidth"]["messages"] < 96 + 2 * case["signal_every"])
                else:
                    self.assertEqual(row["latency"]["count"], 96)
                    self.assertEqual(row["work"]["wrs"], 96 + case["warmup"])
                    if "doorbells" in row["work"]:  # over verbs
                        self.assertEqual(row["work"]["doorbells"], row["work"]["wrs"])
                        self.assertEqual(row["work"]["cqes"] % row["work"]["wrs"], 0)

    @rdmameter.spared_in_vm
    def test_repetitions_are_rows_of_one_case_with_their_number(self):
        rows = self.measure("send_lat", "write_bw", "--repetitions", "3", "--iterations", "50")
        self.assertEqual([(row["name"].partition("/")[0], row["repetition_index"], row["repetitions"])
                          for row in rows],
                         [(test, index, 3) for test in ("send_lat", "write_bw") for index in range(3)])
        self.assertEqual(len({row["family_index"] for row in rows}), 2)

    @rdmameter.kernel_only
    def test_each_repetition_has_new_qps(self):
        device = rdmameter.active_ports()[0][0]["name"]
        if rdmameter.verbs_objects("qp") is None:
            self.skipTest("the kernel does not list QPs (`rdma resource`)")
        # Ends that wait leave a CPU to who looks.
        run = self.start("--loopback", "send_lat", "--wait", "event", "--duration", "2", "--repetitions", "4", "--device",
                         device)
        seen = set()
        while run.process.poll() is None:
            seen |= {each["lqpn"] for each in rdmameter.verbs_objects("qp") if each.get("pid") == run.process.pid}
        self.assertEqual(run.end(10).status, rdmameter.PASS)
        self.assertGreaterEqual(len(seen), 4, f"QPs {seen} in 4 repetitions of 2")

    @rdmameter.spared_in_vm
    def test_the_filter_of_google_benchmark_chooses_cases(self):
        rows = self.measure("*_lat", "*_bw", "--size", "64,128", "--iterations", "20",
                            "--benchmark_filter=send_lat.*size:128")
        self.assertEqual([row["name"] for row in rows], ["send_lat/rc/size:128/iterations:20"])
        done = self.run_program("--loopback", "*_lat", "*_bw", "--benchmark_filter=no_such", status=rdmameter.USAGE)
        self.assertIn("--benchmark_filter=no_such matches no case", done.stderr)

    @rdmameter.spared_in_vm
    def test_random_interleaving_mixes_the_repetitions_and_keeps_every_one(self):
        sizes = (2, 4, 8, 16)
        rows = self.measure("write_lat", "--size", "2..16", "--repetitions", "3", "--iterations", "20",
                            "--benchmark_enable_random_interleaving=true")
        measured = [(row["case"]["size_bytes"], row["repetition_index"]) for row in rows]
        in_order = [(size, index) for size in sizes for index in range(3)]
        self.assertEqual(sorted(measured), in_order)
        self.assertNotEqual(measured, in_order)  # by chance once in 369 600 runs


if __name__ == "__main__":
    rdmameter.main()
