#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What connecting costs, on a device whose verbs take a known time."""
import os
import subprocess
import threading
import time

import rdmameter
from topo_test import Topo

TRANSITIONS = 3  # of a connected QP: INIT, RTR, RTS
REPETITIONS = 10  # the least of so many is what this machine's other work has disturbed least
QUICK = ("--traffic", "token", "--iterations", "1", "--warmup", "0", "--patience", "30")


class Oversleep:
    """How late this machine wakes who sleeps, on average, while it is counted [s]: so much longer each slow verb may take."""

    def __enter__(self):
        self.late, self.naps, self.over = 0.0, 0, threading.Event()
        self.thread = threading.Thread(target=self.count)
        self.thread.start()
        return self

    def count(self):
        while not self.over.is_set():
            began = time.monotonic()
            time.sleep(0.005)
            self.late += time.monotonic() - began - 0.005
            self.naps += 1

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def each(self):
        return self.late / max(self.naps, 1)


@rdmameter.on(rdmameter.SOFTWARE)
class ConnectTime(Topo):
    def assert_takes(self, times, qps, each, oversleep):
        """None is shorter than the closed form, and the least has no room for one QP more, as far as the machine kept time.
        Of each QP: what its calls take, and what they are late [s]."""
        self.assertGreaterEqual(min(times), qps * each)
        self.assertLessEqual(min(times), (qps + 0.75) * each + qps * oversleep, times)

    def run_command(self, path, command, env):
        started = rdmameter.Started(command, rdmameter.environment() | env, path)
        self.addCleanup(started.end, 0)
        done = started.end(200)
        self.assertEqual(done.status, rdmameter.PASS, done)
        return done

    def test_it_is_that_of_the_graphs_own_QPs_whichever_graph_comes_first(self):
        cost = 0.005
        for order in (("mesh", "ring"), ("ring", "mesh")):
            path = self.output()
            with Oversleep() as oversleep:
                done = self.run_command(path, [rdmameter.program, "topo", *order, "--ranks", "4", "--repetitions",
                                               str(REPETITIONS), *QUICK, "-o", path],
                                        {"RDMAMETER_DEVICE_COSTS": "modify_qp=5ms"})
            for graph, qps in (("mesh", 3), ("ring", 2)):
                times = [sum(row["topology"]["connect_ns"].values()) / 1e9 for row in done.rows
                         if row["case"]["graph"] == graph]
                self.assertEqual(len(times), REPETITIONS)
                self.assert_takes(times, qps, TRANSITIONS * cost, TRANSITIONS * oversleep.each())

    def test_it_is_the_slowest_ranks_and_what_others_and_the_barriers_QPs_take_is_apart(self):
        path = self.output()
        rank = [rdmameter.program, "topo", "mesh", "--repetitions", str(REPETITIONS), *QUICK, "-o", path]
        with Oversleep() as oversleep:
            done = self.run_command(path, rdmameter.mpirun([["env", "RDMAMETER_DEVICE_COSTS=create_qp=100ms", *rank], *[rank] * 6]),
                                    {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assert_takes([sum(row["topology"]["connect_ns"].values()) / 1e9 for row in done.rows], 6, 0.1, oversleep.each())
        for row in done.rows:
            self.assertGreaterEqual(row["topology"]["setup_ns"]["barrier_qps"], 0.6e9)  # 1, 2 and 4 ahead and behind

    def test_a_device_without_inline_data_is_noticed_by_QPs_that_are_no_connections(self):
        for personality, trials in (("generic", 0), ("tiny", 2)):  # one for credits, one for the barrier
            path = self.output()
            with Oversleep() as oversleep:
                done = self.run_command(path, [rdmameter.program, "topo", "mesh", "--ranks", "3", "--traffic", "alltoall",
                                               "--depth", "2", "--iterations", "9", "--verify", "--patience", "30",
                                               "--repetitions", str(REPETITIONS), "-o", path],
                                        {"RDMAMETER_DEVICE_PERSONALITY": personality,
                                         "RDMAMETER_DEVICE_SESSION": f"test-{os.getpid()}-{personality}",
                                         "RDMAMETER_DEVICE_COSTS": "create_qp=50ms"})
            self.assert_takes([row["topology"]["connect_ns"]["create_qp"] / 1e9 for row in done.rows], 2, 0.05, oversleep.each())
            for row in done.rows:
                trial = row["topology"]["setup_ns"]["trial_qps"] / 1e9
                self.assertGreaterEqual(trial, trials * 0.05)
                self.assertEqual(trial > 0, trials > 0)


if __name__ == "__main__":
    rdmameter.main(cpus=2)
