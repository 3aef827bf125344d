# SPDX-License-Identifier: Apache-2.0
"""Either end of a session, played by a test: it says what no rdmameter would (core/session/protocol.h)."""
import ctypes
import ctypes.util
import functools
import hashlib
import hmac
import json
import os
import pathlib
import re
import secrets
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "device"))
import rdmameter  # pylint: disable=wrong-import-position

HEADER = pathlib.Path(__file__).resolve().parents[2] / "core/session/protocol.h"
PROTOCOL = int(re.search(r"kProtocolVersion = (\d+);", HEADER.read_text(encoding="utf-8"))[1])
PROOF_TIMEOUT, SILENCE, PLACE_TIMEOUT, SETUP_TIMEOUT = 2, 20, 20, 30  # [s]
ANY_DEVICE = {"end": {"device": "", "port_num": 2**64 - 1, "gid_index": 2**64 - 1, "core": "", "memory": ""}}


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def keyed(token, *parts):
    """As core/wire/auth.cpp has it."""
    code = hmac.new(token.encode(), digestmod=hashlib.sha256)
    for part in parts:
        code.update(struct.pack("<Q", len(part)) + part.encode())
    return code


def proof(token, role, initiator_nonce, responder_nonce, version=PROTOCOL):
    return keyed(token, "rdmameter session proof", role, str(version), initiator_nonce, responder_nonce).hexdigest()


@functools.cache
def sodium():
    return ctypes.CDLL(ctypes.util.find_library("sodium"))


class Stream:
    """One direction of a sealed session (core/wire/seal.h), at the initiator's end."""
    HEADER, MORE, STATE, FINAL = 24, 17, 52, 3
    NAME = "crypto_secretstream_xchacha20poly1305_"

    def __init__(self, token, sender, nonces):
        self.key = keyed(token, "rdmameter session seal", sender, str(PROTOCOL), *nonces).digest()
        self.state, self.begun, self.ended = ctypes.create_string_buffer(self.STATE), False, False

    def call(self, name, *arguments):
        return getattr(sodium(), self.NAME + name)(self.state, *arguments)

    def seal(self, body, last=False):
        header = ctypes.create_string_buffer(0 if self.begun else self.HEADER)
        if not self.begun:
            self.call("init_push", header, self.key)
        self.begun = True
        sealed = ctypes.create_string_buffer(len(body) + self.MORE)
        self.call("push", sealed, None, body, ctypes.c_ulonglong(len(body)), None, ctypes.c_ulonglong(0), self.FINAL if last else 0)
        return header.raw + sealed.raw

    def open(self, sealed):
        if not self.begun:
            self.call("init_pull", sealed[:self.HEADER], self.key)
            sealed = sealed[self.HEADER:]
        self.begun = True
        body, tag = ctypes.create_string_buffer(len(sealed) - self.MORE), ctypes.c_ubyte()
        if self.call("pull", body, None, ctypes.byref(tag), sealed, ctypes.c_ulonglong(len(sealed)), None, ctypes.c_ulonglong(0)):
            raise AssertionError("what was heard is not what was sealed")
        self.ended = tag.value == self.FINAL
        return body.raw


class Peer:
    """A connection, and the messages on it."""

    def __init__(self, end):
        self.socket = end
        self.socket.settimeout(60)
        self.sent = self.heard = None  # streams, once the session is sealed

    @classmethod
    def to(cls, port, host="127.0.0.1", source=None):
        return cls(socket.create_connection((host, int(port)), 60, source_address=source and (source, 0)))

    def close(self):
        self.socket.close()

    def seal(self, token, nonces):
        self.sent, self.heard = Stream(token, "initiator", nonces), Stream(token, "responder", nonces)

    def sealed(self, message, last=False):
        """What goes over the wire for it."""
        body = frame(message)[4:]
        return frame(self.sent.seal(body, last) if self.sent else body)

    def say(self, message, last=False):
        self.socket.sendall(self.sealed(message, last))

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
        return body and json.loads(self.heard.open(body) if self.heard else body)

    def seconds_to_close(self):
        """Hears everything until the other end hangs up; by rdmameter.fair_time()."""
        began = rdmameter.fair_time()
        while self.hear() is not None:
            pass
        return rdmameter.fair_time() - began

    def hello(self, protocol=PROTOCOL, nonce=None):
        """As an initiator; returns both nonces."""
        nonce = nonce or secrets.token_hex(32)
        self.say({"type": "hello", "protocol": protocol, "version": "0.1.0", "nonce": nonce})
        challenge = self.hear()
        return nonce, challenge["nonce"]

    def greet(self, token=None):
        """The whole greeting as an initiator; returns the answer to the proof."""
        nonces = self.hello()
        self.say({"type": "proof", "proof": proof(token, "initiator", *nonces) if token else ""})
        answer = self.hear()
        if answer["type"] == "welcome":
            if token:
                self.seal(token, nonces)
            self.describe()
        return answer

    def describe(self):
        self.say({"type": "describe", **ANY_DEVICE})
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
        # A client that looks for an ended server of another test, whose port this one has now, is none of ours.
        if self.error and self.result is None:
            raise self.error
        return self.result


class Between:
    """Stands between a client and the server at `port`, and may change what they say.

    `change(message)` returns what the client hears instead, `up(message)` what the server does. Without a token only: what is
    proved holds.
    """

    def __init__(self, port, change, up=lambda message: message):
        def answer(client):
            server = Peer.to(port)
            upward = threading.Thread(target=self.pump, args=(client, server, up), daemon=True)
            upward.start()
            self.pump(server, client, change)
            client.socket.close()
            upward.join(60)
        self.fake = FakeServer(answer)
        self.port, self.end = self.fake.port, self.fake.end

    @staticmethod
    def pump(source, target, change):
        try:
            while (message := source.hear()) is not None:
                target.say(change(message))
            target.socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # the other direction has ended
            pass


def welcome(peer, environment=None):
    """The greeting as a responder without a token."""
    peer.hear()
    peer.say({"type": "challenge", "protocol": PROTOCOL, "version": "0.1.0", "nonce": secrets.token_hex(32),
              "token_required": False})
    peer.hear()
    peer.say({"type": "welcome", "proof": ""})
    while (heard := peer.hear()) and heard["type"] == "list_ports":
        peer.say({"type": "ports", "ports": []})
    peer.say({"type": "environment", "environment": environment or {}})


def prepared(test, *arguments):
    """The message "prepare" of a run with these arguments, heard by a responder that refuses it."""
    def answer(peer):
        welcome(peer)
        heard = peer.hear()
        peer.say({"type": "failed", "kind": "failed", "reason": "enough"})
        return heard
    fake = FakeServer(answer)
    test.run_program(f"127.0.0.1:{fake.port}", *arguments, status=rdmameter.FAILED)
    return fake.end()


class Test(rdmameter.Test):
    """A test with a server that must be as before when the fault is over."""
    arguments = ()

    def setUp(self):
        super().setUp()
        self.server = self.serve(*self.arguments)
        self.port = self.server.port
        self.at = f"localhost:{self.port}"

    def peer(self):
        made = Peer.to(self.port)
        self.addCleanup(made.close)
        return made

    def assert_serves(self):
        done = self.run_program(self.at, "send_lat", "--iterations", "20", "--warmup", "0", token=self.server.token)
        self.assertIn("latency", done.rows[0])

    def assert_greets(self):
        """Cheaper than assert_serves()."""
        peer = self.peer()
        self.assertEqual(peer.greet(self.server.token)["type"], "welcome")
        peer.say({"type": "bye"}, last=True)
        peer.close()

    def assert_failed_clearly(self, done, pattern):
        """Status 99, the reason on stderr and in a row, and a result that is whole."""
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, pattern)
        self.assertRegex(done.rows[-1]["error_message"], pattern)
        self.assert_valid(done.path)
