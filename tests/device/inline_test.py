#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--inline: what the device grants is found by creating QPs, and a row says what became of it."""
import rdmameter


class Inline(rdmameter.Test):
    def test_max_is_what_the_device_itself_grants(self):
        [(device, _), *_] = rdmameter.active_ports()
        rows = self.measure("send_lat", "--transport", "rc,uc,ud", "--inline", "max", "--iterations", "20",
                            "--device", device["name"], "--verify")
        for row in rows:
            most = device["transports"][row["case"]["transport"]]["max_inline_bytes"]
            self.assertEqual(row["case"]["inline_bytes"], most, row["name"])
            if device["driver"] == "rdma_rxe":
                self.assertEqual(most, 512)

    @rdmameter.spared_in_vm
    def test_what_fits_is_inlined_and_what_does_not_is_not(self):
        rows = self.measure("send_lat", "write_bw", "--inline", "max,off,16", "--size", "16,64,4K",
                            "--iterations", "20", "--warmup", "1", "--verify")
        for row in rows:
            limit = row["case"]["inline_bytes"]
            with self.subTest(row["name"]):
                if limit == 0:
                    self.assertNotIn("inlined", row)
                else:
                    self.assertIs(row["inlined"], row["case"]["size_bytes"] <= limit)
        self.assertEqual({row["case"]["inline_bytes"] for row in rows if "inline:off" in row["name"]}, {0})

    @rdmameter.spared_in_vm
    def test_by_default_short_messages_of_latencies_are_inlined_and_no_others(self):
        rows = self.measure("send_lat", "write_lat", "write_imm_lat", "send_bw", "--size", "8,220,221,4K", "--iterations", "20",
                            "--warmup", "1", "--verify")
        rows += self.measure("write_lat", "--size", "220", "--sge", "2", "--api", "classic,extended", "--iterations", "20")
        for row in rows:
            with self.subTest(row["name"]):
                short = row["case"]["size_bytes"] <= 220 and row["name"].split("/")[0] != "send_bw"
                dropped = rdmameter.KIND == rdmameter.RXE and row["case"]["sge"] > 1 and row["case"]["api"] == "extended"
                self.assertEqual(row["case"]["inline_bytes"] >= row["case"]["size_bytes"], short and not dropped)
                self.assertEqual(row.get("inlined", False), short and not dropped)
                self.assertEqual("inlined" in row, row["case"]["inline_bytes"] != 0)

    @rdmameter.spared_in_vm
    def test_more_than_the_device_grants_is_skipped_with_what_it_grants(self):
        [(device, _), *_] = rdmameter.active_ports()
        most = device["transports"]["rc"]["max_inline_bytes"]
        reason = self.skipped("write_lat", "--inline", "60000", "--device", device["name"])
        self.assertRegex(reason, rf"at most {most}; use --inline {most} or --inline max")

    @rdmameter.spared_in_vm
    def test_more_than_any_device_grants_is_refused_with_the_range(self):
        done = self.run_program("--loopback", "write_lat", "--inline", "100000", status=rdmameter.USAGE)
        self.assertRegex(done.stderr, "'100000' for --inline: expected .*64K")


if __name__ == "__main__":
    rdmameter.main()
