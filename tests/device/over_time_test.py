#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`--interval` of a latency: its distribution over time, in which a pause shows."""
import os
import signal
import subprocess
import time

import rdmameter

PAUSE_S = 0.1
INTERVAL_MS = 20
SIGNAL_S = 0.01  # a process may run on so long after the signal to stop was sent


class OverTime(rdmameter.Test):
    def test_each_interval_has_its_samples_and_together_they_are_all(self):
        for row in self.measure("send_lat", "read_lat", "send_load", "--duration", "500ms", "--interval", "50ms"):
            with self.subTest(row["name"]):
                over_time = row["over_time"]
                self.assertEqual(sum(over_time["count"]), row["latency"]["count"])
                self.assertEqual(over_time["interval_ns"], 50_000_000)
                self.assertAlmostEqual(max(filter(None, over_time["max"])), row["latency"]["max"],
                                       delta=0.001 * row["latency"]["max"])
                lengths = {len(over_time[key]) for key in ("count", "p50", "p99", "max")}
                self.assertEqual(len(lengths), 1)
                self.assertGreaterEqual(lengths.pop(), 9)
                self.assertNotIn("lost", over_time)

    def test_nobody_asks_and_there_is_none(self):
        for row in self.measure("send_lat", "send_load", "--iterations", "200", "--warmup", "10"):
            self.assertNotIn("over_time", row)
            self.assertEqual(row["case"].get("interval_ns"), 1_000_000_000 if "load" in row else "auto")

    def test_threads_add_up(self):
        (row,) = self.measure("write_lat", "--threads", "2", "--duration", "300ms", "--interval", "50ms")
        self.assertEqual(sum(row["over_time"]["count"]), row["latency"]["count"])


@rdmameter.on(rdmameter.SOFTWARE)
class Lossy(rdmameter.Test):
    def test_losses_are_told_in_their_intervals(self):
        os.environ["RDMAMETER_DEVICE_WIRE"] = "loss=0.2"  # few pings are enough, where the CPU is busy
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE")
        # A peer that other work keeps from the CPU for long answers late, not never: a loss is told from that by 100 ms.
        (row,) = self.measure("send_lat", "--transport", "ud", "--duration", "1s", "--interval", "100ms", "--loss-timeout", "100ms")
        self.assertGreater(row["lost"], 0)
        self.assertEqual(sum(row["over_time"]["lost"]), row["lost"])


@rdmameter.on(rdmameter.SOFTWARE)
class Paused(rdmameter.Test):
    """An end that is stopped for 100 ms."""

    def pause(self, responder, *arguments, stops=1):
        """The row of a test of 4 s, of which an end stands still in the middle, so often, and for how long at least [s]. Other
        work may make its beginning late; so little is done before it is measured, and much is measured on both sides."""
        server = self.serve()
        run = self.start(f"localhost:{server.port}", *arguments, "--warmup", "10", "--duration", "4s", "--interval",
                         f"{INTERVAL_MS}ms", token=server.token)
        server.await_log(r"(latency|load) of")
        time.sleep(1.5)
        pids = server.sessions() if responder else [run.process.pid]
        lengths = []
        for _ in range(stops):
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            began = time.monotonic()
            time.sleep(PAUSE_S)
            lengths.append(time.monotonic() - began)
            for pid in pids:
                os.kill(pid, signal.SIGCONT)
            time.sleep(PAUSE_S)
        length = min(lengths)
        done = run.end(60)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assert_valid(done.path)
        (row,) = done.rows
        return row, length, done.path

    def assert_shows(self, row, length, stops=1):
        over_time = row["over_time"]
        long = [at for at, value in enumerate(over_time["max"]) if value is not None and value >= 1e9 * (PAUSE_S - SIGNAL_S)]
        self.assertTrue(long, over_time)  # a busy machine makes further pauses
        whole = int((length - SIGNAL_S) * 1000 / INTERVAL_MS) - 1  # intervals in which nothing happened at all
        empty = [at for at, count in enumerate(over_time["count"]) if count == 0]
        self.assertGreaterEqual(len(empty), stops * whole, over_time)

    def test_is_one_long_round_trip_and_intervals_without_any(self):
        row, length, path = self.pause(True, "send_lat")
        self.assert_shows(row, length)
        shown = subprocess.run([rdmameter.program, "show", path], capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"over time(.|\n)*intervals .* max")

    def test_of_the_initiator_shows_in_a_completion_latency(self):
        """But for a stop that falls between two samples: of several, hardly all do."""
        row, length, _ = self.pause(False, "read_lat", stops=5)
        self.assert_shows(row, length, stops=5)

    def test_of_the_responder_makes_all_wait_that_fall_due_meanwhile(self):
        """At 10 k/s about 1000, spread evenly over 0 to 100 ms in the response; the service has those that were posted."""
        rate = 10_000
        for depth in (4096, 1):
            with self.subTest(depth):
                row, length, _ = self.pause(True, "send_load", "--rate", str(rate), "--arrivals", "fixed", "--depth",
                                            str(depth), "--rx-depth", "8192", "--recv-post-list", "1")
                # A busy machine makes more of them late, or so many that they are not even posted before the end; never fewer.
                for part in range(1, 5):
                    late = beyond(row["latency"], part / 5 * length) + row["load"]["unsent"]
                    self.assertGreaterEqual(late, rate * ((1 - part / 5) * length - SIGNAL_S), part)
                posted = beyond(row["load"]["service"], length / 2)
                self.assertGreaterEqual(posted, 1)
                if depth == 1:
                    self.assertLess(posted, beyond(row["latency"], length / 2) / 4)
                rdmameter.note(f"depth {depth}: {beyond(row['latency'], length / 2)} responses of more than half of the pause, "
                               f"{posted} services")
                self.assertTrue([value for value in row["over_time"]["max"] if value and value >= 1e9 * (PAUSE_S - SIGNAL_S)])


def beyond(latency, seconds):
    """Samples longer than that."""
    histogram = latency["histogram"]
    return sum(n for index, n in zip(histogram["index"], histogram["n"]) if lowest(index) > seconds * 1e9)


def lowest(index):
    shift = max((index >> 10) - 1, 0)
    return index - (shift << 10) << shift


if __name__ == "__main__":
    rdmameter.main(cpus=2)
