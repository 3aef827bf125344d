#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`--blame on`: late samples by cause.

By hand, with some hundred stops of each end; and with 33 stops of each end and delays of the path between two devices:
RDMAMETER_BLAME_SECONDS=60 tools/software-device tests/device/blame_test.py build/rdmameter -k Stopped
RDMAMETER_BLAME_INJECTIONS=33 tools/rxe-vm run --timeout 3600 -- tests/device/blame_test.py build/rdmameter -k Injected
Names of tests in RDMAMETER_BLAME_TESTS choose among those that the latter measures.
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


@rdmameter.spared_in_vm
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
        # Between two stops an open loop on a busy machine has the time to end its busy period, in which each cause is inherited.
        pause_s = (0.1, 0.15) if load else (0.01, 0.03)
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
            time.sleep(chance.uniform(*pause_s))
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
            self.assertRegex(shown, r"late samples by cause(.|\n)*longest stalls(.|\n)* at 20")

    def test_in_an_open_loop_requests_that_fell_due_during_a_stop_inherit_its_cause(self):
        """At 2000 per second, 60 of 120 that fall due during a stop are late: of each stop more than one."""
        for responder, cause in ((True, "peer"), (False, "local")):
            blame, stops, _ = self.stop_often(responder, "send_load")
            self.assertGreaterEqual(blame["late"], 30 * stops)
            # On a busy machine the other end is away, too: then those of some stops are undecided.
            self.assertGreater(blame[cause]["count"], stops)
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


@rdmameter.on(rdmameter.RXE)
class Injected(rdmameter.Test):
    """On the pair rxe0 - rxe1 an end is stopped, or the way there held, each time for much longer than an emulated machine
    takes either away by itself. An open loop has many samples in such a pause, too: it is stopped for longer still, so
    that a pause is less than the quarter of what the late ones wait, and nobody's gap."""
    INJECTIONS = int(os.environ.get("RDMAMETER_BLAME_INJECTIONS", "3"))
    BY_HAND = "RDMAMETER_BLAME_INJECTIONS" in os.environ
    LONG_S = {"lat": 1.0, "load": 8.0}
    BETWEEN_S = {"lat": 0.25, "load": 1.0}  # what has waited is answered by then
    RATE = 50  # of an open loop [1/s]
    HELD_S = 0.1  # what leaves within this time arrives that much later
    AXES = ("--device", "rxe0", "--peer-device", "rxe1", "--wait", "yield", "--warmup", "10", "--blame", "on",
            "--qp-timeout", "22")  # 17 s: nothing is lost, and nothing is sent twice
    CAUSE = {"initiator": "local", "responder": "peer", "path": "path"}

    def setUp(self):
        super().setUp()
        # One that waits for commands: the start of a program may take longer than what it injects.
        self.tc = subprocess.Popen(["tc", "-batch", "-"], stdin=subprocess.PIPE, text=True)
        self.addCleanup(self.restore_link)
        self.delay(0, "add")

    def delay(self, seconds, how="change"):
        """Of what leaves rxe0. With a rate, what is sent later does not overtake it."""
        self.tc.stdin.write(f"qdisc {how} dev v0 root netem delay {round(1000 * seconds)}ms rate 10gbit\n")
        self.tc.stdin.flush()

    def restore_link(self):
        self.tc.communicate("qdisc del dev v0 root\n")
        self.assertEqual(self.tc.returncode, 0)

    def inject(self, where, pids, long_s):
        """@return  how long it took [s]"""
        began = time.monotonic()
        if where == "path":
            self.delay(long_s)
            time.sleep(self.HELD_S)
            self.delay(0)
            time.sleep(long_s)
        elif where == "nobody":
            time.sleep(long_s)
        else:
            os.kill(pids[where], signal.SIGSTOP)
            rdmameter.wait_until(lambda: is_stopped(pids[where]), pause=0.01)
            time.sleep(long_s)
            os.kill(pids[where], signal.SIGCONT)
        return time.monotonic() - began

    def blamed(self, server, test, where):
        """@return  the row's blame, and how long each injection took [s]"""
        since = len(server.log)
        kind = test.rpartition("_")[2]
        long_s = self.LONG_S[kind]
        load = ["--rate", str(self.RATE)] if test.endswith("_load") else []
        run = self.start(f"localhost:{server.port}", test, *load, *self.AXES, "--late", f"{long_s / 2}s", "--duration", "600s",
                         token=server.token)
        server.await_log("(latency|load) of", since=since)
        time.sleep(1)
        (session,) = server.sessions()
        pids = {"initiator": run.process.pid, "responder": session}
        took = []
        for _ in range(self.INJECTIONS):
            took.append(self.inject(where, pids, long_s))
            time.sleep(self.BETWEEN_S[kind])
        run.process.send_signal(signal.SIGINT)
        done = run.end(60)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        (row,) = done.rows
        rdmameter.note(f"{test}, {self.INJECTIONS} injections, {where}: {row['latency']['count']} samples, {told(row)}")
        return row["blame"], took

    def test_whoever_was_away_between_two_devices_is_blamed(self):
        server = self.serve()
        if self.BY_HAND:
            for test in os.environ.get("RDMAMETER_BLAME_TESTS", "send_lat write_lat read_lat send_load write_load").split():
                self.hold_to_shares(server, test)
            return
        for where, cause in self.CAUSE.items():
            with self.subTest(where):
                blame, _ = self.blamed(server, "send_lat", where)
                # A stop of the initiator between two samples makes none late.
                self.assertGreater(blame[cause]["count"], blame["late"] / 2)

    def hold_to_shares(self, server, test):
        """95 % of what an injection makes late are blamed right, 1 % wrong; what is late without any bounds the others."""
        control, _ = self.blamed(server, test, "nobody")
        for where, cause in self.CAUSE.items():
            if where == "responder" and test in ("read_lat", "write_load"):
                continue  # no loop answers
            with self.subTest(f"{test}, {where}"):
                blame, took = self.blamed(server, test, where)
                right = blame[cause]["count"]
                wrong = blame["late"] - blame["undecided"]["count"] - right
                self.assertGreaterEqual(right, 0.95 * (blame["late"] - control["late"]))
                self.assertLessEqual(wrong, 0.01 * blame["late"] + control["late"])
                self.assertGreaterEqual(right, 0.8 * self.INJECTIONS)  # a stop between two samples makes none late
                self.assertLessEqual(blame["late"], self.most_late(test, took) + control["late"])

    def most_late(self, test, took):
        """Of a closed loop one at a time, each for the limit or longer, so many begin within the injections or before them. Of
        an open one those that fall due within them, and what it then takes to catch up, at less than half of that rate."""
        if test.endswith("_load"):
            return sum(2 * self.RATE * seconds for seconds in took)
        return sum(1 + seconds / (self.LONG_S["lat"] / 2) for seconds in took)


if __name__ == "__main__":
    on_rxe = rdmameter.KIND == rdmameter.RXE  # it breaks the link
    rdmameter.main(devices=2 if on_rxe else 1, in_vm=on_rxe, cpus=2)
