#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""On which NUMA node memory lies, as the kernel tells it page by page, and ranks on both: in a machine of two nodes, a CPU each,
made by `tools/rxe-vm run --numa-nodes 2`."""
import glob
import json
import os
import re
import subprocess

import rdmameter

PAGE, BUFFER = 4096, 1 << 20
# At each end: its messages and two histograms of 256 KiB.
LEAST_PAGES = (BUFFER + 2 * (256 << 10)) // PAGE


def pages_of(pid):
    """{node: pages} of the device's queues, of the messages (the largest mapping but the heap), and of all that is no file's."""
    queues, messages, memory = {0: 0, 1: 0}, {0: 0, 1: 0}, {0: 0, 1: 0}
    with open(f"/proc/{pid}/numa_maps", encoding="ascii") as file:
        for line in file:
            here = {node: sum(map(int, re.findall(rf" N{node}=(\d+)", line))) for node in memory}
            which = queues if "file=/dev/infiniband/" in line else None if "file=" in line or " stack" in line else memory
            if which is not None:
                for node, pages in here.items():
                    which[node] += pages
            if which is memory and " heap" not in line and sum(here.values()) > sum(messages.values()):
                messages = here
    return queues, messages, memory


def allow(pid, cpus):
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), cpus)


class Placement(rdmameter.Test):
    def lies_on(self, pid, node):
        queues, messages, memory = pages_of(pid)
        self.found = f"queues {queues}, messages {messages}, memory {memory}, of which at least {LEAST_PAGES} on node {node}"
        return (queues[node] > 0 and queues[1 - node] == 0 and messages[node] >= BUFFER // PAGE and messages[1 - node] == 0
                and memory[node] >= LEAST_PAGES)

    def measure_between(self, mine, theirs, *options):
        """Starts two ends, each on the node where it is not to measure, and lets them go to the other when they meet."""
        server = self.serve(prefix=("taskset", "-c", str(1 - theirs)))
        allow(server.pid, {0, 1})
        run = self.start(f"localhost:{server.port}", "send_bw", "--size", "4K", "--depth", "1024", "--rx-depth", "1024",
                         "--duration", "100", *options, prefix=("taskset", "-c", str(1 - mine)))
        self.assertTrue(rdmameter.wait_until(server.sessions, 60), run.stderr)
        allow(run.process.pid, {0, 1})
        return run, server

    def test_what_an_end_touches_is_on_the_node_of_its_cpu(self):
        for mine, theirs in ((1, 0), (0, 1)):
            run, server = self.measure_between(mine, theirs, "--core", str(mine), "--peer-core", str(theirs))
            self.assertTrue(rdmameter.wait_until(lambda: self.lies_on(run.process.pid, mine), 60), f"initiator: {self.found}{run.stderr}")
            [session] = server.sessions()
            self.assertTrue(rdmameter.wait_until(lambda: self.lies_on(session, theirs), 60), f"responder: {self.found}{run.stderr}")
            run.end(0)
            server.stop()

    def test_what_a_loop_touches_is_there_wherever_its_process_ran_before(self):
        driver = os.path.join(os.path.dirname(rdmameter.program), "tests", "core", "memory_nodes_test")
        done = subprocess.run([driver, "--gtest_brief=1"], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        self.assertNotIn("SKIPPED", done.stdout)


class Ranks(rdmameter.Test):
    def test_of_one_node_and_of_two_are_pairs_of_different_kinds(self):
        """Without a node of the device, by their CPUs alone."""
        path = self.output()
        topo = [rdmameter.program, "topo", "mesh", "--traffic", "pairs", "--size", "8", "--iterations", "20", "--warmup", "2", "-o", path]
        command = rdmameter.mpirun([["taskset", "-c", cpu, *topo] for cpu in "0011"], "--bind-to", "none")
        done = rdmameter.Started(command, rdmameter.environment() | {
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}, path).end(120)
        self.assertEqual(done.status, rdmameter.PASS, done)
        with open(path, encoding="utf-8") as file:
            [row] = json.load(file)["benchmarks"]
        placement = row["placement"]["ranks"]
        self.assertEqual((placement["numa_nodes"], placement["device_numa_nodes"]), ([0, 0, 1, 1], [None] * 4))
        shown = subprocess.run([rdmameter.program, "show", path], capture_output=True, text=True, timeout=60, check=True)
        self.assertRegex(shown.stdout, r"median by kind of pair: same NUMA node \S+ .s, other NUMA node \S+ .s")


if __name__ == "__main__":
    if len(glob.glob("/sys/devices/system/node/node[0-9]*")) < 2 or not rdmameter.IN_VM:
        print("1..0 # SKIP it needs tools/rxe-vm run --numa-nodes 2")
    else:
        rdmameter.main(cpus=2)
