#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every test over every transport with every way to post, poll, wait, gather and receive, all checked.

The whole cross product at three sizes, short: a combination is measured with every byte verified, or it is
skipped with the true reason. RDMAMETER_MATRIX_SIZES chooses other sizes. On the emulated rxe it is the part that
rdma-core's provider has code of its own for, at one size: how work is posted, inlined, gathered and polled.
"""
import collections
import os
import re

import rdmameter

SIZES = os.environ.get("RDMAMETER_MATRIX_SIZES", "64" if rdmameter.IN_VM else "64,1K,8K")
# What has a reason to be skipped: (what the row's name must match, the reason).
REASONS = (
    (r"/ud/", "UD carries sends only"),
    (r"^(read|fetch_add|cmp_swap|atomic_write|flush).*/uc", "UC has no (reads|atomics|atomic writes|FLUSH)"),
    (r"^(atomic_write|flush).*/api:classic", r"by ibv_wr_(atomic_write|flush)\(\) alone: use --api extended"),
    (r"^(atomic_write|flush)", rdmameter.TOO_OLD),
    (r"/ud/size:8192", "a UD message is one packet"),
    (r"^(atomic_)?write_lat/.*/wait:event", "raises no event where it arrives"),
    (r"/inline:max/sge:(2|max)/api:extended", "rdma-core's rxe before 64 sends nothing of several inlined pieces"),
)


WHOLE = ("--sge", "1,2,max", "--recv", "rq,srq")
IN_SHORT = ("--sge", "2", "--recv", "rq")
AXES = (*(IN_SHORT if rdmameter.IN_VM else WHOLE), "--cq", "classic,extended", "--api", "classic,extended", "--inline",
        "off,max")
SHORT = ("--iterations", "8", "--warmup", "2", "--depth", "8", "--signal-every", "2", "--rx-depth", "32", "--loss-timeout",
         "20s", "--verify")


class Matrix(rdmameter.Test):
    def measure_all(self, *arguments, least, axes=AXES + SHORT):
        done = self.run_program("--loopback", *arguments, *axes, timeout=1000)
        outcomes = collections.Counter()
        for row in done.rows:
            if "skip_message" not in row:
                self.assertNotIn("error_message", row)
                self.assertTrue(row["verified_bytes"] > 0 or row.get("lost"), row["name"])
                outcomes["run"] += 1
                continue
            reasons = [reason for name, reason in REASONS if re.search(name, row["name"])]
            self.assertTrue(any(re.search(reason, row["skip_message"]) for reason in reasons),
                            f"{row['name']}: {row['skip_message']}")
            outcomes["skipped"] += 1
        rdmameter.note(f"{outcomes['run']} combinations run, {outcomes['skipped']} skipped, {done.seconds:.0f} s")
        self.assertGreater(outcomes["run"], least)

    def test_every_combination_is_verified_or_skipped_with_its_reason(self):
        self.measure_all("[!m]*_lat", "[!m]*_bw", "--transport", "rc,uc,ud", "--size", SIZES, "--wait",
                         "yield" if rdmameter.IN_VM else "yield,event", least=100 if rdmameter.IN_VM else 1000)

    @rdmameter.on(rdmameter.RXE)
    def test_work_is_gathered_received_and_waited_for_by_events_in_every_way(self):
        self.measure_all("[!mt]*_lat", "[!mt]*_bw", "--transport", "rc,uc,ud", "--size", SIZES, "--wait", "event", "--sge", "1,max",
                         "--recv", "rq,srq", least=60, axes=SHORT)

    @rdmameter.kernel_only
    def test_every_combination_of_multicast_too(self):
        self.measure_all("mcast_*", "--size", "64", "--wait", "yield,event", least=20 if rdmameter.IN_VM else 100)


if __name__ == "__main__":
    rdmameter.main()
