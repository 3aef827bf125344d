#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks on devices of their own, which meet on a network; one of them slow."""
import subprocess

import rdmameter
from switch import Switch
from topo_test import Topo

RANKS = (2, 4, 8)
TIMES = 3
SHORT = ("--iterations", str(TIMES), "--warmup", "1", "--patience", "30")


class Several(Topo):
    @classmethod
    def setUpClass(cls):
        switch = Switch(RANKS[-1])
        cls.addClassCleanup(switch.remove)

    def measured(self, *arguments):
        rows = self.topo(*arguments, *SHORT).rows
        for row in rows:
            self.assertNotIn("error_message", row)
            self.assertNotIn("skip_message", row)
        return rows

    def test_two_four_and_eight_ranks_send_all_to_all_on_one_device_and_on_one_each(self):
        rows = self.measured("mesh", "--ranks", str(RANKS[-1]), "--scale", ",".join(map(str, RANKS)), "--device",
                             "rxe0,sw%l", "--traffic", "alltoall", "--verify")
        self.assertEqual({(row["case"]["device"], row["path"], row["case"]["ranks"]) for row in rows},
                         {(device, path, ranks) for ranks in RANKS
                          for device, path in (("rxe0", "same_device"), ("sw%l", "netdev"))})
        for row in rows:
            ranks = row["case"]["ranks"]
            self.assertEqual(row["bandwidth"]["messages"], TIMES * ranks * (ranks - 1))

    def test_a_rank_whose_wire_is_slow_stands_out_in_the_matrix_and_is_named(self):
        slow = 2
        subprocess.run(["tc", "qdisc", "add", "dev", f"s{slow}", "root", "netem", "delay", "40ms"], check=True)
        self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", f"s{slow}", "root"], check=True)
        # A verdict takes four deviations: of three iterations beside other work a path has too large a deviation.
        done = self.topo("mesh", "--ranks", "4", "--device", "sw%l", "--traffic", "pairs", "--iterations", "12", "--patience", "60")
        [row] = done.rows
        delayed, others = [], []
        for rank, to in enumerate(row["topology"]["matrix_ns"]):
            for other, time_ns in enumerate(to):
                if rank != other:
                    (delayed if slow in (rank, other) else others).append(time_ns)
        self.assertGreater(min(delayed), 19e6, row)  # half of a round trip that takes 40 ms more
        self.assertLess(max(others), min(delayed), row)
        shown = subprocess.run([rdmameter.program, "show", "--judge-shared", done.path], capture_output=True, text=True,
                               check=True, timeout=60).stdout
        named = rf"! rank {slow} \(\S+\) takes (\S+) times as long as the others, with every peer\."
        self.assertRegex(" ".join(shown.split()), named)


if __name__ == "__main__":
    rdmameter.main(in_vm=True, cpus=1)
