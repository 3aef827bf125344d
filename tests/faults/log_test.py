#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is said on stderr and in a server's log hurts nobody, whoever reads it or does not, and whoever causes it."""
import fcntl
import json
import os
import re
import signal
import subprocess

import wire
from wire import rdmameter

TOKEN = "a-token-of-more-than-16-characters"
SHORT = ("--iterations", "200", "--warmup", "10")
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
STRANGERS = 1500


def come_as_strangers(port, count):
    """So many connections, one after another, each dropped for what it says: a line of the log for each."""
    for _ in range(count):
        peer = wire.Peer.to(port)
        peer.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        try:
            peer.seconds_to_close()
        finally:
            peer.close()


class Stderr(rdmameter.Test):
    """A server whose stderr nobody takes anything from."""

    def served(self, **streams):
        """Strangers come, a proved client is served among them, and SIGTERM ends the server at once."""
        port = rdmameter.free_port()
        server = subprocess.Popen([rdmameter.program, "serve", "--port", str(port)], stdin=subprocess.DEVNULL,
                                  env=rdmameter.environment(TOKEN), **streams)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        at = f"127.0.0.1:{port}"
        self.run_program(at, "tcp_lat", *SHORT, token=TOKEN, timeout=30)
        come_as_strangers(port, STRANGERS)
        self.run_program(at, "tcp_lat", "tcp_bw", *SHORT, token=TOKEN, timeout=30)
        asked = rdmameter.fair_time()
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(10), rdmameter.PASS)
        self.assertLess(rdmameter.fair_time() - asked, rdmameter.SLOW)

    def test_a_full_disk_under_the_log_changes_nothing(self):
        with open("/dev/full", "wb") as full:
            self.served(stderr=full)

    def test_a_closed_stderr_changes_nothing(self):
        self.served(preexec_fn=lambda: os.close(2))

    def test_a_pipe_whose_reader_has_gone_changes_nothing(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.served(stderr=writer)
        os.close(writer)

    def test_a_pipe_that_nobody_reads_changes_nothing(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
        try:
            while True:
                os.write(writer, b"x" * 4096)
        except BlockingIOError:
            fcntl.fcntl(writer, fcntl.F_SETFL, 0)
        self.served(stderr=writer)
        os.close(reader)
        os.close(writer)

    def test_no_exit_status_depends_on_it(self):
        files = [f"{self.scratch}/{name}.json" for name in ("one", "two")]
        for path in files:
            subprocess.run([rdmameter.program, "run", "--loopback", "tcp_lat", *SHORT, "-o", path], check=True,
                           stdout=subprocess.DEVNULL, timeout=60)
        for command in (["run", f"127.0.0.1:{rdmameter.free_port()}", "tcp_lat", *SHORT],
                        ["run", "--loopback", "tcp_lat", "--mtu", "7"],
                        ["show", f"{self.scratch}/none.json"],
                        ["compare", *files],
                        ["compare", files[0], f"{self.scratch}/none.json"],
                        ["no-such-subcommand"]):
            with self.subTest(command):
                command = [rdmameter.program, *command]
                statuses = [subprocess.run(["sh", "-c", f'exec "$@" {stderr}', "sh", *command], check=False, timeout=60,
                                           stdout=subprocess.DEVNULL).returncode
                            for stderr in ("2>/dev/null", "2>&-", "2>/dev/full")]
                self.assertEqual(statuses, statuses[:1] * 3)

    def test_a_result_is_whole_where_the_streams_are_closed(self):
        path = self.output()
        command = [rdmameter.program, "run", f"127.0.0.1:{rdmameter.free_port()}", "tcp_lat", "--size", "1,2", "-o", path]
        done = subprocess.run(["sh", "-c", 'exec "$@" <&- 2>&-', "sh", *command], stdout=subprocess.DEVNULL,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, rdmameter.FAILED)
        self.assert_valid(path)

    def test_nothing_that_the_program_opens_takes_the_number_of_a_closed_stream(self):
        def close_all():
            for stream in (0, 1, 2):
                os.close(stream)
        port = rdmameter.free_port()
        server = subprocess.Popen([rdmameter.program, "serve", "--port", str(port)], preexec_fn=close_all,
                                  env=rdmameter.environment())
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.run_program(f"127.0.0.1:{port}", "tcp_lat", *SHORT)
        self.assertEqual([os.readlink(f"/proc/{server.pid}/fd/{stream}") for stream in (0, 1, 2)], ["/dev/null"] * 3)


class Lines(rdmameter.Test):
    """A log that others write into."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()
        self.port = self.server.port

    def peer(self):
        made = wire.Peer.to(self.port)
        self.addCleanup(made.close)
        return made

    def logged(self):
        """The lines after the announcement."""
        self.server.stop()
        return self.server.log.splitlines()[2:]

    def test_each_tells_the_time_and_the_client(self):
        come_as_strangers(self.port, 3)
        self.run_program(f"127.0.0.1:{self.port}", "tcp_lat", *SHORT)
        lines = self.logged()
        self.assertEqual(len(lines), 6, lines)
        for line in lines:
            self.assertRegex(line, rf"^{TIME}127\.0\.0\.1:\d+: (dropped: |connected, |tcp_send latency |gone$)")

    def test_a_version_with_lines_of_its_own_is_refused(self):
        for version in ("0.1.0\n127.0.0.1:1: connected", "0.1.0\tx", "0.1.0\u202e", "0.1.0\u2028", "0.1.0 x"):
            peer = self.peer()
            peer.say({"type": "hello", "protocol": 1, "version": version, "nonce": "0" * 64})
            told = peer.hear()
            told = peer.hear() if told["type"] == "challenge" else told
            self.assertRegex(told["reason"], "version is not a text|`version` must be letters")
        lines = self.logged()
        self.assertEqual(len(lines), 5, lines)
        for line in lines:
            self.assertRegex(line, rf"^{TIME}127\.0\.0\.1:\d+: dropped: [ -~]*$")

    def test_what_a_plan_says_is_quoted_short_and_printable(self):
        peer = self.peer()
        self.assertEqual(peer.greet()["type"], "welcome")
        for key in ("\x1b[2J\n\u202ekey", "k" * 900_000):
            one_case = {**wire.prepared(self, "tcp_lat", *SHORT)["case"], key: 1}
            peer.say({"type": "prepare", "case": one_case, "seed": 1, "devices": [], "same_host": False, "cpus": []})
            reason = peer.hear()["reason"]
            self.assertRegex(reason, r"^case: '[ -~]{1,210}' is unknown$")
        peer.say({"type": "bye"})
        for line in self.logged():
            self.assertRegex(line, r"^[ -~]{1,1100}$")

    def test_a_flood_is_counted_and_its_count_is_whole(self):
        come_as_strangers(self.port, STRANGERS)
        lines = self.logged()
        dropped = sum(int(found[1]) for line in lines
                      if (found := re.match(rf"^{TIME}(\d+) lines? from 127\.0\.0\.1 dropped: ", line)))
        self.assertGreater(dropped, 0)
        self.assertEqual(sum(": dropped: 127" in line for line in lines) + dropped, STRANGERS)


class Client(rdmameter.Test):
    """A server that means harm to whoever reads what its client prints and writes."""

    def told(self, environment, reason):
        def answer(peer):
            wire.welcome(peer, environment)
            peer.hear()
            peer.say({"type": "failed", "kind": "failed", "reason": reason})
            if peer.hear() is not None:  # abandon
                peer.say({"type": "abandoned"})
        fake = wire.FakeServer(answer)
        done = self.run_program(f"127.0.0.1:{fake.port}", "tcp_lat", *SHORT, status=rdmameter.FAILED)
        fake.end()
        return done

    def test_its_reasons_and_its_environment_are_printable(self):
        evil = "x\x1b[2J\n\t\u202e\u2028y"
        done = self.told({"host": evil, evil: [evil]}, evil)
        with open(done.path, encoding="utf-8") as file:
            text = file.read()
        for said in (json.dumps(json.loads(text)["context"]["rdmameter"]["responder"]), text, done.stdout, done.stderr):
            for bad in ("\x1b", "\u202e", "\u2028", r"\u001b", r"\u202e", "x\n"):
                self.assertNotIn(bad, said)
        self.assertIn("x?[2J????y", text)
        self.assertIn("reason is not a text", done.stderr)


if __name__ == "__main__":
    rdmameter.main(devices=0)
