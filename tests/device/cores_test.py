#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--core, --peer-core, --wait: where the two ends run, and what they do with an empty poll."""
import glob
import os

import rdmameter


def pinned_to(*pids):
    """The CPUs to which single threads of processes are pinned."""
    cpus = set()
    for path in (path for pid in pids for path in glob.glob(f"/proc/{pid}/task/*/status")):
        try:
            with open(path, encoding="ascii") as file:
                [line] = [line for line in file if line.startswith("Cpus_allowed_list:")]
        except OSError:  # the thread has ended
            continue
        cpus.add(line.split()[1])
    return cpus


class Cores(rdmameter.Test):
    def setUp(self):
        super().setUp()
        self.cpus = sorted(os.sched_getaffinity(0))
        if len(self.cpus) < 2:
            self.skipTest("it needs two CPUs")

    def test_each_end_runs_where_it_is_told(self):
        mine, theirs = map(str, self.cpus[:2])
        server = self.serve()
        run = self.start(f"localhost:{server.port}", "send_lat", "--duration", "2", "--core", mine, "--peer-core", theirs)
        self.assertTrue(rdmameter.wait_until(lambda: mine in pinned_to(run.process.pid)), "the initiator")
        self.assertTrue(rdmameter.wait_until(lambda: theirs in pinned_to(*server.processes())), "the responder")
        self.assertNotIn(theirs, pinned_to(run.process.pid))
        self.assertNotIn(mine, pinned_to(*server.processes()))
        done = run.end(60)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertEqual((done.rows[0]["case"]["core"], done.rows[0]["case"]["peer_core"]),
                         (self.cpus[0], self.cpus[1]))

    def test_a_cpu_that_is_not_there_is_refused_with_those_that_are(self):
        for option in ("--core", "--peer-core"):
            done = self.run_program("--loopback", "write_lat", option, "8000", status=rdmameter.USAGE)
            self.assertRegex(done.stderr, f"{option} 8000: there is no such CPU here.* may run on {self.cpus[0]}")

    def test_two_ends_on_two_cpus_spin(self):
        mine, theirs = map(str, self.cpus[:2])
        [row] = self.measure("write_lat", "--iterations", "50", "--core", mine, "--peer-core", theirs)
        self.assertEqual(row["case"]["wait"], "spin")

    def test_two_ends_on_one_cpu_yield_by_themselves_and_get_on(self):
        cpu = str(self.cpus[0])
        rows = self.measure("send_lat", "write_lat", "--iterations", "500", "--core", cpu, "--peer-core", cpu)
        rows += self.measure("send_lat", "write_lat", "--iterations", "500", prefix=("taskset", "-c", cpu))
        for row in rows:
            with self.subTest(row["name"]):
                self.assertEqual(row["case"]["wait"], "yield")
                # A spinning end answers once per time slice, of milliseconds.
                self.assertLess(row["latency"]["p50"], 2_000_000)

    def test_how_to_wait_can_be_chosen(self):
        rows = self.measure("read_lat", "send_bw", "--iterations", "100", "--wait", "spin,yield")
        self.assertEqual([row["case"]["wait"] for row in rows], ["spin", "yield"] * 2)


if __name__ == "__main__":
    rdmameter.main(cpus=2)
