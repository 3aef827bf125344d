#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C: a run ends at once, and keeps the rows that it has and what it has measured of the last one."""
import signal
import time

import rdmameter


def on_this_device(test):
    """Is it tried here? A multicast needs the kernel; and of an emulated one these are enough."""
    if rdmameter.KIND == rdmameter.SOFTWARE:
        return not test.startswith("mcast")
    return rdmameter.KIND == rdmameter.ADAPTER or test in ("mcast_bw", "mcast_lat", "connect", "send_bw")


class Interrupt(rdmameter.Test):
    def interrupted(self, number, *arguments):
        run = self.start("--loopback", *arguments)
        run.await_text("stdout", "(?m)(.*\n){2}")
        run.work(0.3)
        asked = rdmameter.fair_time()
        run.process.send_signal(number)
        done = run.end(30)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertLess(rdmameter.fair_time() - asked, 2 * rdmameter.SLOW)
        return done

    def test_it_ends_a_long_run_and_leaves_a_valid_file_of_the_rows_so_far(self):
        done = self.interrupted(signal.SIGINT, "send_lat", "--warmup", "2", "--duration", "0.05,0.1,60")
        self.assertEqual(len(done.rows), 3)
        self.assertEqual([row.get("interrupted") for row in done.rows], [None, None, True])
        self.assertIn("interrupted; rows in the result: 3", done.stderr)
        self.assert_valid(done.path)

    @rdmameter.spared_in_vm
    def test_a_waiting_loop_ends_too(self):
        for test, transport in (("write_lat", "uc"), ("read_bw", "rc"), ("send_lat", "ud")):
            with self.subTest(test):
                self.interrupted(signal.SIGINT, test, "--transport", transport, "--duration", "0.05,0.06,60")

    @rdmameter.spared_in_vm
    def test_sigterm_does_the_same(self):
        self.interrupted(signal.SIGTERM, "write_bw", "--duration", "0.05,0.06,60")

    def test_what_was_measured_is_a_row_whatever_the_test(self):
        for number, test, *axes in (
                (signal.SIGINT, "send_bw", "--verify"), (signal.SIGTERM, "write_bw", "--iterations", f"9,{1 << 40}"),
                (signal.SIGINT, "send_lat", "--iterations", f"9,{1 << 40}"), (signal.SIGINT, "write_lat", "--verify"),
                (signal.SIGINT, "send_bw", "--transport", "uc"), (signal.SIGINT, "send_bw", "--transport", "ud"),
                (signal.SIGINT, "send_lat", "--transport", "ud"), (signal.SIGINT, "read_bw", "--threads", "2"),
                (signal.SIGINT, "write_bw", "--bidirectional"), (signal.SIGINT, "send_bw", "--bidirectional", "--verify"),
                (signal.SIGINT, "send_bw", "--bidirectional", "--transport", "ud"),
                (signal.SIGINT, "mcast_bw"), (signal.SIGINT, "create_ah"), (signal.SIGINT, "connect")):
            if not on_this_device(test):
                continue
            with self.subTest(test=test, axes=axes):
                length = () if "--iterations" in axes else ("--duration", "0.05,60")
                small = () if test in ("create_ah", "connect") else ("--size", "64")
                run = self.start("--loopback", test, "--warmup", "2", *small, *length, *axes)
                run.await_text("stdout", "\n")
                run.work(0.5)
                asked = rdmameter.fair_time()
                run.process.send_signal(number)
                done = run.end(30)
                self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
                self.assertLess(rdmameter.fair_time() - asked, 3 * rdmameter.SLOW)
                _, row = done.rows
                self.assertIs(row["interrupted"], True)
                self.assertGreater(row["iterations"], 0)
                if "--bidirectional" in axes:
                    for way in row["directions"].values():
                        self.assertGreater(way["messages"], 0)
                if "--verify" in axes:
                    self.assertGreater(row["verified_bytes"], 0)
                self.assert_valid(done.path)

    @rdmameter.spared_in_vm
    def test_nothing_is_kept_of_a_warm_up(self):
        run = self.start("--loopback", "write_lat", "--warmup", str(1 << 32), "--iterations", "10")
        run.work(1)
        run.process.send_signal(signal.SIGINT)
        done = run.end(30)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertEqual(done.rows, [])

    @rdmameter.spared_in_vm
    def test_a_server_that_no_longer_answers_is_not_waited_for(self):
        server = self.serve()
        run = self.start(f"localhost:{server.port}", "write_bw", "--size", "64", "--duration", "60", token=server.token)
        server.await_log("write bandwidth")
        run.work(0.5)
        server.signal_all(signal.SIGSTOP)
        try:
            asked = rdmameter.fair_time()
            run.process.send_signal(signal.SIGINT)
            done = run.end(30)
        finally:
            server.signal_all(signal.SIGCONT)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertLess(rdmameter.fair_time() - asked, 5 * rdmameter.SLOW)
        self.assert_valid(done.path)

    def test_it_is_the_end_of_what_goes_on_until_then_and_all_is_counted(self):
        for number, test, *axes in (
                (signal.SIGINT, "send_lat", "--verify"), (signal.SIGTERM, "write_bw", "--size", "4K", "--verify"),
                (signal.SIGINT, "send_bw", "--transport", "ud", "--size", "64", "--verify"), (signal.SIGINT, "read_lat"),
                (signal.SIGINT, "mcast_lat"), (signal.SIGINT, "write_bw", "--size", "4K", "--bidirectional"),
                (signal.SIGTERM, "tcp_bw"), (signal.SIGINT, "tcp_lat"), (signal.SIGINT, "create_ah")):
            if not on_this_device(test):
                continue
            with self.subTest(test):
                run = self.start("--loopback", test, "--duration", "0", "--interval", "0.3", "--warmup", "2", *axes)
                run.await_text("stderr", r"(?s)\d\.\d s  [^\n]*([kM]?msg/s|one in).*\n.*\d s  ")
                asked = rdmameter.fair_time()
                run.process.send_signal(number)
                done = run.end(30)
                self.assertLess(rdmameter.fair_time() - asked, 2 * rdmameter.SLOW)
                self.assertEqual(done.status, rdmameter.PASS, done)
                [row] = done.rows
                self.assertEqual(row["case"]["duration_ns"], 0)
                self.assertGreater(row["iterations"], 0)
                self.assertRegex(done.stderr, r"0\.[3-9] s  [^\n]*([kM]?msg/s|one in)")
                if "bandwidth" in row and test != "tcp_bw":
                    sent = row["directions"]["forward"] if "--bidirectional" in axes else row["bandwidth"]  # of the series
                    self.assertGreaterEqual(sum(row["series"]["messages"]), sent["messages"])
                if "--verify" in axes:
                    self.assertGreater(row["verified_bytes"], 0)
                self.assert_valid(done.path)

    @rdmameter.spared_in_vm
    def test_where_more_was_to_be_measured_that_is_interrupted(self):
        run = self.start("--loopback", "send_lat", "--duration", "0", "--size", "8,64", "--interval", "0.3", "--warmup",
                         "0")
        run.await_text("stderr", r"\d s  \d")
        run.process.send_signal(signal.SIGINT)
        done = run.end(30)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertEqual(len(done.rows), 1)
        self.assertIn("interrupted; rows in the result: 1", done.stderr)

    @rdmameter.spared_in_vm
    def test_it_ends_a_client_that_waits_for_a_server(self):
        run = self.start("localhost:9", "write_lat")  # discard: nobody listens there
        rdmameter.wait_until(run.handles_interrupts)
        time.sleep(0.3)  # nothing tells from outside that it waits
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.end(10).status, rdmameter.INTERRUPTED)


if __name__ == "__main__":
    rdmameter.main()
