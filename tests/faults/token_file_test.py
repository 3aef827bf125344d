#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server on loopback lets in its own user's clients, with nothing to type, and nobody else's."""
import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile

import wire
from wire import rdmameter

SHORT = ("--iterations", "200", "--warmup", "10")
OTHER_USER = 65534
GOOD = "a-token-of-more-than-16-characters"


class TokenFile(rdmameter.Test):
    def setUp(self):
        super().setUp()
        self.server = self.serve(auth=True)
        self.at = f"127.0.0.1:{self.server.port}"
        self.path = f"{rdmameter.RUNTIME}/rdmameter/{self.server.port}.token"

    def token(self):
        with open(self.path, encoding="ascii") as file:
            return file.read().strip()

    def test_its_user_s_clients_type_nothing(self):
        self.assertRegex(self.server.log, r"measure from this machine, as this user, with\n  rdmameter run localhost:\d+ write_lat\n")
        for host in ("127.0.0.1", "localhost"):
            self.run_program(f"{host}:{self.server.port}", "tcp_lat", *SHORT)

    def test_the_token_is_in_its_file_and_nowhere_else(self):
        token = self.token()
        self.assertRegex(token, r"^[\w-]{32}$")
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)
        done = self.run_program(self.at, "tcp_lat", *SHORT)
        with open(done.path, encoding="utf-8") as file:
            for text in (self.server.log, done.stderr, done.stdout, file.read()):
                self.assertNotIn(token, text)

    def test_it_is_found_though_somebody_has_cleaned_up_since(self):
        before = self.token()
        shutil.rmtree(os.path.dirname(self.path))
        self.run_program(self.at, "tcp_lat", *SHORT)
        self.assertEqual(self.token(), before)
        self.assertEqual(stat.S_IMODE(os.stat(self.path).st_mode), 0o600)

    def test_a_client_without_the_token_is_no_client(self):
        peer = wire.Peer.to(self.server.port)
        answer = peer.greet()
        self.assertEqual((answer["type"], answer["kind"]), ("failed", "token"))
        peer.close()

    def test_another_user_is_told_that_the_server_is_not_theirs(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            env = {**rdmameter.environment(), "XDG_RUNTIME_DIR": folder}
            done = subprocess.run([rdmameter.program, "run", self.at, "tcp_lat", *SHORT], user=OTHER_USER, cwd=folder,
                                  env=env, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, r"wants a token.* No server of yours has left a token for port \d+ in .*another user")

    def test_another_user_s_file_is_not_believed(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        folder = os.path.dirname(self.path)
        os.chown(folder, OTHER_USER, OTHER_USER)
        self.addCleanup(os.chown, folder, 0, 0)
        done = self.run_program(self.at, "tcp_lat", *SHORT, status=rdmameter.FAILED)
        self.assertRegex(done.stderr, "No server of yours has left a token")

    def test_it_goes_with_the_server_but_for_one_that_is_killed_and_the_error_names_what_that_one_left(self):
        self.server.stop()
        self.assertFalse(os.path.exists(self.path))
        killed = self.serve("--port", self.server.port, auth=True)
        killed.stop(signal.SIGKILL)
        self.assertTrue(os.path.exists(self.path))
        stale = self.token()
        other = self.serve("--port", self.server.port, token=GOOD)  # it knows of the folder, and cleans up
        self.assertFalse(os.path.exists(self.path))
        with open(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(stale + "\n")
        done = self.run_program(self.at, "tcp_lat", *SHORT, status=rdmameter.FAILED)
        self.assertRegex(done.stderr, f"the token is wrong.* The token here is that of {self.path}, .*remove the file")
        self.assertNotIn(stale, done.stderr)
        self.run_program(self.at, "tcp_lat", *SHORT, token=GOOD)  # the environment goes before it
        other.stop()

    def test_a_server_that_left_none_takes_none_away_when_it_ends(self):
        given = self.serve("--bind", "127.0.0.2", token=GOOD)
        other = self.serve("--bind", "127.0.0.3", "--port", given.port)
        path = f"{rdmameter.RUNTIME}/rdmameter/{given.port}.token"
        given.stop()
        self.assertTrue(os.path.exists(path))
        self.run_program(f"127.0.0.3:{other.port}", "tcp_lat", *SHORT)
        other.stop()
        self.assertFalse(os.path.exists(path))

    def test_a_file_that_was_named_goes_before_the_environment_and_that_before_what_is_found(self):
        named = f"{self.scratch}/named"
        with open(os.open(named, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(self.token() + "\n")
        self.run_program(self.at, "tcp_lat", *SHORT, "--token-file", named, token=GOOD)
        done = self.run_program(self.at, "tcp_lat", *SHORT, token=GOOD, status=rdmameter.FAILED)
        self.assertRegex(done.stderr, "the token is wrong")
        self.assertNotIn(self.path, done.stderr)

    def test_no_auth_lets_everybody_in_and_leaves_no_file(self):
        self.server.stop(signal.SIGKILL)
        server = self.serve("--no-auth", "--port", self.server.port)
        self.assertFalse(os.path.exists(self.path))
        peer = wire.Peer.to(server.port)
        self.assertEqual(peer.greet()["type"], "welcome")
        peer.close()
        self.run_program(self.at, "tcp_lat", *SHORT)

    def test_a_server_that_finds_no_folder_of_its_own_does_not_start(self):
        home = f"/tmp/rdmameter-{os.geteuid()}"
        if os.path.lexists(home):
            self.skipTest(f"{home} is there")
        os.mkdir(home, 0o755)
        self.addCleanup(os.rmdir, home)
        env = {**rdmameter.environment(), "XDG_RUNTIME_DIR": f"{self.scratch}/{secrets.token_hex(4)}"}
        done = rdmameter.Started([rdmameter.program, "serve", "--port", "0"], env).end(30)
        self.assertEqual(done.status, rdmameter.USAGE, done)
        self.assertRegex(done.stderr, f"no folder for this server's token: .*{home}: other users can reach it; .*--token-file")


if __name__ == "__main__":
    rdmameter.main(devices=0)
