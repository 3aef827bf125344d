#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The resident server: many clients, one after another and at once, and however they go; how it ends."""
import signal

import rdmameter


class Clients(rdmameter.Test):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.at = f"localhost:{self.server.port}"

    def assert_serves(self):
        done = self.run_program(self.at, "send_lat", "--iterations", "20", "--verify")
        self.assertIn("latency", done.rows[0])

    def test_no_object_lives_on_between_clients(self):
        self.assert_serves()
        self.assert_nothing_left()
        for kind in ("qp", "cq", "mr", "pd"):
            self.assertEqual(self.server.idle.get(kind, 0), 0, kind)

    @rdmameter.spared_in_vm
    def test_twenty_clients_one_after_another_leave_nothing(self):
        for number in range(20):
            test = ("send_lat", "write_bw", "read_lat", "send_bw")[number % 4]
            self.run_program(self.at, test, "--duration", "0.1", "--warmup", "0")  # the log takes 50 lines a second
        self.assert_nothing_left()
        self.assertEqual(self.server.log.count(": gone"), 20)

    def test_four_at_once_are_served_marked_as_sharing_and_leave_nothing(self):
        # Each goes on until all of them measure, however long that takes here.
        runs = [self.start(self.at, test, "--duration", "0", "--interval", "0.1", "--warmup", "0", "--transport", transport,
                           "--size", "64", "--verify", "--wait", "yield")
                for test, transport in (("send_lat", "rc"), ("write_bw", "rc"), ("send_bw", "ud"), ("read_bw", "rc"))]
        for run in runs:
            run.await_text("stderr", r"(?m)^[0-9.]+ s +[1-9]", 90)  # of its progress
        for run in runs:
            run.process.send_signal(signal.SIGINT)
        for run in runs:
            done = run.end(90)
            self.assertEqual(done.status, rdmameter.PASS, done)
            self.assertIs(done.rows[0].get("shared_responder"), True, done)
            self.assertIn("(another client used the server)", done.stdout)
        self.assert_nothing_left()
        alone = self.run_program(self.at, "send_lat", "--iterations", "20")
        self.assertNotIn("shared_responder", alone.rows[0])
        self.assertNotIn("another client", alone.stdout)

    def test_a_client_that_is_killed_leaves_nothing_and_the_next_is_served(self):
        for test, transport in (("send_lat", "rc"), ("write_lat", "uc"), ("send_bw", "ud"), ("read_bw", "rc")):
            with self.subTest(test):
                so_far = len(self.server.log)
                run = self.start(self.at, test, "--transport", transport, "--size", "64", "--duration", "60")
                self.server.await_log(f"{test.partition('_')[0]} .* over {transport}", so_far)
                run.work(0.1)  # in the middle of the traffic
                run.process.send_signal(signal.SIGKILL)
                run.end(10)
                self.assert_nothing_left()
                self.assert_serves()

    def test_a_client_that_is_interrupted_leaves_nothing(self):
        run = self.start(self.at, "write_lat", "--duration", "60")
        self.server.await_log("write latency")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.end(10).status, rdmameter.INTERRUPTED)
        self.assert_nothing_left()
        self.assert_serves()

    @rdmameter.spared_in_vm
    def test_a_client_whose_case_cannot_be_done_leaves_nothing(self):
        done = self.run_program(self.at, "send_lat", "--inline", "60000,off", "--iterations", "20")
        self.assertIn("skip_message", done.rows[0])
        self.assertIn("latency", done.rows[1])
        self.assert_nothing_left()

    @rdmameter.spared_in_vm
    def test_a_peer_device_that_it_does_not_have_is_told_to_that_client_alone(self):
        done = self.run_program(self.at, "send_lat", "--peer-device", "mlx9_9", status=rdmameter.FAILED)
        self.assertIn("the responder: There is no verbs device mlx9_9", done.stderr)
        self.assert_nothing_left()
        self.assert_serves()


@rdmameter.spared_in_vm
class End(rdmameter.Test):
    def test_a_signal_ends_an_idle_server_within_a_second(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve()
            self.run_program(f"localhost:{server.port}", "send_lat", "--iterations", "20")
            asked = rdmameter.fair_time()
            done = server.stop(number)
            self.assertEqual(done.status, rdmameter.PASS, done)
            self.assertLess(rdmameter.fair_time() - asked, rdmameter.SLOW)

    def test_a_signal_ends_a_busy_server_and_its_client_knows(self):
        server = self.serve()
        run = self.start(f"localhost:{server.port}", "write_lat", "--duration", "60")
        server.await_log("write latency")
        asked = rdmameter.fair_time()
        self.assertEqual(server.stop().status, rdmameter.PASS)
        self.assertLess(rdmameter.fair_time() - asked, rdmameter.SLOW)
        done = run.end(20)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertLess(rdmameter.fair_time() - asked, 2 * rdmameter.SLOW)

    def test_when_a_server_is_killed_the_client_keeps_its_rows_and_says_so(self):
        for test, transport in (("send_lat", "rc"), ("write_lat", "uc"), ("write_bw", "rc")):
            with self.subTest(test):
                server = self.serve()
                run = self.start(f"localhost:{server.port}", test, "--transport", transport, "--size", "64",
                                 "--duration", "0.05,60")
                run.await_text("stdout", "duration:50ms")
                run.work(0.3)  # in the middle of the second case
                killed = rdmameter.fair_time()
                server.stop(signal.SIGKILL)
                done = run.end(30)
                self.assertLess(rdmameter.fair_time() - killed, 2 * rdmameter.SLOW)
                self.assertEqual(done.status, rdmameter.FAILED, done)
                self.assertRegex(done.stderr, f"localhost:{server.port}.*(closed the connection|broke)")
                first, second = done.rows
                self.assertIn("real_time", first)
                self.assertIn("error_message", second)


if __name__ == "__main__":
    rdmameter.main()
