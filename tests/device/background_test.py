#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`run --background`: a case alone, and beside other traffic in the same window."""
import os
import re
import signal
import subprocess
import unittest.mock

import rdmameter

ATTACKER = "write_bw --size 64 --depth 16"


@rdmameter.on(rdmameter.SOFTWARE)
class OfAPort(rdmameter.Test):
    """A port that takes a message each 2 ms makes whoever comes wait behind those that are there."""

    def setUp(self):
        super().setUp()
        wire = unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_WIRE": "message=2ms"})
        wire.start()
        self.addCleanup(wire.stop)

    def measure_beside(self, *arguments):
        done = self.run_program("--loopback", *arguments, timeout=120)
        self.assert_valid(done.path)
        return done

    def test_a_latency_waits_behind_the_background_and_both_are_told(self):
        done = self.measure_beside("write_lat", "--iterations", "40", "--warmup", "5", "--repetitions", "2", "--background",
                                   ATTACKER)
        self.assertEqual([(row["name"], row["repetition_index"]) for row in done.rows],
                         [(f"write_lat/rc/iterations:40/warmup:5/background:{label}", index)
                          for label in ("none", "write_bw,size:64,depth:16") for index in (0, 1)])
        for row in done.rows[:2]:
            self.assertEqual(row["case"]["background"], "none")
            self.assertNotIn("background", row)
        for alone, row in zip(done.rows[:2], done.rows[2:]):
            self.assertEqual(row["case"]["background"], ATTACKER)
            self.assertEqual(row["case"]["wait"], alone["case"]["wait"])
            # Sixteen messages of 2 ms are before it, mostly. Alone it has one; but a busy CPU may take longer than the port.
            self.assertGreater(row["latency"]["p50"], 20e6)
            beside = row["background"]
            self.assertLess(beside["operations_per_s"], 505)  # of the port, which the case uses, too
            self.assertGreater(beside["operations_per_s"], 250)
            self.assertGreater(beside["alone_per_s"], 350)
            self.assertAlmostEqual(beside["operations_per_s"], beside["operations"] / beside["window_ns"] * 1e9, delta=1)
            self.assertEqual(beside["bytes"], 64 * beside["operations"])
            self.assertNotIn("shared_responder", row)
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"beside other traffic(.|\n)*write_bw --size 64 --depth 16 .* ×\d")

    def test_each_case_meets_each_background(self):
        done = self.measure_beside("write_lat", "read_lat", "--iterations", "100", "--warmup", "5", "--background", ATTACKER,
                                   "--background", "send_lat --transport ud")
        self.assertEqual([row["name"].split("background:")[1].split(",")[0] for row in done.rows],
                         ["none", "write_bw", "send_lat"] * 2)
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True).stdout
        self.assertIn("beside each, over that alone", shown)

    def test_bytes_of_a_mix_are_of_its_sizes(self):
        done = self.measure_beside("write_lat", "--iterations", "100", "--warmup", "5", "--background",
                                   "mix_load --rate 500 --mix write:8:50,read:24:50 --size 4096")
        beside = done.rows[1]["background"]
        self.assertEqual(beside["bytes"], 16 * beside["operations"])

    def test_a_matrix_of_short_cases_has_their_p50(self):
        done = self.measure_beside("write_lat", "--size", "8,16", "--iterations", "20", "--warmup", "2", "--background", ATTACKER,
                                   "--background", "send_lat")
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True).stdout
        matrix = shown[shown.index("p50, too few samples for p99"):].splitlines()[2:]
        self.assertRegex(matrix[1], r"\d")
        self.assertNotIn("–", "".join(matrix[1:4:2]))

    def test_ctrl_c_ends_both(self):
        run = self.start("--loopback", "write_lat", "--duration", "60", "--background", ATTACKER, "--benchmark_filter=write_bw")
        run.work(2)
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.end(30).status, rdmameter.INTERRUPTED)


class Places(rdmameter.Test):
    def test_victims_meet_attackers_over_operations_sizes_and_service_levels(self):
        victims = [(test, size, 1) for test in ("write_lat", "read_lat") for size in (64, 4096)]
        attackers = ["none", "write_bw --size 65536 --sl 3", "send_lat --tclass 32"]
        done = self.run_program("--loopback", "write_lat", "read_lat", "--size", "64,4K", "--sl", "1", "--iterations", "1000", "--background",
                                "write_bw --size 64K --sl 3", "--background", "send_lat --tclass 32", timeout=120)
        cases = [row["case"] for row in done.rows]
        self.assertEqual([(case["test"], case["size_bytes"], case["service_level"], case["background"]) for case in cases],
                         [(*victim, attacker) for victim in victims for attacker in attackers])
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True).stdout
        matrix = shown[shown.index("p99 (of bandwidths Gb/s) beside each"):]
        self.assertEqual(len(set(re.findall(r"(?:write|read)_lat rc, size (?:64|4096) B", matrix))), 4)

    def test_a_server_serves_the_background_as_a_client_of_its_own(self):
        server = self.serve()
        done = self.run_program(f"127.0.0.1:{server.port}", "write_lat", "--iterations", "100", "--background",
                                "send_bw --size 1K", timeout=120)
        self.assertEqual([("background" in row) for row in done.rows], [False, True])
        self.assertGreater(done.rows[1]["background"]["operations"], 0)
        self.assertIn("send bandwidth of 1024 bytes", server.log)

    def test_where_the_background_cannot_run_the_case_says_why(self):
        server = self.serve("--exclusive")
        done = self.run_program(f"127.0.0.1:{server.port}", "write_lat", "--iterations", "100", "--background", "send_bw",
                                status=rdmameter.FAILED, timeout=120)
        self.assertNotIn("error_message", done.rows[0])
        self.assertRegex(done.rows[1]["error_message"], "the background, send_bw, .*another client is served")

    def test_what_makes_no_background_is_refused(self):
        for text, why in ((" ", "names no test"), ("write_bv", "write_bw"), ("*_bw", "one test"), ("reg_mr", "no traffic"),
                          ("write_bw --size", "needs a value"), ("write_bw --size 1,2", "one value"),
                          ("write_bw --duration 3", "as long as the case"), ("write_bw --sise 3", "did you mean 'size'"),
                          ("write_bw 64", "neither an axis"), ("write_lat --depth 4", "does not apply"),
                          ("write_bw --size 1 --size 2", "twice"), ("write_bw --size '8", "not closed"),
                          ("read_bw --transport uc", "uc"), ("send_load --rate sweep", "one rate")):
            with self.subTest(text):
                done = self.run_program("--loopback", "write_lat", "--background", text, status=rdmameter.USAGE)
                self.assertIn("--background", done.stderr)
                self.assertIn(why, done.stderr)
        done = self.run_program("--device", "null", "write_lat", "--background", "write_bw", status=rdmameter.USAGE)
        self.assertIn("null device", done.stderr)


if __name__ == "__main__":
    rdmameter.main()
