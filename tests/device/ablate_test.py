#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`run --ablate`: what each axis is worth, where the wire's costs are known."""
import os
import re
import subprocess
import unittest.mock

import rdmameter


@rdmameter.on(rdmameter.SOFTWARE)
class OfKnownCosts(rdmameter.Test):
    def test_effects_are_the_costs_of_the_wire(self):
        # 1000 bytes more take 0.8 ms of 10 Mb/s; lists of two instead of single WRs take none of it.
        with unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_WIRE": "rate=10M"}):
            done = self.run_program("--loopback", "write_bw", "--ablate", "size,post-list", "--size", "1000,2000",
                                    "--post-list", "1,2", "--iterations", "100", "--warmup", "40", "--repetitions", "6", "--depth", "32",
                                    "--signal-every", "1")
        self.assert_valid(done.path)
        orders = [[row["name"] for row in done.rows[at:at + 4]] for at in range(0, 24, 4)]
        self.assertEqual(len({tuple(sorted(order)) for order in orders}), 1)
        self.assertGreater(len({tuple(order) for order in orders}), 1)
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True).stdout
        table = shown[shown.index("what each axis is worth"):]
        rdmameter.note(table)
        effects = {name.strip(): tuple(map(float, values)) for name, *values in
                   re.findall(r"^ *(size|post-list|size × post-list) +(?:\S+ → \S+|both) +([+-][\d.]+) +([+-][\d.]+) to ([+-][\d.]+)",
                              table, re.M)}
        for name, cost_ns in (("size", 800_000), ("post-list", 0), ("size × post-list", 0)):
            with self.subTest(name):
                worth, low, high = effects[name]
                self.assertAlmostEqual(worth, cost_ns, delta=max(40_000, high - low))  # other work here makes the interval wide
        self.assertIn(table.splitlines()[0].split("(")[0].strip(), done.stdout)


class Anywhere(rdmameter.Test):
    def test_five_axes_are_measured_by_half_of_their_combinations(self):
        done = self.run_program("--loopback", "write_bw", "--ablate", "inline,signal-every,post-list,sge,qps", "--qps", "1,2",
                                "--inline", "off,16", "--size", "16", "--iterations", "300", "--repetitions", "2")
        self.assert_valid(done.path)
        self.assertEqual(len({row["name"] for row in done.rows}), 16)
        self.assertEqual(len(done.rows), 32)
        self.assertEqual(len(done.result["context"]["rdmameter"]["ablation"]["factors"]), 5)
        self.assertIn("mixed with", done.stdout)


if __name__ == "__main__":
    rdmameter.main()
