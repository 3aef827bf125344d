#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who is let in: a server that others can reach has a token, and only those who know it are served."""
import os

import rdmameter

GOOD = "a-token-of-more-than-16-characters"


class Token(rdmameter.Test):
    def run_against(self, server, status, token=None, *more):
        return self.run_program(f"127.0.0.1:{server.port}", "write_lat", "--iterations", "20", *more, token=token,
                                status=status)

    def test_a_server_on_every_address_makes_one_and_prints_the_command_with_it(self):
        server = self.serve("--bind", "0.0.0.0")
        self.assertRegex(server.token or "", r"^[\w-]{32}$")
        done = self.run_against(server, rdmameter.PASS, server.token)
        for text in (open(done.path, encoding="utf-8").read(), done.stdout, done.stderr):
            self.assertNotIn(server.token, text)

    def test_without_it_or_with_a_wrong_one_nobody_gets_in(self):
        server = self.serve("--bind", "0.0.0.0")
        done = self.run_against(server, rdmameter.FAILED)
        self.assertRegex(done.stderr, "wants a token: set RDMAMETER_TOKEN .*--token-file")
        done = self.run_against(server, rdmameter.FAILED, GOOD)
        self.assertIn("the token is wrong", done.stderr)
        self.run_against(server, rdmameter.PASS, server.token)  # it still serves those who know it

    def test_one_can_be_given_by_file_on_both_ends(self):
        path = f"{self.scratch}/token"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(GOOD + "\n")
        server = self.serve("--token-file", path)
        self.assertNotIn(GOOD, server.log)
        self.run_against(server, rdmameter.PASS, None, "--token-file", path)
        self.run_against(server, rdmameter.PASS, GOOD)
        self.run_against(server, rdmameter.FAILED)

    def test_a_client_does_not_fall_for_a_server_that_does_not_know_it(self):
        server = self.serve("--token-file", self.token_file("another-token-of-some-length"))
        done = self.run_against(server, rdmameter.FAILED, GOOD)
        self.assertIn("token", done.stderr)

    def test_one_that_is_too_short_is_wrong_use_and_not_repeated(self):
        server = self.serve()
        done = self.run_against(server, rdmameter.USAGE, "sesame")
        self.assertIn("RDMAMETER_TOKEN", done.stderr)
        self.assertNotIn("sesame", done.stderr)

    def test_a_token_file_that_is_not_there_is_wrong_use(self):
        server = self.serve()
        done = self.run_against(server, rdmameter.USAGE, None, "--token-file", f"{self.scratch}/none")
        self.assertRegex(done.stderr, r"--token-file .*/none: cannot be read: No such file")

    def test_without_authentication_it_says_so_aloud_and_serves_all(self):
        server = self.serve("--bind", "0.0.0.0", "--no-auth")
        server.await_log("--no-auth: whoever reaches this port")
        self.run_against(server, rdmameter.PASS)

    def test_a_client_with_a_token_goes_on_with_no_server_that_does_not_ask_for_it(self):
        for arguments in ((), ("--bind", "0.0.0.0", "--no-auth")):
            server = self.serve(*arguments)
            done = self.run_against(server, rdmameter.FAILED, GOOD)
            for text in (done.stderr, done.rows[0]["error_message"]):
                self.assertRegex(text, "does not ask for the token .* unset RDMAMETER_TOKEN")

    def token_file(self, token):
        path = f"{self.scratch}/{len(os.listdir(self.scratch))}.token"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(token + "\n")
        return path


if __name__ == "__main__":
    rdmameter.main()
