#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two machines on one network: node0 and node1 of `tools/rxe-vm run --nodes 2`, of which this runs on node0."""
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import rdmameter
import slurm
from topo_collectives_test import COLLECTIVES
from topo_test import EIGHT, Topo

SHORT = ("--iterations", "6", "--warmup", "1", "--patience", "30")
DELAY_MS = 50
FOUR_EACH = 4 * ["node0"] + 4 * ["node1"]


def on_node1(command):
    done = subprocess.run(["ssh", "-n", "node1", command], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise AssertionError(f"on node1: {command}: status {done.returncode}: {done.stderr}")
    return done.stdout


def signal_a_rank_on_node1(name):
    """Sends a signal to one of the two ranks there, and returns its PID."""
    def ranks():
        pids = on_node1("pgrep -x rdmameter || true").split()  # a server of another test may not have ended yet
        return pids if len(pids) == 2 else []
    found = rdmameter.wait_until(ranks, 60)
    if not found:
        raise AssertionError(f"not two ranks on node1: {on_node1('ps -ef')}")
    on_node1(f"kill -{name} {found[-1]}")
    return found[-1]


class Nodes(Topo):
    def start_ranks(self, hosts, *arguments):
        """Starts `rdmameter topo` by mpirun, which starts a rank on a host for each time that it is named."""
        path = self.output()
        # On node0's own /tmp: rank 0 is there, and writes alone. Open MPI 5 would want a core for each rank.
        command = ["mpirun", "--bind-to", "none", "--host", ",".join(hosts), rdmameter.program, "topo", *arguments, "-o", path]
        started = rdmameter.Started(command, rdmameter.environment(), path)
        self.addCleanup(started.end, 0)
        return started

    def topo(self, hosts, *arguments):
        done = self.start_ranks(hosts, *arguments).end(200)
        self.assertEqual(done.status, rdmameter.PASS, done)
        for row in done.rows:
            self.assertNotIn("error_message", row, done)
            self.assertNotIn("skip_message", row, done)
        return done

    def delay_node1(self):
        """Until the test ends, what node1 sends takes longer."""
        on_node1(f"tc qdisc add dev eth0 root netem delay {DELAY_MS}ms")
        self.addCleanup(on_node1, "tc qdisc del dev eth0 root")

    @rdmameter.everyday
    def test_ranks_on_two_machines_talk_over_the_network_and_what_arrives_is_right(self):
        hosts = ["node0", "node0", "node1", "node1"]
        done = self.topo(hosts, "mesh", "ring", "--traffic", "pairs", "--size", "4K", "--verify", *SHORT)
        self.assertEqual(len(done.rows), 2)
        for row in done.rows:
            with self.subTest(row["name"]):
                self.assertEqual(row["path"], "network")
                self.assertGreater(row["verified_bytes"], 0)
                self.assertNotIn("lost", row)
                self.assertEqual(row["topology"]["hops"]["max"], 1 if row["case"]["graph"] == "mesh" else 2)
        ranks = done.result["context"]["rdmameter"]["ranks"]
        self.assertEqual([rank["host"] for rank in ranks], hosts)
        self.assertEqual(len({rank["boot_id"] for rank in ranks}), 2)
        self.assert_valid(done.path)

    def test_what_arrives_at_eight_ranks_on_two_machines_is_right(self):
        done = self.topo(FOUR_EACH, *EIGHT)
        [row] = done.rows
        self.assert_eight(row)
        self.assertEqual([rank["host"] for rank in done.result["context"]["rdmameter"]["ranks"]], FOUR_EACH)

    def test_collectives_over_the_network_are_right(self):
        done = self.topo(["node0", "node0", "node1", "node1"], "ring", "--traffic", ",".join(COLLECTIVES), "--size", "64",
                         "--verify", "--iterations", "3", "--warmup", "1", "--patience", "30")
        self.assertEqual(len(done.rows), len(COLLECTIVES))
        for row in done.rows:
            self.assertGreater(row["verified_bytes"], 0, row["name"])

    def test_a_slow_cable_is_in_the_matrix_and_no_rank_is_called_slow_for_it(self):
        self.delay_node1()
        done = self.topo(["node0", "node0", "node0", "node1"], "mesh", "--traffic", "pairs", *SHORT)
        [row] = done.rows
        matrix = row["topology"]["matrix_ns"]
        rdmameter.note(matrix)
        pairs = [(rank, to) for rank in range(4) for to in range(4) if rank != to]
        slow = {pair: matrix[pair[0]][pair[1]] for pair in pairs if 3 in pair}
        for (rank, to), time_ns in slow.items():
            with self.subTest(f"{rank} to {to}"):
                self.assertGreater(time_ns, DELAY_MS * 1e6 / 2)  # half of a round trip
        # Within node0 it is tens of us, and whatever a busy host adds to all of them.
        for rank, to in set(pairs) - set(slow):
            with self.subTest(f"{rank} to {to}"):
                self.assertLess(matrix[rank][to], min(slow.values()))
        shown = subprocess.run([rdmameter.program, "show", "--judge-shared", done.path], capture_output=True, text=True,
                               check=True)  # the ranks of node0 share its cores
        # All pairs between the hosts take the cable, so none of them tells a slow rank from it.
        self.assertRegex(shown.stdout, r"median by kind of pair: same host \S+ µs, other host \S+ [µm]s")
        self.assertNotRegex(shown.stdout, r"rank 3 \(node1\) takes")

    def test_a_rank_that_is_killed_elsewhere_ends_the_run_and_is_named_with_its_host(self):
        started = self.start_ranks(["node0", "node0", "node1", "node1"], "mesh", "--traffic", "token", "--patience",
                                   "30", "--iterations", "6,100000000")
        started.await_text("stdout", "traffic:token/ranks:4/iterations:6 ", 60)
        killed = signal_a_rank_on_node1("KILL")
        began = time.monotonic()
        done = started.end(60)
        self.assertLess(time.monotonic() - began, 5 * rdmameter.SLOW)
        self.assertEqual(done.status, 128 + signal.SIGKILL, done)
        self.assertRegex(done.stderr, r"rank\s+[23]\s+with\s+PID\s+\d+\s+on\s+node\s+node1\s+exited\s+on\s+signal\s+9", killed)
        self.assertEqual(len(done.rows), 1)
        self.assert_valid(done.path)

    @rdmameter.everyday
    def test_a_client_measures_with_a_server_on_the_other_machine(self):
        server = self.serve("--bind", "node1", prefix=("ssh", "-n", "node1"))
        self.addCleanup(on_node1, "pkill -x rdmameter")  # the end of ssh is none of the server
        self.delay_node1()
        done = self.run_program("node1", "--port", server.port, "send_lat", "write_bw", "--size", "4K", "--iterations",
                                "20", "--warmup", "2", "--depth", "4", "--verify", token=server.token)
        for row in done.rows:
            self.assertEqual(row["path"], "network")
            self.assertGreater(row["verified_bytes"], 0)
        self.assertGreater(done.rows[0]["latency"]["min"], DELAY_MS * 1e6)
        self.assert_valid(done.path)


@unittest.skipIf(slurm.missing(), slurm.WHY_NOT)
class UnderSlurm(Topo):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="slurm-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.slurm = slurm.Slurm(folder, ["node0", "node1"])
        cls.addClassCleanup(cls.slurm.stop)

    def start(self, *arguments, each=2):
        """So many ranks on each machine, by srun."""
        self.slurm.await_idle()
        path = self.output()
        command = ["srun", "--mpi=pmix", "--nodes=2", f"--ntasks={2 * each}", f"--ntasks-per-node={each}", rdmameter.program, "topo",
                   *arguments, "-o", path]
        started = rdmameter.Started(command, rdmameter.environment() | self.slurm.environment, path)
        self.addCleanup(started.end, 0)
        return started

    def in_the_middle(self):
        # On a busy host the ranks of the first step may start seconds apart: they wait for each other twice as long.
        started = self.start("mesh", "--traffic", "token", "--patience", "10", "--iterations", "6,100000000")
        started.await_text("stdout", "traffic:token/ranks:4/iterations:6 ", 120)
        return started

    def test_ranks_that_srun_starts_on_two_machines_talk_over_the_network_and_what_arrives_is_right(self):
        done = self.start("mesh", "ring", "--traffic", "pairs", "--size", "4K", "--verify", *SHORT).end(200)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertEqual(len(done.rows), 2)
        for row in done.rows:
            self.assertEqual(row["path"], "network")
            self.assertGreater(row["verified_bytes"], 0)
        self.assertEqual([rank["host"] for rank in done.result["context"]["rdmameter"]["ranks"]],
                         ["node0", "node0", "node1", "node1"])

    def test_what_arrives_at_eight_ranks_that_srun_starts_on_two_machines_is_right(self):
        done = self.start(*EIGHT, each=4).end(200)
        self.assertEqual(done.status, rdmameter.PASS, done)
        [row] = done.rows
        self.assert_eight(row)
        self.assertEqual([rank["host"] for rank in done.result["context"]["rdmameter"]["ranks"]], FOUR_EACH)

    def test_a_rank_of_srun_that_is_killed_elsewhere_ends_the_run_and_is_named_with_its_host(self):
        started = self.in_the_middle()
        signal_a_rank_on_node1("KILL")
        began = time.monotonic()
        done = started.end(60)
        rdmameter.note(f"{time.monotonic() - began:.1f} s")
        self.assertEqual(done.status, 128 + signal.SIGKILL, done)
        self.assertRegex(done.stderr, r"srun: error: node1: task [23]: Killed")
        self.assertNotIn("error_message", done.rows[0])
        self.assert_valid(done.path)

    def test_a_rank_of_srun_that_hangs_elsewhere_ends_the_run_and_is_named_with_its_host(self):
        started = self.in_the_middle()
        signal_a_rank_on_node1("STOP")
        done = started.end(200)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.rows[1]["error_message"], r"no answer for 20 s from rank [23] on node1; the run ends")
        self.assert_valid(done.path)


if __name__ == "__main__":
    rdmameter.main(nodes=2)
