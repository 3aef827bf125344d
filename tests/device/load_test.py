#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Open loop: requests fall due at a rate, whatever becomes of those before them.

By hand, with both CPUs free, 100000 requests in 20 s; then the reached rate strays by less than 0.1 % from the offered one, and
the mean is within 5 % of that of the port's own service time:
RDMAMETER_LINDLEY_REQUESTS=100000 tools/software-device tests/device/load_test.py build/rdmameter -k lindley
"""
import collections
import glob
import os
import signal
import subprocess
import unittest.mock

import rdmameter

TESTS = ("send_load", "write_load", "read_load", "fetch_add_load", "cmp_swap_load")
SLOW_RATE = ("--rate", "2k", "--warmup", "50")


class Load(rdmameter.Test):
    def test_every_request_that_falls_due_is_answered_or_completed_and_verified(self):
        rows = self.measure(*TESTS, "--qps", "1,3", "--iterations", "600", *SLOW_RATE, "--verify")
        self.assertEqual([row["name"].split("/")[0] for row in rows], [test for test in TESTS for _ in range(2)])
        for row in rows:
            with self.subTest(row["name"]):
                load = row["load"]
                self.assertEqual((load["due"], load["completed"], load["unsent"]), (600, 600, 0))
                self.assertEqual(row["iterations"], 600)
                self.assertEqual(row["latency"]["definition"], "response")
                self.assertGreater(row["verified_bytes"], 0)
                self.assertEqual((row["case"]["rate"], row["case"]["arrivals"]), (2000, "poisson"))

    @rdmameter.spared_in_vm
    def test_threads_share_the_rate(self):
        rows = self.measure("send_load", "write_load", "--threads", "2", "--qps", "1,2", "--iterations", "400", "--interval", "20ms",
                            "--arrivals", "fixed", *SLOW_RATE, "--verify")
        for row in rows:
            with self.subTest(row["name"]):
                load = row["load"]
                self.assertEqual((load["due"], load["completed"], load["unsent"]), (800, 800, 0))
                self.assertEqual(row["latency"]["count"], 800)
                self.assertEqual([load[part]["histogram"]["count"] for part in ("service", "lateness")], [800] * 2)
                self.assertAlmostEqual(load["offered_per_s"], 2000, delta=2)
                self.assertEqual([thread["operations"] for thread in row["per_thread"]], [400, 400])
                self.assertGreaterEqual(len(load["backlog"]), 10)
                self.assertGreater(row["verified_bytes"], 0)

    def test_a_response_is_its_lateness_and_its_service(self):
        for row in self.measure("send_load", "write_load", "--iterations", "600", *SLOW_RATE):
            parts = [row["load"][part]["histogram"] for part in ("service", "lateness")]
            whole = row["latency"]["histogram"]
            self.assertEqual([part["count"] for part in parts], [whole["count"]] * 2)
            # Each is rounded to whole ns by itself.
            self.assertAlmostEqual(sum(part["sum"] for part in parts), whole["sum"], delta=2 * whole["count"])

    @rdmameter.spared_in_vm
    def test_a_list_of_rates_gives_a_case_for_each(self):
        rows = self.measure("write_load", "--rate", "1k,2k", "--arrivals", "fixed,burst:10", "--iterations", "400",
                            "--warmup", "20")
        self.assertEqual([(row["case"]["rate"], row["case"]["arrivals"]) for row in rows],
                         [(rate, arrivals) for rate in (1000, 2000) for arrivals in ("fixed", "burst:10")])
        for row in rows:
            self.assertAlmostEqual(row["load"]["offered_per_s"], row["case"]["rate"], delta=0.001 * row["case"]["rate"])

    @rdmameter.spared_in_vm
    def test_a_rate_of_bits_is_that_of_its_size(self):
        (row,) = self.measure("write_load", "--rate", "8Mb/s", "--size", "1000", "--arrivals", "fixed", "--iterations",
                              "200", "--warmup", "10")
        self.assertEqual(row["case"]["rate"], "8Mb/s")
        self.assertAlmostEqual(row["load"]["offered_per_s"], 1000, delta=1)

    def test_a_duration_ends_it(self):
        (row,) = self.measure("send_load", "--rate", "1k", "--duration", "500ms", "--arrivals", "fixed",
                              "--interval", "100ms")
        self.assertAlmostEqual(row["load"]["due"], 500, delta=2)
        self.assertEqual(row["load"]["completed"] + row["load"]["unsent"], row["load"]["due"])

    @rdmameter.spared_in_vm
    def test_what_it_cannot_do_is_skipped_with_the_reason(self):
        for options, reason in ((("--transport", "ud"), "--transport rc"),
                                (("--wait", "event"), "--wait spin"), (("--recv", "srq"), "--recv rq")):
            with self.subTest(options):
                self.assertIn(reason, self.skipped("send_load", *options))

    @rdmameter.spared_in_vm
    def test_is_shown_and_merged(self):
        done = self.run_program("--loopback", "write_load", "--iterations", "400", *SLOW_RATE)
        merged = self.output()
        for command in (["merge", done.path, "-o", merged], ["show", merged]):
            shown = subprocess.run([rdmameter.program, *command], capture_output=True, text=True, check=True)
        self.assert_valid(merged)
        for word in ("response, from due time", "offered", "reached", "service p50", "late p50"):
            self.assertIn(word, shown.stdout)


@rdmameter.on(rdmameter.SOFTWARE)
class Queue(rdmameter.Test):
    """The port of the software device takes one message at a time, for a fixed time. Its log of posts and polls is the witness."""
    SERVICE_NS = 100_000
    WARMUP = 100
    REQUESTS = int(os.environ.get("RDMAMETER_LINDLEY_REQUESTS", "10000"))
    BY_HAND = "RDMAMETER_LINDLEY_REQUESTS" in os.environ

    @staticmethod
    def lindley(posts, services):
        """Lindley's recursion. @return  the response of each request"""
        free, responses = 0, []
        for post, service in zip(posts, services):
            free = max(free, post) + service
            responses.append(free - post)
        return responses

    def logged(self, log):
        """Times of the QP that carried the requests: when each was posted, and when its completion was polled."""
        (path,) = glob.glob(f"{log}.*")
        times = collections.defaultdict(lambda: {"posted": {}, "polled": {}})
        with open(path, encoding="ascii") as file:
            for step, qpn, number, at_ns in map(str.split, file):
                if step in times[qpn]:  # the log has attributes of QPs, too
                    times[qpn][step][int(number)] = int(at_ns)
        busiest = max(times.values(), key=lambda qp: len(qp["posted"]))
        count = self.WARMUP + self.REQUESTS
        return [[busiest[step][number] for number in range(count)] for step in ("posted", "polled")]

    def test_the_mean_response_is_that_of_lindleys_recursion_over_what_the_device_saw(self):
        log = f"{self.scratch}/requests"
        setting = {"RDMAMETER_DEVICE_WIRE": f"message={self.SERVICE_NS}ns", "RDMAMETER_DEVICE_LOG": log}
        with unittest.mock.patch.dict(os.environ, setting):
            (row,) = self.measure("write_load", "--rate", str(int(0.5e9 / self.SERVICE_NS)), "--iterations", str(self.REQUESTS),
                                  "--warmup", str(self.WARMUP), "--depth", "4096")
        posts, polls = self.logged(log)
        services = [polled - max(post, before) for post, polled, before in zip(posts, polls, [0, *polls])]
        load = row["load"]
        means = {"response": row["latency"]["mean"], "service": load["service"]["mean"], "lateness": load["lateness"]["mean"]}
        modelled = {name: sum(responses[self.WARMUP:]) / self.REQUESTS
                    for name, responses in (("measured services", self.lindley(posts, services)),
                                            ("the fixed service", self.lindley(posts, [self.SERVICE_NS] * len(posts))))}
        strayed = abs(load["reached_per_s"] / load["offered_per_s"] - 1)
        rdmameter.note(f"ns: {means}, Lindley over the device's posts: {modelled}; reached strays by {strayed:.5%} from offered")
        # What lies between the program's and the device's reading of the clock; however busy the machine is, it seldom takes
        # the CPU away right there.
        self.assertAlmostEqual(means["service"] / modelled["measured services"], 1, delta=0.05)
        self.assertAlmostEqual(means["response"] / (means["lateness"] + modelled["measured services"]), 1, delta=0.05)
        # No device can be quicker than it is.
        self.assertGreaterEqual(means["service"], modelled["the fixed service"])
        # Both windows hold the same requests, and each of their ends differs by a response.
        self.assertLessEqual(strayed, 1.01 * row["latency"]["max"] / (1e9 * self.REQUESTS / load["offered_per_s"]))
        if self.BY_HAND:
            self.assertLessEqual(strayed, 0.001)
            self.assertLessEqual(means["service"], 1.05 * modelled["the fixed service"])


class Mix(rdmameter.Test):
    def parts_of(self, row):
        """The parts of the mix; together they are what the row says of all requests."""
        load, parts = row["load"], row["load"]["mix"]
        wholes = {"response": row["latency"], "service": load["service"], "lateness": load["lateness"]}
        for key in ("due", "completed"):
            self.assertEqual(sum(part[key] for part in parts), load[key])
        for time, whole in wholes.items():
            for key in ("count", "sum"):
                self.assertEqual(sum(part[time]["histogram"][key] for part in parts), whole["histogram"][key])
        for part in parts:
            self.assertEqual(part["service"]["histogram"]["count"], part["completed"])
            self.assertAlmostEqual(part["reached_gbps"] / (part["reached_per_s"] * part["size_bytes"] * 8e-9), 1, delta=1e-4)
        return parts

    def test_each_part_has_its_share_of_the_requests(self):
        done = self.run_program("--loopback", "mix_load", "--mix", "read:4K:50,read:64:20,write:8:30", "--qps", "2",
                                "--iterations", "600", *SLOW_RATE)
        self.assert_valid(done.path)
        [row] = done.rows
        self.assertEqual(row["case"]["mix"], "read:4096:50+read:64:20+write:8:30")
        parts = self.parts_of(row)
        self.assertEqual([(part["operation"], part["size_bytes"], part["weight"]) for part in parts],
                         [("read", 4096, 50), ("read", 64, 20), ("write", 8, 30)])
        self.assertEqual(row["load"]["completed"], 600)
        for part in parts:  # 5 standard deviations of a binomial distribution
            share = part["weight"] / 100
            self.assertAlmostEqual(part["completed"], 600 * share, delta=5 * (600 * share * (1 - share)) ** 0.5)

    @rdmameter.on(rdmameter.SOFTWARE)
    @rdmameter.spared_in_vm
    def test_threads_have_parts_of_their_own_which_add_up(self):
        [row] = self.measure("mix_load", "--size", "100", "--threads", "2", "--qps", "3", "--iterations", "300", *SLOW_RATE)
        self.assertEqual(row["load"]["completed"], 600)
        self.assertEqual([part["size_bytes"] for part in self.parts_of(row)], [100, 100])

    def test_every_operation_can_be_a_part_and_is_verified(self):
        for extra in (("--qps", "1,3"), ("--threads", "2", "--qps", "2", "--mr-per-qp", "on")):
            for row in self.measure("mix_load", "--mix", "read:4K:30,write:20,send:2000:30,fetch_add:10,cmp_swap:10", "--size", "100",
                                    *extra, "--iterations", "400", *SLOW_RATE, "--verify"):
                with self.subTest(row["name"]):
                    parts = self.parts_of(row)
                    self.assertEqual([(part["operation"], part["size_bytes"]) for part in parts],
                                     [("read", 4096), ("write", 100), ("send", 2000), ("fetch_add", 8), ("cmp_swap", 8)])
                    self.assertEqual((row["load"]["completed"], row["load"]["unsent"]), (400 * row["case"].get("threads", 1), 0))
                    self.assertGreater(row["verified_bytes"], 100_000)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_send_ends_by_its_answer_and_a_write_by_its_completion(self):
        with unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_WIRE": "rate=10M"}):  # 3.3 ms for 4 KiB
            [row] = self.measure("mix_load", "--mix", "write:8:50,send:4K:50", "--device", "soft0", "--peer-device", "soft1",
                                 "--rate", "50", "--iterations", "60", "--warmup", "4")
        write, send = self.parts_of(row)
        self.assertGreater(send["service"]["min"], 2 * 3_200_000)  # the way there, and that of an answer of the same size
        self.assertLess(write["service"]["min"], 3_200_000)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_reads_bring_their_bytes_here_and_writes_take_theirs_there(self):
        wire = {"RDMAMETER_DEVICE_WIRE": "0-1:rate=10M"}  # 3.3 ms for 4 KiB, of one way alone
        with unittest.mock.patch.dict(os.environ, wire):
            [row] = self.measure("mix_load", "--device", "soft0", "--peer-device", "soft1", "--size", "4K", "--rate", "100",
                                 "--iterations", "100", "--warmup", "10")
        read, write = self.parts_of(row)
        self.assertGreater(write["service"]["min"], 3_200_000)
        self.assertLess(read["service"]["min"], 3_200_000)

    @rdmameter.on(rdmameter.SOFTWARE)
    @rdmameter.spared_in_vm
    def test_what_it_cannot_do_is_skipped_with_the_reason(self):
        for options, reason in ((("--transport", "uc"), "--transport rc"), (("--recv", "srq", "--mix", "send:1"), "--recv rq"),
                                (("--rate", "sweep"), "list of rates"), (("--api", "extended"), "--api classic"),
                                (("--sge", "2"), "--sge 1"), (("--depth", "1048576"), "smaller --depth")):
            with self.subTest(options):
                self.assertIn(reason, self.skipped("mix_load", *options))
        for mix in ("erase:1", "read:0", "read:70,read:30", "send:1,send:64:1", "fetch_add:64:1"):
            done = self.run_program("--loopback", "mix_load", "--mix", mix, status=rdmameter.USAGE)
            self.assertIn("OPERATION:SIZE:WEIGHT", done.stderr)

    @rdmameter.on(rdmameter.SOFTWARE)
    @rdmameter.spared_in_vm
    def test_its_parts_are_shown_and_exported(self):
        done = self.run_program("--loopback", "mix_load", "--mix", "read:70,write:8:30", "--repetitions", "2", "--iterations", "400",
                                *SLOW_RATE)
        page = self.output()
        for command, words in ((["show", done.path], ("parts of the mix", "read 64", "write 8")),
                               (["show", "--csv", "--tidy", done.path], ("load_mix_1_operation", "load_mix_1_service_p50_ns")),
                               (["report", done.path, "-o", page], ())):
            shown = subprocess.run([rdmameter.program, *command], capture_output=True, text=True, check=True)
            for word in words:
                self.assertIn(word, shown.stdout)
        with open(page, encoding="utf-8") as file:
            self.assertIn("Parts of the mix", file.read())


@rdmameter.on(rdmameter.SOFTWARE)
class Overload(rdmameter.Test):
    """A port that takes a message each millisecond takes no more, however slow the machine."""

    def setUp(self):
        super().setUp()
        wire = unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_WIRE": "message=1ms"})
        wire.start()
        self.addCleanup(wire.stop)

    def test_more_than_the_port_takes_is_saturated_and_waits(self):
        (row,) = self.measure("write_load", "--rate", "4k", "--depth", "4", "--iterations", "1000", "--warmup", "20")
        load = row["load"]
        self.assertTrue(load["saturated"])
        self.assertLessEqual(load["reached_per_s"], 1010)
        self.assertGreater(load["backlog_max"], 500)
        self.assertGreater(row["latency"]["p50"], 10 * load["service"]["p50"])

    def test_beyond_its_duration_nothing_that_waits_is_posted(self):
        (row,) = self.measure("write_load", "--rate", "4k", "--depth", "4", "--duration", "500ms", "--warmup", "20")
        self.assertGreater(row["load"]["unsent"], 0)
        self.assertTrue(row["load"]["saturated"])

    def test_a_sweep_finds_what_the_port_takes_and_a_rate_within_the_slo(self):
        os.environ["RDMAMETER_DEVICE_WIRE"] = "message=50us"
        done = self.run_program("--loopback", "write_load", "--rate", "sweep", "--slo", "5x", "--iterations", "1000", "--warmup",
                                "20", timeout=600)  # a busy machine makes its first rate low
        [row] = done.rows
        self.assertEqual((row["case"]["rate"], row["case"]["slo_ns"]), ("sweep", "5x"))
        self.assertNotIn("latency", row)
        sweep = row["sweep"]
        self.assertLessEqual(sweep["saturation_per_s"], 20200)
        self.assertLessEqual(sweep["slo_rate_per_s"], sweep["saturation_per_s"] + 1)
        self.assertGreaterEqual(sweep["unloaded_p99_ns"], 50_000)
        self.assertAlmostEqual(sweep["slo_ns"], 5 * sweep["unloaded_p99_ns"])
        self.assertEqual(row["iterations"], 1000 * sum("p50_ns" in point for point in sweep["points"]) +
                         sum(min(1000, max(50, point["rate_per_s"] // 5)) for point in sweep["points"] if "p50_ns" not in point))
        self.assert_valid(done.path)
        shown = subprocess.run([rdmameter.program, "show", done.path], capture_output=True, text=True, check=True).stdout
        for word in ("saturation", "rate within SLO", "latency over load", "saturated"):
            self.assertIn(word, shown)

    def test_a_sweep_that_is_interrupted_keeps_what_it_found(self):
        run = self.start("--loopback", "write_load", "--rate", "sweep", "--iterations", "20000")
        run.work(3)
        run.process.send_signal(signal.SIGINT)
        done = run.end(60)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        [row] = done.rows
        self.assertTrue(row["interrupted"])
        self.assertTrue(row["sweep"]["points"])
        self.assertNotIn("slo_rate_per_s", row["sweep"])
        self.assert_valid(done.path)

    def test_a_sweep_needs_requests_for_its_p99(self):
        self.assertIn("--iterations 1000", self.skipped("write_load", "--rate", "sweep", "--iterations", "999"))
        self.assertIn("--iterations 1000", self.skipped("write_load", "--rate", "sweep", "--duration", "1"))


if __name__ == "__main__":
    rdmameter.main()
