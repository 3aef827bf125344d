#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`--blame on`: who was late.

By hand, with some hundred stops of each end:
RDMAMETER_BLAME_SECONDS=60 tools/software-device tests/device/blame_test.py build/rdmameter -k Stopped
"""
import os
import random
import signal
import subprocess
import time

import rdmameter

STOP_S = 0.06
LATE_S = 0.03
STOPPING_S = float(os.environ.get("RDMAMETER_BLAME_SECONDS", "1.5"))  # by hand: longer
CAUSES = ("local", "peer", "path", "undecided")


def told(row):
    return ", ".join(f"{row['blame'][cause]['count']} {cause}" for cause in CAUSES)


class Blame(rdmameter.Test):
    def test_causes_sum_to_the_late_samples(self):
        for row in self.measure("send_lat", "write_lat", "--blame", "on", "--iterations", "5000"):
            with self.subTest(row["name"]):
                blame = row["blame"]
                self.assertEqual(sum(blame[cause]["count"] for cause in CAUSES), blame["late"])
                self.assertEqual(blame["both"] + blame["not_kept"], blame["undecided"]["count"])
                # Of many samples of few lengths p99 may be the longest.
                self.assertEqual(blame["late"] > 0, row["latency"]["max"] >= blame["limit_ns"])
                self.assertLessEqual(blame["late"], row["latency"]["count"] / 100)

    def test_a_limit_beyond_all_samples_has_no_late_ones(self):
        (row,) = self.measure("write_lat", "--blame", "on", "--late", "1000", "--iterations", "2000")
        self.assertEqual(row["blame"]["late"], 0)

    def test_what_cannot_be_blamed_is_skipped_with_the_reason(self):
        for arguments, reason in ((["--transport", "uc"], "none may be lost"), (["--qps", "2"], "--qps 1"),
                                  (["--threads", "2"], "--threads 1")):
            self.assertIn(reason, self.skipped("write_lat", "--blame", "on", *arguments))


def is_stopped(pid):
    """Are all of its threads? That takes some time after the signal."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
            if file.read().rpartition(")")[2].split()[0] != "T":
                return False
    return True


@rdmameter.on(rdmameter.SOFTWARE)
class Stopped(rdmameter.Test):
    """An end that is stopped again and again, for so long that no busy machine makes the other one wait for half of it."""

    def stop_often(self, responder, test):
        """@return  the row's blame, how many stops there were, and the result's path"""
        server = self.serve()
        load = ["--rate", "2000"] if test.endswith("_load") else []
        run = self.start(f"localhost:{server.port}", test, *load, "--warmup", "10", "--duration", f"{STOPPING_S + 1}s",
                         "--blame", "on", "--late", f"{LATE_S}s", token=server.token)
        server.await_log("(latency|load) of")
        time.sleep(0.3)
        (pid,) = server.sessions() if responder else (run.process.pid,)
        chance = random.Random(17)
        stops, end = 0, time.monotonic() + STOPPING_S
        while time.monotonic() < end:
            os.kill(pid, signal.SIGSTOP)
            rdmameter.wait_until(lambda: is_stopped(pid), pause=0.001)
            time.sleep(STOP_S)
            os.kill(pid, signal.SIGCONT)
            stops += 1
            time.sleep(chance.uniform(0.01, 0.03))
        done = run.end(60)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assert_valid(done.path)
        (row,) = done.rows
        rdmameter.note(f"{test}, {'responder' if responder else 'initiator'} stopped {stops} times: {told(row)}")
        return row["blame"], stops, done.path

    def test_the_responder_is_the_peer(self):
        for test in ("write_lat", "send_lat"):
            blame, stops, _ = self.stop_often(True, test)
            self.assertGreaterEqual(blame["peer"]["count"], stops / 2, test)

    def test_the_initiator_is_local_and_its_stalls_are_named(self):
        for test in ("write_lat", "send_lat"):
            blame, stops, path = self.stop_often(False, test)
            self.assertGreaterEqual(blame["local"]["count"], stops / 2, test)
            self.assertGreaterEqual(blame["stalls"][0]["duration_ns"], LATE_S * 1e9)
            self.assertLess(abs(blame["stalls"][0]["monotonic_ns"] - time.monotonic_ns()), 60e9)
            shown = subprocess.run([rdmameter.program, "show", path], capture_output=True, text=True, check=True).stdout
            self.assertRegex(shown, r"by who was late(.|\n)*longest stalls(.|\n)* at 20")

    def test_in_an_open_loop_requests_that_fell_due_during_a_stop_inherit_its_cause(self):
        """At 2000 per second, 60 of 120 that fall due during a stop are late: of each stop more than one."""
        for responder, cause in ((True, "peer"), (False, "local")):
            blame, stops, _ = self.stop_often(responder, "send_load")
            self.assertGreaterEqual(blame["late"], 30 * stops)
            # On a busy machine the other end is away, too: then those of some stops are undecided.
            self.assertGreaterEqual(blame[cause]["count"], 3 * stops)
            self.assertEqual(sum(blame[each]["count"] for each in CAUSES), blame["late"])

    def test_where_no_loop_answers_nobody_is_the_peer(self):
        for test in ("read_lat", "write_load"):
            (row,) = self.measure(test, "--blame", "on", "--late", "100ns", "--iterations", "3000")
            self.assertGreater(row["blame"]["late"], 0, test)
            self.assertEqual(row["blame"]["peer"]["count"], 0, test)
            self.assertNotIn("peer_gaps", row["blame"], test)

    def test_a_slow_path_is_the_path(self):
        """So slow that no busy machine makes an end wait for half of it."""
        os.environ["RDMAMETER_DEVICE_WIRE"] = "latency=200ms"
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE")
        for test in ("write_lat", "send_lat"):
            (row,) = self.measure(test, "--blame", "on", "--late", f"{LATE_S}s", "--warmup", "1", "--iterations", "4")
            rdmameter.note(f"{test}, slow path: {told(row)}")
            self.assertEqual(row["blame"]["late"], 4)
            self.assertGreaterEqual(row["blame"]["path"]["count"], 3)

    def test_nobody_is_stopped(self):
        """The control: what the machine alone makes late is told, and is more on a busy one."""
        (row,) = self.measure("write_lat", "--blame", "on", "--late", f"{LATE_S}s", "--duration", f"{STOPPING_S}s")
        rdmameter.note(f"nobody stopped: {told(row)}")
        self.assertEqual(row["blame"]["not_kept"], 0)


if __name__ == "__main__":
    rdmameter.main(cpus=2)
