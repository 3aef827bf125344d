#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--core, --peer-core, --wait: where the two ends run, and what they do with an empty poll."""
import glob
import os
import subprocess

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
        # A spinning end answers once per time slice; what runs beside them slows both.
        spinning = self.measure("send_lat", "write_lat", "--iterations", "100", "--core", cpu, "--peer-core", cpu, "--wait", "spin")
        for options in ({}, {"prefix": ("taskset", "-c", cpu)}):
            pinned = () if options else ("--core", cpu, "--peer-core", cpu)
            for row, spun in zip(self.measure("send_lat", "write_lat", "--iterations", "500", *pinned, **options), spinning):
                with self.subTest(row["name"]):
                    self.assertEqual(row["case"]["wait"], "yield")
                    self.assertLess(row["latency"]["p50"], spun["latency"]["p50"] / 2)

    def test_rows_name_the_cpus_of_both_ends(self):
        mine, theirs = self.cpus[:2]
        row, = self.measure("send_lat", "--iterations", "50", "--core", str(mine), "--peer-core", str(theirs))
        for end, cpu in (("initiator", mine), ("responder", theirs)):
            placement = row["placement"][end]
            self.assertEqual((placement["pinned"], placement["reason"], placement["cpus"]), (True, None, [cpu]), end)
            self.assertEqual(len(placement["numa_nodes"]), 1, end)

    def test_threads_run_on_the_cpus_of_a_list(self):
        first, second = self.cpus[:2]
        row, = self.measure("send_bw", "--threads", "2", "--iterations", "50", "--core", f"{second}+{first}",
                            "--peer-core", "off")
        self.assertEqual(row["case"]["core"], f"{second}+{first}")
        self.assertEqual(row["placement"]["initiator"]["cpus"], [second, first])
        self.assertEqual([thread["core"] for thread in row["per_thread"]], [second, first])
        self.assertEqual((row["placement"]["responder"]["pinned"], row["placement"]["responder"]["reason"]),
                         (False, "--peer-core off"))
        done = self.run_program("--loopback", "send_bw", "--threads", "3", "--core", f"{first}+{second}",
                                status=rdmameter.USAGE)
        self.assertIn("3 threads measure at this end, and the list has 2 CPUs", done.stderr)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_device_without_a_node_is_measured_unpinned_and_the_row_says_why(self):
        rows = self.measure("send_lat", "create_qp", "connect", "--iterations", "50")
        for row in rows:
            for end in ("initiator", "responder"):
                if row["placement"][end] is not None:
                    self.assertFalse(row["placement"][end]["pinned"], row["name"])
                    self.assertRegex(row["placement"][end]["reason"], "the kernel names no NUMA node of ")
                    self.assertEqual(len(row["placement"][end]["cpus"]), 1, row["name"])
                    self.assertIn(row["placement"][end]["cpus"][0], self.cpus)
        self.assertIn("--core numa: the kernel names no NUMA node of", self.skipped("send_lat", "--core", "numa"))
        self.assertIn("--peer-core numa: the kernel", self.skipped("send_lat", "--peer-core", "numa"))

    def at_node_0(self):
        """A prefix under which every verbs device is at NUMA node 0, whose CPUs are the first two of this process."""
        device = self.measure("send_lat", "--iterations", "20")[0]["case"]["device"]
        fake = os.path.join(self.scratch, "class")
        slot = os.path.join(fake, "infiniband", device, "device")
        os.makedirs(slot)
        for name, text in (("numa_node", "0"), ("local_cpulist", ",".join(map(str, self.cpus[:2])))):
            with open(os.path.join(slot, name), "w", encoding="ascii") as file:
                file.write(text + "\n")
        prefix = ("unshare", "--mount", "--map-root-user", "sh", "-c", 'mount --bind "$0" /sys/class && exec "$@"', fake)
        if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mount namespaces here")
        return prefix

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_ends_share_no_cpu_of_the_devices_node(self):
        prefix = self.at_node_0()
        for test, loops in (("send_lat", 1), ("write_bw", 0)):
            row, = self.measure(test, "--iterations", "50", prefix=prefix)
            ends = row["placement"]["initiator"], row["placement"]["responder"]
            self.assertEqual([end["pinned"] for end in ends], [True, True], ends)
            self.assertEqual(ends[0]["cpus"], self.cpus[:1])
            self.assertEqual(ends[1]["cpus"], self.cpus[1:2] * loops)
            self.assertEqual(ends[0]["device_numa_node"], 0)
        row, = self.measure("create_qp", "--iterations", "50", "--core", "numa", prefix=prefix)
        self.assertEqual(row["placement"]["initiator"]["cpus"], self.cpus[:1])
        row, = self.measure("send_bw", "--threads", "2", "--iterations", "50", prefix=prefix)
        self.assertRegex(row["placement"]["initiator"]["reason"], "this process may use 2, and 4 are needed")
        self.assertFalse(row["placement"]["responder"]["pinned"])

    def test_how_to_wait_can_be_chosen(self):
        rows = self.measure("read_lat", "send_bw", "--iterations", "100", "--wait", "spin,yield")
        self.assertEqual([row["case"]["wait"] for row in rows], ["spin", "yield"] * 2)


if __name__ == "__main__":
    rdmameter.main(cpus=2)
