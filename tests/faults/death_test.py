#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Either end killed or stopped at any moment: the other ends its part in time and holds nothing of the dead one.

RDMAMETER_KILLS: at how many moments clients are killed (20, of which 5 in mid of traffic both ways; 200 by hand), servers at
a quarter of them. RDMAMETER_SEED: which moments.
"""
import glob
import json
import os
import random
import signal
import time

import wire
from wire import rdmameter

KILLS = int(os.environ.get("RDMAMETER_KILLS", "6" if rdmameter.IN_VM else "20"))
SEED = int(os.environ.get("RDMAMETER_SEED", "20260"))
CASES = [(test, transport) for test, transports in (("send_lat", ("rc", "uc", "ud")), ("write_lat", ("rc", "uc")),
                                                    ("read_lat", ("rc",)), ("send_bw", ("rc", "uc", "ud")),
                                                    ("write_bw", ("rc", "uc")), ("read_bw", ("rc",)))
         for transport in transports]
BOTH_WAYS = [case for case in CASES if case[0].endswith("bw")]
LONGEST = 0.8 * rdmameter.SLOW  # [s] to be in the middle of the traffic


def moments(count):
    """(test and transport as options, after how long [s]), the same ones for the same seed. Every fourth is both ways."""
    chance = random.Random(SEED)
    for number in range(count):
        both_ways = number % 4 == 3
        test, transport = chance.choice(BOTH_WAYS if both_ways else CASES)
        options = (test, "--transport", transport, "--size", "64", *(("--bidirectional", "on") if both_ways else ()))
        yield options, chance.uniform(0, LONGEST)


class Killed(wire.Test):
    def test_a_client_killed_at_any_moment_leaves_nothing_and_the_next_is_served(self):
        for number, (options, after) in enumerate(moments(KILLS)):
            with self.subTest(f"{number}: {options} after {after:.2f} s"):
                run = self.start(self.at, *options, "--qps", "4" if "_bw" in options[0] else "1", "--duration", "0.02,60")
                time.sleep(after)
                run.process.send_signal(signal.SIGKILL)
                run.end(10)
                self.assert_nothing_left()
                self.assert_greets()
                self.assert_no_half_file(run)
        self.assert_nothing_left()
        self.assert_serves()

    def assert_no_half_file(self, run):
        """A result is whole, or has still the name that nobody takes for a result (docs/security.md)."""
        if os.path.exists(run.path):
            with open(run.path, encoding="utf-8") as file:
                self.assertLessEqual(len(json.load(file)["benchmarks"]), 1)
        for path in glob.glob(f"{self.scratch}/.rdmameter-*.new"):
            os.unlink(path)
        self.assertEqual([path for path in os.listdir(self.scratch) if not path.endswith(".json")], [])


class KilledServer(rdmameter.Test):
    def test_a_server_killed_at_any_moment_ends_its_client_in_time_with_its_rows(self):
        for number, (options, after) in enumerate(moments((KILLS + 3) // 4)):
            with self.subTest(f"{number}: {options} after {after:.2f} s"):
                server = self.serve()
                run = self.start(f"localhost:{server.port}", *options, "--duration", "0.02,0.03,60")
                time.sleep(after)
                sessions = server.sessions()
                server.stop(signal.SIGKILL)
                killed = rdmameter.fair_time()
                done = run.end(60)
                # A client that has not yet connected looks out for a server for 5 s.
                self.assertLess(rdmameter.fair_time() - killed, 6 + 3 * rdmameter.SLOW)
                self.assertEqual(done.status, rdmameter.FAILED, done)
                self.assertRegex(done.stderr, "closed the connection|broke|no server is listening")
                self.assertEqual(len(done.rows), 3)
                self.assertIn("error_message", done.rows[-1])
                self.assert_valid(done.path)
                self.assertTrue(rdmameter.wait_until(lambda: not any(map(rdmameter.threads_of, sessions)), 10))


@rdmameter.spared_in_vm
class Stopped(wire.Test):
    def test_stopped_ends_are_given_up_after_the_deadline(self):
        """One wait for all: each is 20 s and more."""
        other = self.serve()
        busy = ("--transport", "rc", "--size", "64", "--duration")
        client = self.start(self.at, "send_lat", *busy, "60")
        waiting = self.start(f"localhost:{other.port}", "send_lat", *busy, "0.05,60")
        self.server.await_log("send latency of 64 bytes over rc", len(self.server.log) - 1)
        waiting.await_text("stdout", "duration:50ms")
        client.work(0.1)
        waiting.work(0.1)
        began = time.monotonic()
        client.process.send_signal(signal.SIGSTOP)
        other.signal_all(signal.SIGSTOP)
        self.addCleanup(other.started.process.send_signal, signal.SIGKILL)
        self.server.started.await_text("stderr", "dropped: .* has not answered in time: is it stopped",
                                       3 * wire.SILENCE)
        seconds = time.monotonic() - began
        # The software device may hold its peer up for 1.5 s, where it was stopped in the middle of a call.
        self.assertTrue(wire.SILENCE - 3 < seconds < wire.SILENCE + 4 * rdmameter.SLOW, seconds)
        self.assert_nothing_left()
        self.assert_serves()
        client.process.send_signal(signal.SIGCONT)
        self.assert_failed_clearly(client.end(20), "closed the connection|broke|RETRY_EXC")
        done = waiting.end(2 * wire.SETUP_TIMEOUT + wire.SILENCE)
        seconds = time.monotonic() - began
        self.assertLess(seconds, wire.SILENCE + wire.SETUP_TIMEOUT + 4 * rdmameter.SLOW)
        self.assert_failed_clearly(done, "is it stopped, or the network down|no message got through")
        self.assertIn("latency", done.rows[0])
        rdmameter.note(f"the client of a stopped server ended after {seconds:.1f} s")


if __name__ == "__main__":
    rdmameter.main()
