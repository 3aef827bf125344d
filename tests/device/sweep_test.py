#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every test over every transport and many sizes, each byte checked at the receiver."""
import os
import subprocess

import rdmameter

TESTS = ("send_lat", "send_bw", "write_lat", "write_bw", "read_lat", "read_bw")
# A byte, odd sizes, about the largest inline and the MTU, one and many packets, the largest.
BYTES = [1, 512, 4096, 4097, 65536] if rdmameter.IN_VM else [1, 2, 63, 512, 4095, 4096, 4097, 65536, 1048576]
REASONS = {("ud", "one-sided"): "UD carries sends only", ("uc", "read"): "UC has no reads",
           ("ud", "long"): "a UD message is one packet"}
COMPARE_PY = os.environ.get("COMPARE_PY", "/usr/share/benchmark/compare.py")


def reason_to_skip(test, transport, size, mtu):
    """The begin of the reason, or nothing where the case must be measured."""
    if transport == "ud" and not test.startswith("send"):
        return REASONS["ud", "one-sided"]
    if transport == "uc" and test.startswith("read"):
        return REASONS["uc", "read"]
    if transport == "ud" and size > mtu:
        return REASONS["ud", "long"]
    return None


@rdmameter.everyday
class Sweep(rdmameter.Test):
    @classmethod
    def setUpClass(cls):
        cls.runner = cls("measure")
        cls.runner.setUp()
        cls.addClassCleanup(cls.runner.doCleanups)
        cls.done = cls.runner.run_program(
            "--loopback", *TESTS, "--transport", "rc,uc,ud", "--size", ",".join(map(str, BYTES)),
            "--iterations", "60", "--warmup", "10", "--verify", "--depth", "32", "--signal-every", "8",
            "--loss-timeout", "20s",  # 1 MiB and back can take longer than the default, emulated
            timeout=240)
        cls.rows = {(row["name"].split("/")[0], row["case"]["transport"], row["case"]["size_bytes"]): row
                    for row in cls.done.rows}
        cls.mtu = next(row["case"]["mtu_bytes"] for row in cls.rows.values() if "latency" in row)

    def test_there_is_a_row_for_every_combination(self):
        self.assertEqual(len(self.done.rows), len(self.rows))
        self.assertEqual(set(self.rows), {(test, transport, size) for test in TESTS
                                          for transport in ("rc", "uc", "ud") for size in BYTES})

    def test_what_the_standard_allows_is_measured_and_verified(self):
        for (test, transport, size), row in self.rows.items():
            if reason_to_skip(test, transport, size, self.mtu):
                continue
            with self.subTest(row["name"]):
                self.assertNotIn("error_message", row)
                self.assertNotIn("skip_message", row)
                self.assertGreater(row["real_time"], 0)
                if size > 1 or not test.endswith("_lat"):  # a ping-pong's last byte is its number
                    self.assertGreater(row["verified_bytes"], 0)
                if test.endswith("_lat"):
                    self.assertEqual(row["iterations"], 60)
                    self.assertEqual(row["latency"]["count"] + row.get("lost", 0), 60)
                else:
                    self.assertEqual(row["bandwidth"]["bytes"], row["bandwidth"]["messages"] * size)

    def test_what_it_does_not_allow_is_skipped_with_the_reason(self):
        for key, row in self.rows.items():
            if reason := reason_to_skip(*key, self.mtu):
                with self.subTest(row["name"]):
                    self.assertTrue(row["name"].endswith("/skipped"))
                    self.assertTrue(row["skip_message"].startswith(reason), row["skip_message"])

    def test_nothing_is_lost_within_one_device(self):
        for row in self.rows.values():
            if "latency" in row:
                with self.subTest(row["name"]):
                    self.assertEqual(row.get("lost", 0), 0)

    @rdmameter.spared_in_vm
    def test_the_file_is_valid_under_the_schema(self):
        self.assert_valid(self.done.path)

    @rdmameter.spared_in_vm
    def test_compare_py_reads_the_file(self):
        if not os.access(COMPARE_PY, os.R_OK):
            self.skipTest(f"no {COMPARE_PY} (package libbenchmark-tools)")
        if subprocess.run(["/usr/bin/python3", "-c", "import scipy"], capture_output=True, check=False).returncode:
            self.skipTest("no python3-scipy")
        compared = subprocess.run(["/usr/bin/python3", COMPARE_PY, "--no-color", "benchmarks", self.done.path,
                                   self.done.path], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertNotIn("Traceback", compared.stdout + compared.stderr)
        for row in self.rows.values():
            self.assertRegex(compared.stdout, rf"(?m)^{row['name']} +\+0\.0000 ")


if __name__ == "__main__":
    rdmameter.main()
