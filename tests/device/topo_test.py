#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Several ranks in several shapes, over one device, every message checked."""
import collections
import glob
import os
import re
import shutil
import signal
import statistics
import subprocess
import unittest.mock

import rdmameter

GRAPHS = {"mesh": (3, 1), "ring": (2, 2), "hypercube": (2, 2), "udmesh": (1, 1)}  # QPs per rank, most hops
TRAFFICS = ("pairs", "token", "neighbours", "alltoall", "allgather", "incast:3", "bisection", "flood", "random")
WALKS = ("pairs", "token")
EXCHANGES = ("neighbours", "alltoall", "allgather")
TIMES, WARMUP = 6, 1
SHORT = ("--iterations", str(TIMES), "--warmup", str(WARMUP), "--patience", "30")
RANKS = 4
# What eight ranks are told on machines that are emulated: there each takes seconds to start, and gets little of a CPU.
EIGHT = ("ring", "--traffic", "alltoall", "--size", "4K", "--verify", "--iterations", "2", "--warmup", "1", "--patience", "30")
# mpirun's words, whose lines it breaks from Open MPI 5 on.
KILLED = r"process\s+rank\s+2\s.*\son\s+node\s+\S+\s+exited\s+on\s+signal\s+9"


class Topo(rdmameter.Test):
    def topo(self, *arguments, status=rdmameter.PASS, timeout=200):
        path = self.output()
        started = rdmameter.Started([rdmameter.program, "topo", *arguments, "-o", path],
                                    rdmameter.environment(), path)
        self.addCleanup(started.end, 0)
        done = started.end(timeout)
        self.assertEqual(done.status, status, done)
        return done

    def mpirun(self, name, wire, settings, *arguments, status, setting="DELAYS"):
        """Ranks, each with its own RDMAMETER_DEVICE_DELAYS, or another setting."""
        path = self.output()
        command = rdmameter.mpirun([["env", f"RDMAMETER_DEVICE_{setting}={value}", rdmameter.program, "topo", *arguments, "-o", path]
                                    for value in settings])
        started = rdmameter.Started(command, rdmameter.environment() | {
            "RDMAMETER_DEVICE_WIRE": wire, "RDMAMETER_DEVICE_SESSION": f"{name}-{os.getpid()}",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}, path)
        self.addCleanup(started.end, 0)
        done = started.end(120)
        self.assertEqual(done.status, status, done)
        self.assert_valid(done.path)
        return done

    def assert_eight(self, row):
        """A row of eight ranks that were told EIGHT."""
        self.assertNotIn("error_message", row)
        self.assertNotIn("lost", row)
        self.assertEqual(row["topology"]["qps_per_rank"], 8 * [2])
        self.assertEqual(row["topology"]["barrier_qps"], 8 * 5)  # 1 and 2 ahead and behind, 4 ahead
        self.assertEqual(row["bandwidth"]["messages"], 2 * 8 * 7)
        self.assertEqual(row["passed_on"], 3 * 8 * (1 + 2 + 3 + 2 + 1))  # to those 2, 3, 4, 3, 2 hops away; a warm-up
        self.assertGreater(row["verified_bytes"], 0)

    def ranks_of(self, started):
        """Processes of the ranks, by rank."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    env = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    ours = started.path.encode() in file.read()
            except OSError:
                continue
            if ours and b"PMIX_RANK" in env:
                found[int(env[b"PMIX_RANK"])] = int(pid)
        return found

    def in_a_traffic(self, traffic):
        """A run of three ranks whose first row is there and whose second one goes on for ever."""
        path = self.output()
        started = rdmameter.Started([rdmameter.program, "topo", "ring", "--ranks", "3", "--traffic", traffic, "--iterations", "5",
                                     "--warmup", "1,20000000", "--patience", str(rdmameter.SLOW), "-o", path],
                                    rdmameter.environment(), path)
        self.addCleanup(started.end, 0)
        return started

    def assert_both_are_named(self, traffic):
        """A rank that is killed in it, and in another run one that hangs; that waits while this one ends."""
        runs = {signal.SIGSTOP: (self.in_a_traffic(traffic), r"no answer for \d+ s from rank 2 on \S+"),
                signal.SIGKILL: (self.in_a_traffic(traffic), KILLED)}
        for sent, (started, _) in runs.items():
            started.await_text("stdout", f"traffic:{traffic}/ranks:3", 60 * rdmameter.SLOW)
            os.kill(self.ranks_of(started)[2], sent)
        for sent, (started, told) in runs.items():
            done = started.end(80 * rdmameter.SLOW)
            self.assertEqual(done.status, rdmameter.FAILED, done)
            self.assertRegex(done.stderr + str(done.rows), told, sent)
            self.assertNotIn("error_message", done.rows[0])
            self.assert_ended(started)

    def assert_ended(self, started):
        """No rank is left."""
        self.assertTrue(rdmameter.wait_until(lambda: not self.ranks_of(started), 10), self.ranks_of(started))


class EveryShape(Topo):
    @classmethod
    def setUpClass(cls):
        cls.runner = cls("topo")
        cls.runner.setUp()
        cls.addClassCleanup(cls.runner.doCleanups)
        cls.done = cls.runner.topo(*GRAPHS, "--ranks", str(RANKS), "--traffic", ",".join(TRAFFICS), "--verify",
                                   "--loss-timeout", "2s", *SHORT)
        cls.rows = {(row["case"]["graph"], row["case"]["traffic"]): row for row in cls.done.rows}

    def test_no_traffic_is_left_out(self):
        listed = subprocess.run([rdmameter.program, "topo", "--list"], check=True, capture_output=True, text=True).stdout
        traffics = listed.partition("\nTraffics")[2].partition("\nSchedules")[0]
        names = set(re.findall(r"^  ([\w-]+)", traffics, re.MULTILINE))
        collectives = {name for name in names if "-" in name}  # topo_collectives_test.py
        self.assertEqual({name.partition(":")[0] for name in TRAFFICS}, names - collectives)

    def each(self, graphs=tuple(GRAPHS), traffics=TRAFFICS):
        for graph in graphs:
            for traffic in traffics:
                with self.subTest(f"{graph} {traffic}"):
                    yield graph, traffic, self.rows[graph, traffic]

    def test_every_graph_carries_every_traffic_and_what_arrives_is_right(self):
        self.assertEqual(set(self.rows), {(graph, traffic) for graph in GRAPHS for traffic in TRAFFICS})
        for _, _, row in self.each():
            self.assertNotIn("error_message", row)
            self.assertNotIn("skip_message", row)
            self.assertGreater(row["verified_bytes"], 0)

    def test_ranks_have_the_QPs_of_their_graph(self):
        for graph, _, row in self.each():
            qps, _ = GRAPHS[graph]
            self.assertEqual(row["topology"]["qps_per_rank"], [qps] * RANKS)
            self.assertEqual(row["topology"]["qps_total"], qps * RANKS)
            self.assertEqual(row["topology"]["barrier_qps"], 3 * RANKS)  # 1 ahead, 1 behind, 2 ahead

    def test_each_sample_knows_its_hops(self):
        for graph, _, row in self.each(traffics=("pairs",)):
            _, most = GRAPHS[graph]
            topology = row["topology"]
            self.assertEqual(topology["hops"]["max"], most)
            self.assertEqual([each["hops"] for each in topology["by_hops"]], list(range(1, most + 1)))
            samples = sum(each["latency"]["count"] for each in topology["by_hops"])
            self.assertEqual(samples + row.get("lost", 0), TIMES * RANKS * (RANKS - 1))
            self.assertEqual(samples, row["latency"]["count"])

    def test_the_matrix_has_every_pair_and_no_rank_with_itself(self):
        for _, _, row in self.each(traffics=("pairs",)):
            for rank, to in enumerate(row["topology"]["matrix_ns"]):
                self.assertEqual([value is None for value in to], [rank == other for other in range(RANKS)])

    def test_on_RC_every_message_arrives_and_nobody_is_told_to_wait(self):
        messages = {"neighbours": None, "alltoall": 12, "allgather": 12, "incast:3": 3, "bisection": 4, "flood": 4, "random": 4}
        for graph, traffic, row in self.each(graphs=("mesh", "ring", "hypercube"), traffics=tuple(messages)):
            expected = messages[traffic] or row["topology"]["qps_total"]
            self.assertEqual(row["bandwidth"]["messages"], TIMES * expected)
            self.assertNotIn("lost", row["bandwidth"])
            self.assertEqual((row["device_counters"]["initiator"] or {}).get("rcvd_rnr_err", 0), 0)

    def test_ranks_between_pass_messages_on(self):
        for graph, _, row in self.each(graphs=("ring", "hypercube"), traffics=("alltoall",)):
            self.assertEqual(row["passed_on"], RANKS * (TIMES + WARMUP), graph)  # each to the one opposite
        for _, _, row in self.each(graphs=("mesh",)):
            self.assertEqual(row["passed_on"], 0)

    def test_exchanges_have_their_times_and_fairness(self):
        for _, _, row in self.each(traffics=EXCHANGES):
            self.assertEqual(row["latency"]["definition"], "exchange")
            self.assertEqual(row["latency"]["count"], TIMES * RANKS)
            self.assertEqual(len(row["topology"]["rank_gbps"]), RANKS)
            self.assertGreater(row["topology"]["jain"], 0.25)

    def test_set_up_is_told_step_by_step_and_memory_by_kind(self):
        for graph, _, row in self.each():
            self.assertEqual(list(row["topology"]["setup_ns"]), ["memory", "barrier_qps", "trial_qps", "bootstrap", "wait", "first_barrier"])
            verbs = ["create_qp", "modify_qp"] + (["create_ah"] if graph == "udmesh" else [])
            self.assertEqual(list(row["topology"]["connect_ns"]), verbs)
            self.assertLessEqual({"buffers", "qps", "cqs", "mrs"}, set(row["topology"]["connection_bytes"]))
            self.assertGreater(row["topology"]["barrier_ns"], 0)

    @rdmameter.kernel_only
    def test_the_kernel_counts_what_was_made(self):
        if rdmameter.verbs_objects("qp") is None:
            self.skipTest("the kernel does not list objects (`rdma resource`)")
        for graph, _, row in self.each():
            qps, _ = GRAPHS[graph]
            kernel, memory = row["topology"]["kernel"], row["topology"]["connection_bytes"]
            buffers = memory["buffers"] + row["topology"].get("relay_bytes", {}).get("buffers", 0)
            self.assertEqual(kernel["qps"], qps + 3)  # and the barrier's
            self.assertEqual((kernel["cqs"], kernel["mrs"], kernel["srqs"]), (2, 2, 0))
            self.assertTrue(0 < kernel["mr_bytes"] - buffers <= 2 * 4096, row)  # whole pages, and the barrier's words
            self.assertGreaterEqual(64 * kernel["cqes"], memory["cqs"])
            self.assertGreaterEqual(kernel["pinned_bytes"], kernel["mr_bytes"])

    def test_four_ranks_on_fewer_cores_yield(self):
        if os.cpu_count() >= RANKS:
            self.skipTest("there are cores enough")
        for _, _, row in self.each():
            self.assertTrue(row["topology"]["yielding"])
            self.assertEqual(row["case"]["wait"], "yield")

    @rdmameter.spared_in_vm
    def test_the_file_is_valid_and_names_every_rank(self):
        self.assert_valid(self.done.path)
        ranks = self.done.result["context"]["rdmameter"]["ranks"]
        self.assertEqual([each["rank"] for each in ranks], list(range(RANKS)))


class Axes(Topo):
    def measure_all(self, *arguments):
        done = self.topo(*arguments, "--verify", *SHORT)
        for row in done.rows:
            self.assertNotIn("error_message", row, done)
            self.assertNotIn("skip_message", row, done)
        return done.rows

    @rdmameter.spared_in_vm
    def test_one_buffer_per_class_is_enough(self):
        for row in self.measure_all("ring", "--ranks", "5", "--traffic", "alltoall,allgather", "--depth", "1"):
            self.assertEqual((row["device_counters"]["initiator"] or {}).get("rcvd_rnr_err", 0), 0)

    @rdmameter.spared_in_vm
    def test_shared_receives_several_QPs_UC_and_schedules_among_more_and_more_ranks(self):
        rows = self.measure_all("ring", "--ranks", "3", "--scale", "2,3", "--traffic", "alltoall", "--schedule",
                                "rounds,staggered", "--recv", "rq,srq", "--qps-per-edge", "2")
        self.assertEqual([row["topology"]["qps_per_rank"] for row in rows], ([[2] * 2] * 2 + [[4] * 3] * 2) * 2)
        # UC has shared receives on no device; a QP of its own each is what it takes.
        for row in self.measure_all("ring", "--ranks", "3", "--traffic", "pairs,alltoall", "--transport", "uc"):
            self.assertEqual(row.get("lost", 0), 0)

    def test_each_QP_may_have_a_CQ_of_its_own(self):
        rows = self.measure_all("mesh", "ring", "udmesh", "--ranks", "4", "--traffic", "alltoall", "--cq-sharing",
                                "shared,per-qp", "--recv", "rq,srq")
        counted = rdmameter.verbs_objects("cq") is not None
        memory = {}
        for row in rows:
            case, topology = row["case"], row["topology"]
            qps, _ = GRAPHS[case["graph"]]
            own = case.get("cq_sharing") == "per-qp"
            if counted:
                self.assertEqual(topology["kernel"]["cqs"], (qps if own else 1) + 1, row["name"])  # and the barrier's
                self.assertEqual(topology["kernel"]["srqs"], 1 if case.get("recv") == "srq" else 0, row["name"])
            memory[case["graph"], case.get("recv"), own] = topology["connection_bytes"]["cqs"]
        self.assertEqual(len(rows), 9)  # of one QP, udmesh has nothing to share or keep apart
        self.assertEqual(memory["mesh", "rq", True] % 3, 0)
        self.assertGreaterEqual(memory["mesh", "rq", True], memory["mesh", "rq", False])

    def test_more_than_one_CQ_holds_is_told_with_the_way_out(self):
        (device, _), *_ = rdmameter.active_ports()
        limits, qps = device["limits"], 16
        depth = limits["max_cqe"] // (2 * qps) + 1
        if depth >= limits["max_qp_wr"]:
            self.skipTest("a CQ of this device holds whatever its QPs can complete")
        shared, own = self.topo("mesh", "--ranks", "2", "--traffic", "alltoall", "--qps-per-edge", str(qps), "--depth",
                                str(depth), "--cq-sharing", "shared,per-qp", *SHORT).rows
        self.assertRegex(shared["skip_message"], "CQ .* must hold .*--cq-sharing per-qp")
        self.assertEqual(own["bandwidth"]["messages"], 2 * TIMES)

    @rdmameter.spared_in_vm
    def test_an_inflated_rank_has_the_QPs_of_a_large_mesh(self):
        rows = self.measure_all("mesh", "--ranks", "2", "--inflate", "9,33", "--active", "1,max", "--traffic", "bisection",
                                "--depth", "2")
        self.assertEqual([row["topology"]["qps_per_rank"] for row in rows], [[8] * 2] * 2 + [[32] * 2] * 2)
        small, large = (rows[i]["topology"]["connection_bytes"]["qps"] for i in (0, 2))
        self.assertAlmostEqual(large / small, 4, delta=0.1)  # as the QPs, and no faster

    @rdmameter.spared_in_vm
    def test_streams_go_by_every_opcode_and_what_lies_there_is_right(self):
        rows = self.measure_all("mesh", "--ranks", "4", "--traffic", "incast:3,bisection,flood,random,pairs-bw",
                                "--opcode", "send,write,read", "--size", "8,5000", "--depth", "4")
        self.assertEqual(len(rows), 30)
        for row in rows:
            senders = {"incast:3": 3, "pairs-bw": RANKS * (RANKS - 1)}.get(row["case"]["traffic"], RANKS)
            self.assertEqual(row["bandwidth"]["messages"], TIMES * senders)
            self.assertGreater(row["verified_bytes"], 0)
            self.assertEqual(row["passed_on"], 0)
        rows = self.measure_all("mesh", "--ranks", "2", "--inflate", "9", "--active", "1,max", "--traffic", "bisection",
                                "--opcode", "write,read", "--depth", "2")
        self.assertEqual([row["topology"]["qps_total"] for row in rows], [16] * 4)

    @rdmameter.spared_in_vm
    def test_ranks_that_may_use_fewer_cores_than_there_are_give_them_away(self):
        rdmameter.use_cpus(2)
        self.addCleanup(rdmameter.use_cpus, 1)
        path = self.output()
        core = str(min(os.sched_getaffinity(0)))
        command = ["taskset", "-c", core, rdmameter.program, "topo", "mesh", "--ranks", "2", "--traffic", "token", *SHORT]
        done = rdmameter.Started([*command, "-o", path], rdmameter.environment(), path).end(100)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertTrue(done.rows[0]["topology"]["yielding"])

    @rdmameter.spared_in_vm
    def test_repetitions_have_orders_of_their_own_which_their_seed_gives_again(self):
        arguments = ("mesh", "ring", "star", "--ranks", "3", "--traffic", "token", "--repetitions", "4", *SHORT)
        first = self.topo(*arguments)
        seed = first.result["context"]["rdmameter"]["order_seed"]
        again = self.topo(*arguments, "--order-seed", str(seed))
        orders = [[row["case"]["graph"] for row in done.rows] for done in (first, again)]
        self.assertEqual(*orders)
        for i in range(0, 12, 3):
            self.assertEqual(sorted(orders[0][i:i + 3]), ["mesh", "ring", "star"])
        self.assert_valid(first.path)

    @rdmameter.spared_in_vm
    def test_a_launcher_of_ones_own_will_do(self):
        if shutil.which("mpirun") is None:
            self.skipTest("no mpirun (package openmpi-bin)")
        env = rdmameter.environment() | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        command = ["mpirun", "--oversubscribe", "-n", "2", rdmameter.program, "topo", "mesh", "--traffic", "token", *SHORT]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mesh/rc/traffic:token/ranks:2", done.stdout)
        done = subprocess.run([*command, "--ranks", "3"], capture_output=True, text=True, timeout=100, check=False, env=env)
        self.assertEqual(done.returncode, rdmameter.USAGE)
        self.assertIn("the launcher has started 2", done.stderr)


@rdmameter.on(rdmameter.SOFTWARE)
class Memory(Topo):
    """With libraries in the place of the drivers' own, whose memory ends the program when the CPU touches it."""

    def setUp(self):
        super().setUp()
        os.environ["LD_LIBRARY_PATH"] = rdmameter.gpu_libraries()
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")

    def test_messages_leave_from_a_gpu_and_are_relayed_in_it(self):
        rows = self.topo("ring", "mesh", "--ranks", "4", "--memory", "cuda:0,rocm:1,device", "--traffic", "pairs,alltoall,flood", "--size", "9,4K", *SHORT).rows
        rows += self.topo("ring", "--ranks", "2", "--memory", "rocm:%l", "--traffic", "alltoall", *SHORT).rows
        self.assertEqual(len(rows), 2 * 3 * 3 * 2 + 1)
        for row in rows:
            self.assertNotIn("error_message", row)
            self.assertNotIn("skip_message", row)
            self.assertEqual(row.get("gpu_registration"), "dmabuf" if ":" in row["case"]["memory"] else None)
        self.assertTrue(any(row.get("passed_on", 0) > 0 for row in rows))
        [row] = self.topo("udmesh", "--ranks", "3", "--memory", "cuda:0", "--traffic", "alltoall", *SHORT).rows
        self.assertNotIn("error_message", row)

    def test_a_gpu_that_is_not_there_is_skipped_with_the_rank(self):
        [row] = self.topo("ring", "--ranks", "2", "--memory", "cuda:7", "--traffic", "pairs", *SHORT, status=rdmameter.USAGE).rows
        self.assertRegex(row["skip_message"], "rank 0 on .*CUDA_ERROR_INVALID_DEVICE .*no such GPU")


@rdmameter.on(rdmameter.RXE)
class Devices(Topo):
    def wire(self, *netem):
        subprocess.run(["tc", "qdisc", "add", "dev", "v0", "root", "netem", *netem], check=True)
        self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", "v0", "root"], check=True)

    def test_what_is_lost_on_the_wire_is_a_figure_and_what_arrives_is_right(self):
        self.wire("loss", "5%")
        done = self.topo("mesh", "--ranks", "2", "--device", "rxe%l", "--transport", "uc,rc", "--traffic", "alltoall",
                         "--verify", "--iterations", "200", "--warmup", "5", "--loss-timeout", "50ms", "--patience", "30")
        lossy, reliable = (row["bandwidth"] for row in done.rows)
        self.assertEqual(lossy["sent"], 400)
        self.assertGreater(lossy["lost"], 0)
        self.assertEqual(lossy["messages"], 400 - lossy["lost"])
        self.assertEqual(reliable["messages"], 400)

    def test_what_arrives_at_eight_ranks_is_right(self):
        [row] = self.topo(*EIGHT, "--ranks", "8").rows
        self.assert_eight(row)

    @rdmameter.everyday
    def test_ranks_on_devices_of_their_own_meet_on_the_wire(self):
        arguments = ("mesh", "--ranks", "2", "--traffic", "pairs", "--device", "rxe%l", *SHORT)
        [quick] = self.topo(*arguments).rows
        self.assertEqual(quick["path"], "netdev")
        self.wire("delay", "20ms")
        [slow] = self.topo(*arguments).rows
        for rank, other in ((0, 1), (1, 0)):
            delayed = slow["topology"]["matrix_ns"][rank][other]
            self.assertGreater(delayed, 8e6)  # half of a round trip that takes 20 ms more
            self.assertGreater(delayed, quick["topology"]["matrix_ns"][rank][other])


@rdmameter.spared_in_vm
class Impossible(Topo):
    def test_ranks_meet_by_the_interface_that_is_named(self):
        self.topo("mesh", "--ranks", "2", "--traffic", "token", "--bootstrap-if", "lo", *SHORT)
        done = self.topo("mesh", "--ranks", "2", "--traffic", "token", "--bootstrap-if", "nowhere0", status=rdmameter.USAGE)
        self.assertRegex(done.stderr, r"^rdmameter: --bootstrap-if nowhere0: there is no such interface; interfaces here: .*lo")
        self.assertEqual(done.stderr.count("nowhere0"), 1, "once, before ranks are started")

    def test_exchanging_addresses_does_not_get_slower_with_each_row(self):
        """Once more than ten times slower after a hundred rows. What gets slower with the rows does so in each run; other
        work that begins in the middle of a run makes that one slower alone."""
        ratios = []
        for _ in range(3):
            done = self.topo("ring", "--ranks", "4", "--traffic", "neighbours", "--size", "8", "--iterations", "10", "--repetitions", "100")
            times = [row["topology"]["setup_ns"]["bootstrap"] for row in done.rows]
            ratios.append(statistics.median(times[-30:]) / statistics.median(times[1:31]))
        self.assertLess(min(ratios), 2, ratios)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_an_exchange_that_takes_longer_than_the_loss_timeout_loses_nothing(self):
        """No round of it does."""
        os.environ["RDMAMETER_DEVICE_WIRE"] = "latency=60ms"
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE")
        (row,) = self.topo("mesh", "--ranks", "4", "--transport", "uc", "--traffic", "alltoall", "--schedule", "rounds",
                           "--iterations", "2", "--warmup", "0", "--loss-timeout", "150ms").rows
        self.assertEqual(row["bandwidth"]["messages"], 2 * 4 * 3)
        self.assertNotIn("lost", row)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_messages_take_the_QPs_of_an_edge_in_turn(self):
        for traffic in ("alltoall", "pairs"):
            log = f"{self.scratch}/{traffic}"
            with unittest.mock.patch.dict(os.environ, RDMAMETER_DEVICE_LOG=log):
                self.topo("mesh", "--ranks", "2", "--qps-per-edge", "4", "--traffic", traffic, "--iterations", "400", "--warmup", "0")
            posts = collections.Counter()
            for path in glob.glob(f"{log}.*"):
                with open(path, encoding="ascii") as file:
                    posts.update((path, line.split()[1]) for line in file if line.startswith("posted "))
            self.assertGreaterEqual(sum(count >= 90 for count in posts.values()), 2 * 4, (traffic, posts))

    def test_what_cannot_be_is_told_before_anything_starts(self):
        for arguments, reason in ((("hypercube", "--ranks", "3"), "power of two"),
                                  (("torus2d:2x3", "--ranks", "4"), "product"),
                                  (("random:1", "--ranks", "4", "--traffic", "alltoall"), "not connected"),
                                  (("random:3", "--ranks", "5"), "even"),
                                  (("random:4", "--ranks", "4"), "from 1 to 3"),
                                  (("mesh", "--ranks", "1"), "--ranks 2"),
                                  (("ring", "--ranks", "4", "--traffic", "random", "--opcode", "read"), "hops"),
                                  (("mesh", "--ranks", "2", "--traffic", "random", "--opcode", "write",
                                    "--transport", "uc"), "over RC alone"),
                                  (("mesh", "--ranks", "4", "--transport", "ud"), "udmesh")):
            with self.subTest(" ".join(arguments)):
                done = self.topo(*arguments, status=rdmameter.USAGE, timeout=30)
                self.assertIn(reason, done.rows[0]["skip_message"])

    def test_an_unknown_graph_is_told_which_there_are(self):
        done = subprocess.run([rdmameter.program, "topo", "rign", "--ranks", "3"], capture_output=True, text=True,
                              timeout=30, check=False, env=rdmameter.environment())
        self.assertEqual(done.returncode, rdmameter.USAGE)
        self.assertRegex(done.stderr, r"no graph 'rign' \(graphs: mesh, ring, kring:K, .*torus2d:AxB.*random:D.*\)")


if __name__ == "__main__":
    rdmameter.main()
