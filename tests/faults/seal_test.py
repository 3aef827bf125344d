#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What somebody on the path can do to a session: read nothing of it, change nothing of it, and be noticed."""
import socket
import struct
import threading

import wire
from wire import rdmameter

TOKEN = "a-token-of-more-than-16-characters"
RUN = ("tcp_lat", "--iterations", "200", "--warmup", "10")
PLAIN_UP, PLAIN_DOWN = 2, 2  # frames: hello and proof; challenge and welcome
CHANGED = "what came is not what .* sent: something on the path has changed, .* measure without it"
CUT = "the connection to .* broke.*: it was closed before the message that ends the session"


class Relay:
    """Passes on what client and server say to each other, frame by frame, as `change(frames)` has it.

    `change` gets the frames of a direction that are sealed so far, and says what goes on in the last one's stead: a list of
    frames, or nothing to cut the connection. It is asked for the direction `turned` alone.
    """

    def __init__(self, port, turned, change):
        self.seen = {"up": [], "down": []}
        self.change, self.turned = change, turned
        self.fake = wire.FakeServer(lambda client: self.relay(client, wire.Peer.to(port)))
        self.port, self.end = self.fake.port, self.fake.end

    def relay(self, client, server):
        up = threading.Thread(target=self.pump, args=("up", client, server, PLAIN_UP), daemon=True)
        up.start()
        self.pump("down", server, client, PLAIN_DOWN)
        up.join(60)
        server.close()

    def pump(self, direction, source, target, plain):
        try:
            while (head := source.exactly(4)) is not None:
                body = source.exactly(struct.unpack(">I", head)[0])
                self.seen[direction].append(head + body)
                sealed = self.seen[direction][plain:]
                out = self.change(sealed) if sealed and direction == self.turned else [head + body]
                for each in out:
                    target.socket.sendall(each)
                if not out:
                    break
        except (OSError, TypeError):  # the other direction has ended
            pass
        for end in (source, target):
            try:
                end.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def at(number, action):
    """Does `action` to the sealed frames so far when there are `number` of them; others go on as they are."""
    return lambda frames: action(frames) if len(frames) == number else frames[-1:]


def flipped(frames):
    frame = bytearray(frames[-1])
    frame[-1] ^= 1
    return [bytes(frame)]


class Sealed(rdmameter.Test):
    def run_through(self, turned, change, status, token=TOKEN):
        self.server = self.serve(token=token) if token else self.serve()
        self.relay = Relay(self.server.port, turned, change)
        done = self.run_program(f"127.0.0.1:{self.relay.port}", *RUN, token=token, status=status)
        self.relay.end()
        return done

    def wire_text(self):
        return b"".join(self.relay.seen["up"] + self.relay.seen["down"])

    def test_who_only_listens_reads_neither_plan_nor_keys_nor_what_the_machines_are(self):
        words = [b'"prepare"', b'"listening"', b'"environment"', b'"kernel"', b'"size_bytes"', b'"bye"']
        self.run_through("up", lambda frames: frames[-1:], rdmameter.PASS)
        for word in words:
            self.assertNotIn(word, self.wire_text())
        # They would be there: without a token all is plain.
        self.run_through("up", lambda frames: frames[-1:], rdmameter.PASS, token=None)
        for word in words:
            self.assertIn(word, self.wire_text())

    def assert_client_notices(self, change, pattern):
        done = self.run_through("down", change, rdmameter.FAILED)
        for text in (done.stderr, done.rows[-1]["error_message"]):
            self.assertRegex(text, pattern)
        self.assert_valid(done.path)

    def assert_server_notices(self, change, pattern):
        self.run_through("up", change, rdmameter.FAILED)
        self.server.await_log(f"dropped: {pattern}")

    def test_what_was_changed_repeated_moved_or_made_up_ends_the_session_with_cause_and_remedy(self):
        faults = {"changed": (3, flipped),
                  "cut short": (3, lambda frames: [struct.pack(">I", len(frames[-1]) - 5) + frames[-1][4:-1]]),
                  "repeated": (2, lambda frames: [frames[-1], frames[-1]]),
                  "of before": (3, lambda frames: [frames[0]]),
                  "made up": (3, lambda frames: [wire.frame({"type": "failed", "kind": "failed", "reason": "made up"})]),
                  "too long": (3, lambda frames: [b"\x7f" + frames[-1][1:]])}
        for name, (number, action) in faults.items():
            with self.subTest(name):
                self.assert_client_notices(at(number, action), CHANGED)
                self.assert_server_notices(at(number, action), CHANGED)

    def test_what_was_left_out_or_put_before_another_is_noticed(self):
        server = self.serve(token=TOKEN)
        for left_out in (True, False):
            with self.subTest(left_out=left_out):
                so_far = len(server.log)
                peer = self.client(server)
                first, second = (peer.sealed({"type": kind}) for kind in ("abandon", "alive"))
                peer.socket.sendall(second if left_out else second + first)
                self.assertIsNone(peer.hear())
                server.await_log(f"dropped: {CHANGED}", so_far)

    def client(self, server):
        peer = wire.Peer.to(server.port)
        self.addCleanup(peer.close)
        self.assertEqual(peer.greet(TOKEN)["type"], "welcome")
        return peer

    def test_a_connection_that_is_cut_is_broken_and_no_end(self):
        self.assert_client_notices(at(3, lambda frames: []), CUT)
        self.assert_server_notices(at(3, lambda frames: []), CUT)

    def test_a_client_that_ends_well_is_gone_and_not_cut(self):
        self.run_through("up", lambda frames: frames[-1:], rdmameter.PASS)
        self.server.await_log(": gone")
        self.assertNotIn("dropped", self.server.log)

    def test_who_passes_the_handshake_on_cannot_speak_in_the_client_s_place(self):
        """Another user of the machine, who listens on the server's port at another loopback address."""
        server = self.serve(token=TOKEN)
        peer = wire.Peer.to(server.port)
        nonces = peer.hello()
        peer.say({"type": "proof", "proof": wire.proof(TOKEN, "initiator", *nonces)})  # as passed on
        self.assertEqual(peer.hear()["type"], "welcome")
        peer.say({"type": "describe", **wire.ANY_DEVICE})
        self.assertIsNone(peer.hear())
        server.await_log(f"dropped: {CHANGED}")
        peer.close()

    def test_a_session_that_is_sealed_by_another_implementation_is_served(self):
        server = self.serve(token=TOKEN)
        peer = self.client(server)
        peer.say({"type": "prepare", "case": 7})
        self.assertEqual(peer.hear()["type"], "failed")
        peer.say({"type": "bye"}, last=True)
        self.assertIsNone(peer.hear())
        server.await_log(": gone")


if __name__ == "__main__":
    rdmameter.main(devices=0)
