#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The baseline over TCP: measured with and without a verbs device, checked, and ended like any other test."""
import os
import signal
import socket
import struct
import sys
import time

import rdmameter

sys.path.append(os.path.join(rdmameter.HERE, "..", "faults"))
import wire  # noqa: E402  pylint: disable=wrong-import-position

SHORT = ("--iterations", "200", "--warmup", "10")
PORT_ERROR = {"type": "failed", "kind": "failed", "reason": "rxe1/1 reports IBV_EVENT_PORT_ERR: the port went down"}


class Tcp(rdmameter.Test):
    def test_every_wait_and_size_is_verified_at_both_ends(self):
        done = self.run_program("--loopback", "tcp_lat", "tcp_bw", "--size", "1,64K,3M", "--wait", "spin,yield,event",
                                "--iterations", "20", "--warmup", "2", "--verify")
        self.assertEqual(len(done.rows), 18)
        for row in done.rows:
            self.assertEqual((row["case"]["transport"], row["path"]), ("tcp", "loopback"), row["name"])
            self.assertGreaterEqual(row["verified_bytes"], row["case"]["size_bytes"], row["name"])
            if "latency" in row:
                self.assertEqual(row["latency"]["count"], 20)
            else:
                bandwidth = row["bandwidth"]
                self.assertEqual((bandwidth["messages"], bandwidth["counted_by"]), (20, "receiver"))
                self.assertEqual((bandwidth["sent"], bandwidth["received"]), (22, 22))
            if row["case"]["wait"] == "event":
                self.assertFalse(row["busy_poll"])
        self.assert_valid(done.path)

    def test_axes_of_verbs_make_no_further_cases(self):
        done = self.run_program("--loopback", "--dry-run", "tcp_bw", "send_bw", "--transport", "rc,ud", "--qps", "1,2",
                                "--depth", "8,16", "--inline", "off,max", "--size", "64,128", *SHORT)
        self.assertEqual([line.split()[0] for line in done.stdout.splitlines() if line.startswith("tcp_bw")],
                         [f"tcp_bw/tcp/size:{size}/iterations:200/warmup:10" for size in (64, 128)])

    def test_a_duration_bounds_it(self):
        for row in self.measure("tcp_lat", "tcp_bw", "--duration", "0.3", "--warmup", "10", "--wait", "yield"):
            seconds = (row["bandwidth"]["window_ns"] if "bandwidth" in row else row["latency"]["mean"] *
                       row["latency"]["count"]) * 1e-9
            self.assertAlmostEqual(seconds, 0.3, delta=0.2 * rdmameter.SLOW)

    def test_a_device_is_missed_only_by_the_tests_that_need_one(self):
        if rdmameter.active_ports():
            rows = self.measure("send_lat", "tcp_lat", *SHORT)
            self.assertEqual([row["case"]["transport"] for row in rows], ["rc", "tcp"])
            return
        done = self.run_program("--loopback", "send_lat", "tcp_lat", *SHORT, status=rdmameter.FAILED)
        self.assertIn("no verbs device", done.rows[0]["error_message"])
        self.assertIn("latency", done.rows[1])
        context = done.result["context"]["rdmameter"]
        self.assertEqual((context["initiator"]["device"], context["responder"]["device"]), (None, None))
        self.assert_valid(done.path)

    def test_the_null_device_has_none(self):
        done = self.run_program("tcp_lat", "write_lat", "--device", "null", *SHORT)
        self.assertIn("the null device has no TCP", done.rows[0]["skip_message"])


class Ends(rdmameter.Test):
    def test_a_client_with_a_token_measures_only_against_a_server_that_proves_it(self):
        token = "a-token-of-more-than-16-characters"
        open_to_all = self.serve()
        done = self.run_program(f"localhost:{open_to_all.port}", "tcp_lat", *SHORT, token=token, status=rdmameter.FAILED)
        self.assertRegex(done.rows[0]["error_message"], "does not ask for the token .* unset RDMAMETER_TOKEN")
        self.run_program(f"localhost:{open_to_all.port}", "tcp_lat", *SHORT)
        proving = self.serve(token=token)
        self.assertNotIn(token, proving.log)
        self.run_program(f"localhost:{proving.port}", "tcp_lat", *SHORT, token=token)
        self.run_program(f"localhost:{proving.port}", "tcp_lat", *SHORT, status=rdmameter.FAILED)

    def test_a_server_gives_back_all_that_it_took(self):
        server = self.serve()
        for _ in range(3):
            self.run_program(f"localhost:{server.port}", "tcp_lat", "tcp_bw", *SHORT, token=server.token)
        self.assert_nothing_left(server)

    def test_a_server_that_dies_ends_the_run_with_its_name(self):
        for wait in ("yield", "event"):
            for test in ("tcp_lat", "tcp_bw"):
                with self.subTest(test=test, wait=wait):
                    server = self.serve()
                    run = self.start(f"localhost:{server.port}", test, "--wait", wait, "--duration", "0.05,60")
                    run.await_text("stdout", "\n")
                    time.sleep(0.3)
                    server.stop(signal.SIGKILL)
                    done = run.end(30)
                    self.assertEqual(done.status, rdmameter.FAILED, done)
                    self.assertRegex(done.rows[-1]["error_message"], "localhost|127.0.0.1")

    def assert_names_the_port_error(self, answer):
        fake = wire.FakeServer(answer)
        done = self.run_program(f"127.0.0.1:{fake.port}", "tcp_lat", *SHORT, status=rdmameter.FAILED)
        fake.end()
        self.assertEqual(done.rows[0]["error_message"], f"the responder: {PORT_ERROR['reason']}")

    def test_a_responder_that_fails_and_then_hangs_up_is_quoted(self):
        def answer(peer):
            wire.welcome(peer)
            peer.hear()
            peer.say(PORT_ERROR)
        self.assert_names_the_port_error(answer)

    def test_a_responder_that_failed_before_the_connection_broke_under_our_words_is_quoted(self):
        with socket.create_server(("127.0.0.1", 0)) as traffic:
            ready = {"type": "ready", "forward": {
                "device": "", "port_num": 0, "thread_domain": False, "recv_sge": 1, "group": "", "threads": [],
                "listening": {"port": traffic.getsockname()[1], "nonce": "0" * 64}}}

            def answer(peer):
                wire.welcome(peer)
                peer.hear()
                peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
                peer.socket.sendall(wire.frame(ready) + wire.frame(PORT_ERROR))
            self.assert_names_the_port_error(answer)

    def test_a_client_that_dies_leaves_a_server_that_serves(self):
        server = self.serve()
        run = self.start(f"localhost:{server.port}", "tcp_bw", "--duration", "0.05,60", token=server.token)
        run.await_text("stdout", "\n")
        run.process.kill()
        server.await_log("dropped|gone")
        self.run_program(f"localhost:{server.port}", "tcp_lat", *SHORT, token=server.token)

    def test_an_interrupt_ends_it(self):
        for test in ("tcp_lat", "tcp_bw"):
            with self.subTest(test):
                run = self.start("--loopback", test, "--duration", "0.05,60")
                run.await_text("stdout", "\n")
                asked = rdmameter.fair_time()
                run.process.send_signal(signal.SIGINT)
                done = run.end(30)
                self.assertEqual(done.status, rdmameter.INTERRUPTED)
                self.assertLess(rdmameter.fair_time() - asked, 3 * rdmameter.SLOW)
                self.assert_valid(done.path)

    def test_an_interrupt_keeps_what_was_measured(self):
        for test in ("tcp_lat", "tcp_bw"):
            for length in (("--duration", "0.05,60"), ("--iterations", f"9,{1 << 40}")):
                with self.subTest(test=test, length=length):
                    run = self.start("--loopback", test, *length, "--warmup", "2")
                    run.await_text("stdout", "\n")
                    run.work(0.3)
                    run.process.send_signal(signal.SIGINT)
                    done = run.end(30)
                    self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
                    _, row = done.rows
                    self.assertIs(row["interrupted"], True)
                    self.assertGreater(row["iterations"], 0)
                    self.assert_valid(done.path)


if __name__ == "__main__":
    rdmameter.main(devices=0, cpus=2)
