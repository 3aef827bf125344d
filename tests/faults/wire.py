# SPDX-License-Identifier: Apache-2.0
"""Either end of a session, played by a test: it says what no rdmameter would (core/session/protocol.h)."""
import hashlib
import hmac
import json
import os
import secrets
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "device"))
import rdmameter  # pylint: disable=wrong-import-position

PROTOCOL = 4
PROOF_TIMEOUT, SILENCE, PLACE_TIMEOUT, SETUP_TIMEOUT = 2, 20, 20, 30  # [s]
ANY_DEVICE = {"device": "", "port_num": 2**64 - 1, "gid_index": 2**64 - 1}


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def proof(token, role, initiator_nonce, responder_nonce, version=PROTOCOL):
    """As core/session/auth.h has it."""
    code = hmac.new(token.encode(), digestmod=hashlib.sha256)
    for part in ("rdmameter session proof", role, str(version), initiator_nonce, responder_nonce):
        code.update(struct.pack("<Q", len(part)) + part.encode())
    return code.hexdigest()


class Peer:
    """A connection, and the messages on it."""

    def __init__(self, end):
        self.socket = end
        self.socket.settimeout(60)

    @classmethod
    def to(cls, port, host="127.0.0.1"):
        return cls(socket.create_connection((host, int(port)), 60))

    def close(self):
        self.socket.close()

    def say(self, message):
        self.socket.sendall(frame(message))

    def exactly(self, count):
        got = b""
        while len(got) < count:
            try:
                more = self.socket.recv(count - len(got))
            except ConnectionResetError:
                more = b""
            if not more:
                return None
            got += more
        return got

    def hear(self):
        """The next message; None when the other end has closed."""
        head = self.exactly(4)
        body = head and self.exactly(struct.unpack(">I", head)[0])
        return body and json.loads(body)

    def seconds_to_close(self):
        """Hears everything until the other end hangs up."""
        began = time.monotonic()
        while self.hear() is not None:
            pass
        return time.monotonic() - began

    def hello(self, protocol=PROTOCOL, nonce=None):
        """As an initiator; returns both nonces."""
        nonce = nonce or secrets.token_hex(32)
        self.say({"type": "hello", "protocol": protocol, "version": "0.1.0", "nonce": nonce})
        challenge = self.hear()
        return nonce, challenge["nonce"]

    def greet(self, token=None):
        """The whole greeting as an initiator; returns the answer to it."""
        nonces = self.hello()
        self.say({"type": "proof", "proof": proof(token, "initiator", *nonces) if token else "", **ANY_DEVICE})
        return self.hear()


class FakeServer:
    """Answers every connection as `answer(peer)` does, on a thread, until end()."""

    def __init__(self, answer):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.answer, self.error, self.result = answer, None, None
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                end, _ = self.listener.accept()
            except OSError:
                return
            peer = Peer(end)
            try:
                self.result = self.answer(peer)
            except Exception as error:  # pylint: disable=broad-except
                self.error = error
            peer.close()

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(60)
        self.listener.close()
        if self.error:
            raise self.error
        return self.result


def welcome(peer):
    """The greeting as a responder without a token."""
    peer.hear()
    peer.say({"type": "challenge", "protocol": PROTOCOL, "version": "0.1.0", "nonce": secrets.token_hex(32),
              "token_required": False})
    peer.hear()
    peer.say({"type": "welcome", "proof": "", "environment": {}})


class Test(rdmameter.Test):
    """A test with a server that must be as before when the fault is over."""
    arguments = ()

    def setUp(self):
        super().setUp()
        self.server = self.serve(*self.arguments)
        self.port = self.server.port
        self.at = f"localhost:{self.port}"
        self.assert_serves()  # libraries that are loaded with the first client stay
        self.before = self.settled()

    def peer(self):
        made = Peer.to(self.port)
        self.addCleanup(made.close)
        return made

    def settled(self, target=None):
        """What the server holds, once it is as `target`, or does not change."""
        def answer():
            held = self.server.footprint()
            time.sleep(0.1)
            return held if held == (target or self.server.footprint()) else None
        return rdmameter.wait_until(answer, 10) or self.server.footprint()

    def assert_nothing_left(self):
        self.assertEqual(self.settled(self.before), self.before, self.server.log[-2000:])

    def assert_serves(self):
        done = self.run_program(self.at, "send_lat", "--iterations", "20", "--warmup", "0", token=self.server.token)
        self.assertIn("latency", done.rows[0])

    def assert_greets(self):
        """Cheaper than assert_serves()."""
        peer = self.peer()
        self.assertEqual(peer.greet(self.server.token)["type"], "welcome")
        peer.say({"type": "bye"})
        peer.close()

    def assert_failed_clearly(self, done, pattern):
        """Status 99, the reason on stderr and in a row, and a result that is whole."""
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, pattern)
        self.assertRegex(done.rows[-1]["error_message"], pattern)
        self.assert_valid(done.path)
