#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: a run ends at once, and keeps the rows that it has."""
import signal
import time

import rdmameter


class Interrupt(rdmameter.Test):
    def interrupted(self, number, *arguments):
        run = self.start("--loopback", *arguments)
        run.await_text("stdout", "(?m)(.*\n){2}")
        time.sleep(0.3)
        asked = time.monotonic()
        run.process.send_signal(number)
        done = run.end(30)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertLess(time.monotonic() - asked, 2 * rdmameter.SLOW)
        return done

    def test_it_ends_a_long_run_and_leaves_a_valid_file_of_the_rows_so_far(self):
        done = self.interrupted(signal.SIGINT, "send_lat", "--duration", "0.05,0.1,60")
        self.assertEqual(len(done.rows), 2)
        self.assertIn("interrupted; rows in the result: 2", done.stderr)
        self.assert_valid(done.path)

    def test_a_waiting_loop_ends_too(self):
        for test, transport in (("write_lat", "uc"), ("read_bw", "rc"), ("send_lat", "ud")):
            with self.subTest(test):
                self.interrupted(signal.SIGINT, test, "--transport", transport, "--duration", "0.05,0.06,60")

    def test_sigterm_does_the_same(self):
        self.interrupted(signal.SIGTERM, "write_bw", "--duration", "0.05,0.06,60")

    def test_it_is_the_end_of_what_goes_on_until_then_and_all_is_counted(self):
        for number, test, transport, axes in (
                (signal.SIGINT, "send_lat", "rc", ("--verify",)), (signal.SIGTERM, "write_bw", "rc", ("--verify",)),
                (signal.SIGINT, "send_bw", "ud", ("--size", "64", "--verify")), (signal.SIGINT, "read_lat", "rc", ()),
                (signal.SIGINT, "mcast_lat", "ud", ()), (signal.SIGTERM, "tcp_bw", "rc", ()),
                (signal.SIGINT, "tcp_lat", "rc", ()),
                (signal.SIGINT, "create_ah", "rc", ())):
            with self.subTest(test):
                run = self.start("--loopback", test, "--transport", transport, "--duration", "0", "--interval", "0.3",
                                 *axes)
                run.await_text("stderr", r"(?s)(\d\.\d s  .*\n){2}")
                asked = time.monotonic()
                run.process.send_signal(number)
                done = run.end(30)
                self.assertLess(time.monotonic() - asked, 2 * rdmameter.SLOW)
                self.assertEqual(done.status, rdmameter.PASS, done)
                [row] = done.rows
                self.assertEqual(row["case"]["duration_ns"], 0)
                self.assertGreater(row["iterations"], 0)
                self.assertRegex(done.stderr, r"0\.[3-9] s  [^\n]*(Mmsg/s|one in)")
                if "bandwidth" in row and test != "tcp_bw":
                    self.assertGreaterEqual(sum(row["series"]["messages"]), row["bandwidth"]["messages"])
                if "--verify" in axes:
                    self.assertGreater(row["verified_bytes"], 0)
                self.assert_valid(done.path)

    def test_where_more_was_to_be_measured_that_is_interrupted(self):
        run = self.start("--loopback", "send_lat", "--duration", "0", "--size", "8,64", "--interval", "0.3")
        run.await_text("stderr", r"\d s  \d")
        run.process.send_signal(signal.SIGINT)
        done = run.end(30)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertEqual(len(done.rows), 1)
        self.assertIn("interrupted; rows in the result: 1", done.stderr)

    def test_it_ends_a_client_that_waits_for_a_server(self):
        run = self.start("localhost:9", "write_lat")  # discard: nobody listens there
        time.sleep(0.7 * rdmameter.SLOW)
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.end(10).status, rdmameter.INTERRUPTED)


if __name__ == "__main__":
    rdmameter.main()
