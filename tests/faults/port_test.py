#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever finds the port: noise, silence, wrong proofs, other versions; and servers that are none."""
import os
import random
import secrets
import subprocess
import threading
import time

import wire
from wire import rdmameter

SLACK = 2 * rdmameter.SLOW  # [s]

HELLO = {"type": "hello", "protocol": wire.PROTOCOL, "version": "0.1.0", "nonce": "0" * 64}


class Port(wire.Test):
    def dropped(self, stream, reason):
        so_far = len(self.server.log)
        peer = self.peer()
        peer.socket.sendall(stream)
        self.assertLess(peer.seconds_to_close(), SLACK)
        self.server.await_log(f"dropped: .*{reason}", so_far)

    def test_noise_is_dropped_at_once_and_named(self):
        noise = random.Random(7).randbytes(1000)
        for stream, reason in ((b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "announced a message of 1195725856 bytes"),
                               (b"\xff" * 400, "announced a message of 4294967295 bytes where at most 1024"),
                               (b"\xff" + noise, "announced a message of"),
                               (wire.frame(noise[:900]), "not a message of rdmameter"),
                               (wire.frame(b"[" * 1000), "nested more than"),
                               (wire.frame(b"[1]"), "not a JSON object"),
                               (wire.frame(b""), "not a message of rdmameter"),
                               (wire.frame({}), 'the key "type" is missing'),
                               (wire.frame({"type": 7}), "type is not a string"),
                               (wire.frame({"type": "prepare"}), "expected the message 'hello'"),
                               (wire.frame({"type": "hello"}), "the key \"protocol\" is missing"),
                               (wire.frame({**HELLO, "nonce": "n" * 65}), "nonce is not a text"),
                               (wire.frame({**HELLO, "nonce": "\x1b[2J" * 16}), "nonce is not a text")):
            with self.subTest(stream[:40]):
                self.dropped(stream, reason)
        self.assertNotIn("\x1b", self.server.log)
        self.assert_nothing_left()
        self.assert_serves()

    def test_who_says_nothing_half_a_message_or_a_byte_now_and_then_has_two_seconds(self):
        hello = wire.frame(HELLO)

        def trickle(peer):
            try:
                for byte in hello:
                    peer.socket.sendall(bytes((byte,)))
                    time.sleep(0.3)
            except OSError:
                pass

        silent, half, slow, mute = (self.peer() for _ in range(4))
        began, fairly = time.monotonic(), rdmameter.fair_time()
        half.socket.sendall(hello[:40])
        threading.Thread(target=trickle, args=(slow,), daemon=True).start()
        mute.hello()  # and no proof
        for peer in (silent, half, slow, mute):
            peer.seconds_to_close()
            self.assertGreater(time.monotonic() - began, wire.PROOF_TIMEOUT - 0.5)
            self.assertLess(rdmameter.fair_time() - fairly, wire.PROOF_TIMEOUT + SLACK)
        self.server.await_log(r"sent only 40 of the \d+ bytes of a message in time")
        # Each session's thread writes its line when it gets a turn, after the connection is closed.
        self.server.await_log("(?s)" + ".*".join(["in time"] * 4))
        self.assertEqual(self.server.log.count("in time"), 4, self.server.log)
        self.assert_nothing_left()
        self.assert_serves()

    def test_two_hundred_silent_connections_keep_nobody_out_for_long(self):
        flood = [self.peer() for _ in range(100)]
        most = 0
        stop = threading.Event()

        def look():
            nonlocal most
            while not stop.wait(0.05):
                most = max(most, len(os.listdir(f"/proc/{self.server.pid}/task")))
        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        flood += [self.peer() for _ in range(100)]
        began = rdmameter.fair_time()
        self.assert_serves()
        seconds = rdmameter.fair_time() - began
        stop.set()
        looking.join()
        rdmameter.note(f"served after {seconds:.1f} s, {most} threads at most")
        self.assertLess(seconds, 10 + 2 * rdmameter.SLOW)
        self.assertLessEqual(most, self.server.idle["threads"] + 16 + 16)  # some are on their way out
        for peer in flood:
            peer.close()
        self.assert_nothing_left()

    def test_those_that_speak_and_prove_nothing_keep_nobody_out_for_long(self):
        stop = threading.Event()

        def keep_speaking():
            while not stop.is_set():
                try:
                    peer = wire.Peer.to(self.port)
                    peer.hello()
                    peer.seconds_to_close()
                    peer.close()
                except (OSError, TypeError):
                    pass
        threads = [threading.Thread(target=keep_speaking, daemon=True) for _ in range(16)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        began = rdmameter.fair_time()
        self.assert_serves()
        self.assertLess(rdmameter.fair_time() - began, wire.PROOF_TIMEOUT + 6 * rdmameter.SLOW)
        stop.set()
        for thread in threads:
            thread.join(30)
        self.assert_nothing_left()

    def test_a_client_of_another_protocol_is_told_to_use_one_release(self):
        for protocol in (0, wire.PROTOCOL - 1, 999_999):
            so_far = len(self.server.log)
            peer = self.peer()
            peer.hello(protocol)
            failed = peer.hear()
            self.assertEqual(failed["type"], "failed")
            self.assertIn("use the same release at both ends", failed["reason"])
            self.server.await_log("use the same release at both ends", so_far)
        self.assert_nothing_left()

    def test_what_comes_out_of_turn_after_the_welcome_ends_that_client_alone(self):
        for message in ({"type": "hello"}, {"type": "connect"}, {}, {"type": "prepare", "case": 7}, b"noise",
                        b"x" * (2 << 20)):
            with self.subTest(str(message)[:40]):
                peer = self.peer()
                self.assertEqual(peer.greet()["type"], "welcome")
                try:
                    peer.say(message)
                    peer.say({"type": "bye"})
                except OSError:  # it has hung up before all was sent
                    pass
                self.assertLess(peer.seconds_to_close(), SLACK)
        self.assert_nothing_left()
        self.assert_serves()

    def test_what_crosses_the_news_of_a_failure_is_passed_over(self):
        peer = self.peer()
        self.assertEqual(peer.greet()["type"], "welcome")
        peer.say({"type": "prepare", "case": 7})
        self.assertEqual(peer.hear()["type"], "failed")
        for message in ({"type": "alive"}, {"type": "gate", "step": 0}, {"type": "finish", "sent": [1]},
                        {"type": "abandon"}):
            peer.say(message)
        self.assertEqual(peer.hear()["type"], "abandoned")
        peer.close()
        self.assert_nothing_left()


class Proof(wire.Test):
    arguments = ("--bind", "0.0.0.0")

    def test_the_right_proof_is_taken_and_answered_with_the_server_s_own(self):
        peer = self.peer()
        nonces = peer.hello()
        peer.say({"type": "proof", "proof": wire.proof(self.server.token, "initiator", *nonces)})
        self.assertEqual(peer.hear()["proof"], wire.proof(self.server.token, "responder", *nonces))

    def refused(self, make, nonce=None):
        peer = self.peer()
        nonces = peer.hello(nonce=nonce)
        peer.say({"type": "proof", "proof": make(*nonces)})
        answer = peer.hear()
        self.assertEqual(answer["type"], "failed", answer)
        self.assertIn("the token is wrong", answer["reason"])
        self.assertIsNone(peer.hear())

    def test_a_replayed_proof_a_wrong_role_an_older_protocol_and_no_proof_are_refused(self):
        peer = self.peer()
        mine, theirs = peer.hello()
        recorded = wire.proof(self.server.token, "initiator", mine, theirs)
        peer.say({"type": "proof", "proof": recorded})
        self.assertEqual(peer.hear()["type"], "welcome")
        self.refused(lambda *nonces: recorded, mine)
        self.refused(lambda *nonces: wire.proof(self.server.token, "responder", *nonces))
        self.refused(lambda *nonces: wire.proof(self.server.token, "initiator", *nonces, version=0))
        self.refused(lambda *nonces: wire.proof("another-token-entirely", "initiator", *nonces))
        self.refused(lambda *nonces: "")
        self.refused(lambda *nonces: recorded[:63])
        peer.close()
        self.assert_nothing_left()
        self.assert_serves()

    def test_nothing_of_the_token_is_in_the_log_of_its_clients(self):
        announced = self.server.log.index("write_lat")
        self.refused(lambda *nonces: secrets.token_hex(32))
        self.assertNotIn(self.server.token, self.server.log[announced:])


class FakeServer(rdmameter.Test):
    """What listens there is no server, or not one of ours."""

    def failing(self, answer, pattern, seconds=10 + 6 * rdmameter.SLOW):
        fake = wire.FakeServer(answer)
        done = self.run_program(f"127.0.0.1:{fake.port}", "send_lat", "--iterations", "20", status=rdmameter.FAILED)
        self.assertLess(done.seconds, seconds)
        self.assertRegex(done.stderr, pattern)
        self.assertRegex(done.rows[0]["error_message"], pattern)
        self.assert_valid(done.path)
        fake.end()

    def test_noise_for_an_answer_is_named(self):
        for stream, pattern in ((b"SSH-2.0-OpenSSH_9.2\r\n", "announced a message of 1397966893 bytes"),
                                (b"\xff\xff\xff\xff", "announced a message of 4294967295 bytes"),
                                (wire.frame(b"\0\1\2"), "not a message of rdmameter"),
                                (wire.frame({"type": "welcome"}), "expected the message 'challenge'"),
                                (b"\0\0\0\x50{", "in the middle of a message"),
                                (b"", "closed the connection|broke")):
            with self.subTest(stream):
                def answer(peer, stream=stream):
                    peer.hear()
                    peer.socket.sendall(stream)
                self.failing(answer, pattern)

    def test_another_protocol_is_named_with_both_releases(self):
        def answer(peer):
            peer.hear()
            peer.say({"type": "challenge", "protocol": 99, "version": "9.9.9", "nonce": "0" * 64,
                      "token_required": False})
            peer.hear()
        self.failing(answer, "runs rdmameter 9.9.9 with protocol 99, .* use the same release at both ends")

    def test_a_server_that_goes_wrong_after_the_welcome_is_an_error_in_each_row(self):
        for stream, pattern in ((wire.frame({"type": "ready"}), 'the key "forward" is missing'),
                                (wire.frame({"type": "ready", "forward": {"endpoint": {}}}), 'forward: endpoint: the key "lid" is missing'),
                                (wire.frame({"type": "failed", "kind": "x", "reason": "\x1b[2J"}), "reason is not a text"),
                                (b"\xff\xff\xff\xff", "announced a message of 4294967295 bytes")):
            with self.subTest(stream):
                def answer(peer, stream=stream):
                    wire.welcome(peer)
                    peer.hear()
                    peer.socket.sendall(stream)
                    if peer.hear() is not None:  # abandon
                        peer.say({"type": "abandoned"})
                self.failing(answer, pattern)


class Imposter(rdmameter.Test):
    """What listens in the server's place knows no token; the client has one."""
    TOKEN = "a-token-of-more-than-16-characters"
    WORDS = "--size: no such thing"
    REFUSED = f'refused before it proved that it knows the token: "{WORDS}"'

    def imposter(self, kind, challenges=False):
        """Its port."""
        def answer(peer):
            peer.hear()
            if challenges:
                peer.say({"type": "challenge", "protocol": wire.PROTOCOL, "version": "0.1.0", "nonce": "0" * 64,
                          "token_required": True})
                peer.hear()
            peer.say({"type": "failed", "kind": kind, "reason": self.WORDS})
        fake = wire.FakeServer(answer)
        self.addCleanup(fake.end)
        return fake.port

    def other(self, *arguments):
        """Another subcommand than `run`: its status and stderr."""
        done = subprocess.run([rdmameter.program, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              env=rdmameter.environment(self.TOKEN))
        return done.returncode, done.stderr

    def test_its_refusal_is_a_failed_measurement_whatever_kind_it_names(self):
        for kind in ("unsupported", "usage", "no_device", "token", "failed"):
            for challenges in (False, True):
                with self.subTest(kind, challenges=challenges):
                    done = self.run_program(f"127.0.0.1:{self.imposter(kind, challenges)}", "tcp_lat", "write_lat", "reg_mr",
                                            token=self.TOKEN, status=rdmameter.FAILED)
                    self.assertEqual(len(done.rows), 3)
                    for row in done.rows:
                        self.assertIn(self.REFUSED, row["error_message"])
                    self.assertIn(self.REFUSED, done.stderr)
                    self.assert_valid(done.path)

    def test_among_several_hosts_it_fails_its_own_cases(self):
        there = self.serve(token=self.TOKEN)
        for kind in ("unsupported", "usage", "no_device"):
            with self.subTest(kind):
                hosts = (f"127.0.0.1:{there.port}", f"127.0.0.1:{self.imposter(kind)}")
                path = f"{self.scratch}/hosts"
                with open(path, "w", encoding="utf-8") as file:
                    file.write("\n".join(hosts) + "\n")
                done = self.run_program("--hosts", path, "tcp_lat", "--iterations", "100", token=self.TOKEN, status=rdmameter.FAILED)
                self.assertEqual([row["case"]["host"] for row in done.rows], list(hosts))
                self.assertIn("latency", done.rows[0])
                self.assertIn(self.REFUSED, done.rows[1]["error_message"])

    def test_no_subcommand_takes_it_for_a_skip_or_a_wrong_use(self):
        plan = f"{self.scratch}/plan.toml"
        with open(plan, "w", encoding="utf-8") as file:
            file.write('gates = ["work"]\n[[suite]]\ntests = ["tcp_lat"]\n')
        for kind in ("unsupported", "usage", "no_device"):
            place = f"127.0.0.1:{self.imposter(kind)}"
            for status, arguments in ((rdmameter.FAILED, ("ci", "--plan", plan, "--out", f"{self.scratch}/ci-{kind}", "--inconclusive-ok",
                                                           "--", place)),
                                      (rdmameter.FAILED, ("doctor", place)),
                                      (rdmameter.FAILED, ("topo", "connections", place, "--max-qps", "2")),
                                      (1, ("perftest", "ib_send_lat", "-p", place.rpartition(":")[2], "127.0.0.1"))):
                with self.subTest(kind, command=arguments[0]):
                    got, stderr = self.other(*arguments)
                    self.assertEqual(got, status, stderr)
                    self.assertIn(self.REFUSED, " ".join(stderr.split()))

    def test_against_a_base_it_fails_the_gate_and_is_no_other_environment(self):
        plan, out = f"{self.scratch}/plan.toml", f"{self.scratch}/ci"
        with open(plan, "w", encoding="utf-8") as file:
            file.write('gates = ["work"]\n[[suite]]\ntests = ["tcp_lat"]\n')
        there = self.serve(token=self.TOKEN)
        got, stderr = self.other("ci", "--plan", plan, "--out", out, "--", f"127.0.0.1:{there.port}")
        self.assertEqual(got, 3, stderr)
        os.rename(f"{out}/new.json", f"{self.scratch}/base.json")
        for more in ((), ("--inconclusive-ok",)):
            got, stderr = self.other("ci", "--plan", plan, "--out", out, "--base", f"{self.scratch}/base.json", *more, "--",
                                     f"127.0.0.1:{self.imposter('unsupported')}")
            self.assertEqual(got, 1, stderr)
            with open(f"{out}/junit.xml", encoding="utf-8") as file:
                self.assertIn("refused before it proved that it knows the token", file.read())


if __name__ == "__main__":
    rdmameter.main()
