#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server left running: hundreds of clients, one after another and at once; its limits; how it ends.

RDMAMETER_CLIENTS: how many one after another (200; 2000 by hand).
RDMAMETER_AT_ONCE: how many side by side (default 64).
"""
import ctypes
import os
import re
import signal
import subprocess
import time

import wire
from wire import rdmameter

IN_TURN = int(os.environ.get("RDMAMETER_CLIENTS", "12" if rdmameter.IN_VM else "200"))
AT_ONCE = int(os.environ.get("RDMAMETER_AT_ONCE", "64"))
WARM_UP = 6
PR_SET_THP_DISABLE = 41
TESTS = ("send_lat", "write_bw", "read_lat", "send_bw", "write_lat", "read_bw")


def use_no_huge_pages():
    """Neither this process nor those that it starts: khugepaged makes 2 MiB of a few resident pages, whenever it comes by."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_THP_DISABLE)")


class Many(wire.Test):
    def client(self, number):
        self.run_program(self.at, TESTS[number % len(TESTS)], "--iterations", "40", "--warmup", "0")

    def test_clients_one_after_another_make_it_no_larger(self):
        for number in range(WARM_UP):
            self.client(number)
        before = self.server.resident_kib()
        for number in range(IN_TURN):
            self.client(number)
        self.assert_nothing_left()
        growth = self.server.resident_kib() - before
        rdmameter.note(f"{growth} KiB more resident after {IN_TURN} clients")
        self.assertLess(growth, 1024)

    @rdmameter.spared_in_vm
    def test_many_clients_at_once_are_all_served_and_leave_nothing(self):
        began = time.monotonic()
        runs = [self.start(self.at, TESTS[number % len(TESTS)], "--iterations", "200", "--size", "64", "--wait", "yield")
                for number in range(AT_ONCE)]
        for run in runs:
            done = run.end(200)
            self.assertEqual(done.status, rdmameter.PASS, f"{done}\n{self.server.log[-3000:]}")
        rdmameter.note(f"{AT_ONCE} clients in {time.monotonic() - began:.1f} s")
        self.assert_nothing_left()
        first = self.server.resident_kib()
        runs = [self.start(self.at, "send_lat", "--iterations", "20", "--wait", "yield") for _ in range(16)]
        for run in runs:
            self.assertEqual(run.end(100).status, rdmameter.PASS)
        self.assert_nothing_left()
        self.assertLess(self.server.resident_kib() - first, 4096)

    @rdmameter.spared_in_vm
    def test_a_line_of_the_log_for_each_client_and_case_names_both(self):
        so_far = len(self.server.log)
        self.run_program(self.at, "send_lat", "write_bw", "--size", "64,128", "--iterations", "20")
        self.server.await_log("gone", so_far)
        peer = re.match(r"\S+Z (127\.0\.0\.1:\d+): connected, rdmameter \S+, served by \S+/\d\n", self.server.log[so_far:])[1]
        lines = self.server.log[so_far:].splitlines()[1:]
        self.assertEqual([line.partition(f"Z {peer}: ")[2] for line in lines],
                         [f"{what} of {size} bytes over rc" for what in ("send latency", "write bandwidth")
                          for size in (64, 128)] + ["gone"])

    def test_sigterm_ends_it_within_a_second_with_clients_in_mid_run(self):
        runs = [self.start(self.at, test, "--transport", transport, "--size", "64", "--duration", "60", "--wait", "yield")
                for test, transport in (("send_lat", "rc"), ("write_lat", "uc"), ("send_bw", "ud"), ("write_bw", "rc"))]
        for what in ("send latency", "write latency", "send bandwidth", "write bandwidth"):
            self.server.await_log(f"{what} of 64 bytes", 1)
        for run in runs:
            run.work(0.1)
        asked = rdmameter.fair_time()
        done = self.server.stop()
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertLess(rdmameter.fair_time() - asked, 20 if rdmameter.IN_VM else 1)  # emulated: it ends at all
        for run in runs:
            self.assert_failed_clearly(run.end(20), "closed the connection|broke|server ends|interrupted|RETRY_EXC|flush")


@rdmameter.spared_in_vm
class Places(wire.Test):
    arguments = ("--exclusive",)

    def test_the_next_client_waits_for_its_turn_and_is_alone(self):
        runs = [self.start(self.at, "send_lat", "--duration", "1", "--wait", "yield") for _ in range(3)]
        for run in runs:
            done = run.end(120)
            self.assertEqual(done.status, rdmameter.PASS, done)
            self.assertNotIn("shared_responder", done.rows[0])
        self.server.await_log("waits for a place")
        self.assertNotRegex(self.server.log, r"served by[^\n]*\n[^\n]*served by")
        self.assert_nothing_left()

    def test_who_waits_too_long_is_told_and_who_goes_gives_up_the_place(self):
        holding, leaving, refused = (self.peer() for _ in range(3))
        self.assertEqual(holding.greet()["type"], "welcome")
        for peer in (leaving, refused):
            nonces = peer.hello()
            self.assertEqual(len(nonces), 2)
            peer.say({"type": "proof", "proof": ""})
        self.server.await_log("waits for a place")
        leaving.close()
        self.server.await_log("dropped: it did not wait for a place")
        began, fairly = time.monotonic(), rdmameter.fair_time()
        done = self.run_program(self.at, "send_lat", status=rdmameter.FAILED)
        self.assertGreater(time.monotonic() - began, wire.PLACE_TIMEOUT - 5)
        self.assertLess(rdmameter.fair_time() - fairly, wire.PLACE_TIMEOUT + 3 * rdmameter.SLOW)
        self.assert_failed_clearly(done, "refused: \"the server is busy: another client is served here already.*try again later")
        self.assertEqual(refused.hear()["type"], "failed")
        holding.close()
        self.assert_nothing_left()
        self.assert_serves()


@rdmameter.spared_in_vm
class Limits(rdmameter.Test):
    def test_a_limit_on_clients_keeps_the_next_one_waiting(self):
        server = self.serve("--max-clients", "2")
        peers = [wire.Peer.to(server.port) for _ in range(2)]
        for peer in peers:
            self.assertEqual(peer.greet()["type"], "welcome")
        run = self.start(f"localhost:{server.port}", "send_lat", "--iterations", "20")
        server.await_log("waits for a place")
        peers[0].close()
        self.assertEqual(run.end(60).status, rdmameter.PASS)
        peers[1].close()

    def test_limits_that_make_no_sense_are_refused(self):
        for arguments, pattern in ((("--max-clients", "0"), "--max-clients.*0"), (("--max-clients", "x"), "--max-clients"),
                                   (("--exclusive", "--max-clients", "2"), "--exclusive and --max-clients: give one"),
                                   (("--no-auth", "--token-file", "x", "--bind", "0.0.0.0"), "--no-auth")):
            done = rdmameter.Started([rdmameter.program, "serve", *arguments], rdmameter.environment()).end(30)
            self.assertEqual(done.status, rdmameter.USAGE, done)
            self.assertRegex(done.stderr, pattern)


class Command(rdmameter.Test):
    def test_the_printed_command_works_as_it_is_wherever_the_server_is_bound(self):
        addresses = ["10.9.0.1", "fd00:9::1"] if rdmameter.IN_VM else ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"]
        for address in addresses:
            with self.subTest(address):
                server = self.serve("--bind", address)
                env = rdmameter.environment()
                env["PATH"] = os.path.dirname(rdmameter.program) + ":" + env["PATH"]
                done = subprocess.run(["sh", "-c", server.client_command + " --iterations 50"], capture_output=True,
                                      text=True, env=env, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, (server.client_command, done))
                self.assertIn("write_lat", done.stdout)
                server.stop(signal.SIGKILL)


if __name__ == "__main__":
    use_no_huge_pages()
    rdmameter.main()
