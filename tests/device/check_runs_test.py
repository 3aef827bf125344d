#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`check` beside two programs that are busy, on a wire with jitter: 300 clean runs, or what fits into five minutes, and no finding."""
import subprocess
import sys
import time

import rdmameter
from check_test import BETWEEN, Check

RUNS, LEAST_RUNS, MOST_S = 300, 100, 280
# A link that the rest of two CPUs fills.
LINKS = {"ports": "soft0=rate:1,soft1=rate:1", "wire": "rate=970M,jitter=100us"}


class Runs(Check):
    def test_clean_runs_beside_two_busy_loops_find_nothing(self):
        self.play("mlx5-ib")
        for _ in range(2):
            loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(loop.wait)
            self.addCleanup(loop.kill)
        began, runs = time.monotonic(), 0
        while runs < RUNS and time.monotonic() - began < MOST_S:
            devices = ("--device", "all") if runs % 2 else BETWEEN  # judged by siblings, or by what line and slot allow
            done = self.check("--brief", "--time", "3.3", *devices, status=(rdmameter.PASS, rdmameter.FAILED), **LINKS)
            if done.status == rdmameter.FAILED:
                self.assertIn("there is no verdict", done.stderr)  # for want of time
                continue
            self.assertRegex(done.stdout, r"^well \(", f"after {runs} runs")
            runs += 1
        rdmameter.note(f"{runs} runs in {time.monotonic() - began:.0f} s")
        self.assertGreaterEqual(runs, LEAST_RUNS)


if __name__ == "__main__":
    rdmameter.main(cpus=2)
