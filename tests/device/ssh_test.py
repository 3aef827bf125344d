#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`run ssh://HOST`: the server is started on HOST by ssh, measured with, and gone afterwards, however the run ends.

HOST is this machine, with an ssh server of its own (dropbear) on loopback. It looks for keys at its user's home, so it
gets another /etc/passwd, in a mount namespace.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import rdmameter

SHORT = ("tcp_lat", "--iterations", "200", "--warmup", "10")
TOKEN = "a-token-of-more-than-16-characters"


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


def why_no_sshd():
    missing = [name for name in ("dropbear", "dropbearkey", "ssh", "ssh-keygen", "unshare") if not shutil.which(name)]
    if missing:
        return f"no {', '.join(missing)} (Debian: dropbear-bin, openssh-client)"
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    return "" if os.geteuid() == 0 and tried.returncode == 0 else "a home of its own for the ssh server takes root"


class Sshd:
    """An ssh server for this user, and what a client needs: `command`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rdmameter-sshd-")
        os.makedirs(f"{self.folder}/home/.ssh", mode=0o700)
        os.chmod(f"{self.folder}/home", 0o700)
        for name in ("key", "other_key"):
            make_key(f"{self.folder}/{name}")
        shutil.copy(f"{self.folder}/key.pub", f"{self.folder}/home/.ssh/authorized_keys")
        made = subprocess.run(["dropbearkey", "-t", "ed25519", "-f", f"{self.folder}/host_key"], check=True,
                              capture_output=True, text=True)
        host_key = re.search("^ssh-ed25519 \\S+", made.stdout, re.M)[0]
        with open("/etc/passwd", encoding="utf-8") as old, open(f"{self.folder}/passwd", "w", encoding="utf-8") as new:
            for line in old:
                fields = line.rstrip("\n").split(":")
                if fields[2] == str(os.geteuid()):
                    fields[5:] = [f"{self.folder}/home", "/bin/sh"]
                new.write(":".join(fields) + "\n")
        self.port = self.start()
        self.write("known", f"[127.0.0.1]:{self.port} {host_key}\n")
        self.write("empty", "")
        self.command = self.command_with("key", "known")

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def command_with(self, key, known):
        self.write(f"config-{key}-{known}", f"UserKnownHostsFile {self.folder}/{known}\nGlobalKnownHostsFile /dev/null\n"
                   f"IdentityFile {self.folder}/{key}\nIdentitiesOnly yes\nIdentityAgent none\n")
        return f"ssh -F '{self.folder}/config-{key}-{known}'"

    def start(self):
        """Some free port may be taken by somebody else before the server has it."""
        for _ in range(5):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            mount = f"mount --bind {self.folder}/passwd /etc/passwd && exec \"$@\""
            with open(f"{self.folder}/log", "w", encoding="ascii") as log:
                self.process = subprocess.Popen(
                    ["unshare", "--mount", "sh", "-c", mount, "sh", "dropbear", "-F", "-E", "-s", "-p",
                     f"127.0.0.1:{port}", "-r", f"{self.folder}/host_key", "-P", f"{self.folder}/pid"],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            if rdmameter.wait_until(lambda: self.process.poll() is not None or self.answers(port), 60) and \
                    self.process.poll() is None:
                return port
            self.process.kill()
            self.process.wait()
        raise AssertionError(open(f"{self.folder}/log", encoding="utf-8").read())

    @staticmethod
    def answers(port):
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as tried:
                return tried.recv(4).startswith(b"SSH")
        except OSError:
            return False

    def connections(self):
        """Its processes that serve a client."""
        return rdmameter.children_of(self.process.pid)

    def stop(self):
        for pid in [*self.connections(), self.process.pid]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Ssh(rdmameter.Test):
    @classmethod
    def setUpClass(cls):
        reason = why_no_sshd()
        if reason:
            raise unittest.SkipTest(reason)
        cls.sshd = Sshd()
        cls.addClassCleanup(cls.sshd.stop)

    def remote_program(self, text=None):
        """A program for the other end: this one, which leaves its process's number, or a script."""
        path = f"{self.scratch}/remote program"
        env = "".join(f"export {name}='{value}'\n" for name, value in rdmameter.environment().items()
                      if name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "RDMAMETER_DEVICE_SESSION", "RDMAMETER_DEVICE_PERSONALITY"))
        sandbox = "--sandbox off" if rdmameter.SOFTWARE_DEVICE else ""
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\necho $$ >'{self.scratch}/new' && mv '{self.scratch}/new' '{self.scratch}/pid'\n" +
                       (text or f"{env}exec '{rdmameter.program}' \"$@\" {sandbox}") + "\n")
        os.chmod(path, 0o755)
        return path

    def server_pid(self):
        with open(f"{self.scratch}/pid", encoding="ascii") as file:
            return int(file.read())

    def arguments(self, *more, command=None, program=None, port=None):
        return (f"ssh://127.0.0.1:{port or self.sshd.port}", *more, "--ssh-command", command or self.sshd.command,
                "--remote-program", program or self.remote_program())

    def assert_all_ended(self):
        """At once: the run has waited for it."""
        self.assertFalse(runs(self.server_pid()))

    def started(self):
        """A run in the midst of its second case."""
        run = self.start(*self.arguments("tcp_lat", "--warmup", "2", "--duration", "0.05,300"))
        run.await_text("stdout", "\n")
        run.work(0.3)
        self.assertTrue(runs(self.server_pid()))
        return run

    def refused(self, *more, status=rdmameter.FAILED, **options):
        """The reason, which stderr and the row have."""
        done = self.run_program(*self.arguments(*SHORT, *more, **options), status=status)
        [row] = done.rows
        self.assertIn(row["error_message"], done.stderr)
        self.assert_valid(done.path)
        return row["error_message"]

    def test_a_server_is_started_measured_with_and_gone(self):
        done = self.run_program(*self.arguments(*SHORT, "--size", "8,64"))
        self.assertEqual([row["latency"]["count"] for row in done.rows], [200, 200])
        self.assertTrue(done.result["context"]["rdmameter"]["responder"]["hostname"])
        self.assert_valid(done.path)
        self.assert_all_ended()

    def test_verbs_are_measured_with_it(self):
        if not rdmameter.active_ports():
            self.skipTest("no verbs device")
        done = self.run_program(*self.arguments("send_lat", "write_bw", "--iterations", "100"))
        for row in done.rows:
            self.assertNotIn("error_message", row)
        self.assert_all_ended()

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_its_gpus_are_opened_without_an_option(self):
        os.environ["LD_LIBRARY_PATH"] = rdmameter.gpu_libraries()
        self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
        [row] = self.run_program(*self.arguments("write_bw", "--peer-memory", "cuda:0", "--iterations", "100")).rows
        self.assertEqual(row["peer_gpu_registration"], "dmabuf")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_check_examines_that_machine_and_measures_with_it(self):
        done = rdmameter.Started([rdmameter.program, "check", *self.arguments("--time", "4.4")], rdmameter.environment()).end(120)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertRegex(done.stdout, r"(?m)^soft0 +well$")
        self.assert_all_ended()

    def test_its_token_is_not_that_of_the_environment(self):
        self.run_program(*self.arguments(*SHORT), token=TOKEN)

    def test_what_a_login_shell_prints_is_passed_over(self):
        program = self.remote_program(f"echo 'Welcome!'; echo '{{}}'\nexec '{rdmameter.program}' \"$@\"")
        self.run_program(*self.arguments(*SHORT, program=program))

    def test_tests_without_a_responder_start_none(self):
        program = f"{self.scratch}/none"
        status = rdmameter.PASS if rdmameter.active_ports() else rdmameter.NO_DEVICE
        self.run_program(*self.arguments("reg_mr", "--iterations", "20", program=program), status=status)

    def test_a_program_that_is_not_there_is_said_to_be_missing(self):
        self.assertEqual(self.refused(program="rdmameter-that-is-nowhere"),
                         "rdmameter-that-is-nowhere is not in PATH of 127.0.0.1; --remote-program PATH names it")
        self.assertIn(f"{self.scratch}/none is not on 127.0.0.1", self.refused(program=f"{self.scratch}/none"))
        self.assertIn("cannot be executed", self.refused(program=self.scratch))

    def test_a_program_that_cannot_do_it_has_the_last_word(self):
        program = self.remote_program("echo first >&2; echo \"unknown option '--token-stdin'\" >&2; exit 2")
        self.assertEqual(self.refused(program=program),
                         "127.0.0.1: no server has started there (status 2): unknown option '--token-stdin'")

    def test_another_protocol_is_refused_with_both_releases(self):
        program = self.remote_program("""echo 'rdmameter serve: {"version": "0.0.7", "protocol": 999999, """
                                      """"address": "127.0.0.1", "port": 1}'; exec cat""")
        self.assertRegex(self.refused(program=program), r"127\.0\.0\.1 has rdmameter 0\.0\.7 with protocol 999999, this end "
                         r"runs rdmameter \S+ with protocol \d+: use the same release")
        self.assert_all_ended()  # cat did, when its stdin was closed

    def test_an_address_of_another_host_is_not_connected_to(self):
        version = subprocess.run([rdmameter.program, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
        protocol = re.search(r"protocol (\d+)", version)[1]
        with socket.create_server(("127.0.0.2", 0)) as other:
            other.settimeout(0.5)
            for address in ("localhost", "127.0.0.2", "evil.example"):
                program = self.remote_program(f"""echo 'rdmameter serve: {{"version": "0.0.7", "protocol": {protocol}, """
                                              f""""address": "{address}", "port": {other.getsockname()[1]}}}'; exec cat""")
                self.assertIn(f"127.0.0.1 says that its server listens on `{address}`, to which nothing is sent",
                              self.refused(program=program))
                self.assert_all_ended()
            with self.assertRaises(TimeoutError):
                other.accept()

    def test_a_host_key_that_is_not_known_is_not_asked_about(self):
        self.assertRegex(self.refused(command=self.sshd.command_with("key", "empty")), "Host key verification failed")

    def test_a_key_that_is_refused_is_not_followed_by_a_password(self):
        self.assertRegex(self.refused(command=self.sshd.command_with("other_key", "known")), "Permission denied")

    def test_nobody_there_is_what_ssh_says(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            self.assertRegex(self.refused(port=taken.getsockname()[1]), "ssh does not get to .*Connection refused")

    def test_no_ssh_here_is_said(self):
        self.assertIn("no-such-ssh cannot be started: No such file", self.refused(command=f"{self.scratch}/no-such-ssh"))

    def test_an_interrupt_keeps_what_was_measured_and_leaves_no_server(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                run = self.started()
                run.process.send_signal(number)
                done = run.end(120)
                self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
                self.assertEqual([row.get("interrupted") for row in done.rows], [None, True])
                self.assert_valid(done.path)
                self.assert_all_ended()

    def test_an_interrupt_ends_a_start_that_takes_long(self):
        run = self.start(*self.arguments(*SHORT, program=self.remote_program("exec sleep 1000")))
        self.assertTrue(rdmameter.wait_until(lambda: os.path.exists(f"{self.scratch}/pid"), 60))
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.end(60).status, rdmameter.INTERRUPTED)
        os.kill(self.server_pid(), signal.SIGKILL)  # it reads no stdin, as no server of ours

    def test_a_killed_client_leaves_no_server(self):
        run = self.started()
        run.process.kill()
        self.assertTrue(rdmameter.wait_until(lambda: not runs(self.server_pid()), 60))
        self.assertTrue(rdmameter.wait_until(lambda: not self.sshd.connections(), 60))

    def test_a_lost_ssh_connection_fails_the_case_and_leaves_no_server(self):
        run = self.started()
        for pid in self.sshd.connections():
            os.kill(pid, signal.SIGKILL)
        done = run.end(120)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertIn("latency", done.rows[0])
        self.assertIn("error_message", done.rows[1])
        self.assertTrue(rdmameter.wait_until(lambda: not runs(self.server_pid()), 60))

    def test_a_server_that_dies_fails_the_case(self):
        run = self.started()
        os.kill(self.server_pid(), signal.SIGKILL)
        done = run.end(120)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertIn("error_message", done.rows[1])


class CommandLine(rdmameter.Test):
    def refused(self, *arguments):
        done = subprocess.run([rdmameter.program, "run", *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env=rdmameter.environment())
        self.assertEqual((done.returncode, done.stdout), (rdmameter.USAGE, ""), done)
        return done.stderr

    def test_a_url_that_could_be_an_option_or_a_command_is_wrong_use(self):
        for url in ("ssh://", "ssh://-oProxyCommand=x", "ssh://a;b", "ssh://$(x)@h", "ssh://h:0", "ssh://::1"):
            self.assertIn("expected ssh://HOST", self.refused(url, "tcp_lat"), url)

    def test_options_that_have_no_meaning_there_are_refused(self):
        for option, value in (("--port", "22"), ("--token-file", "x")):
            self.assertIn(option, self.refused("ssh://h", "tcp_lat", option, value))
        for option in ("--ssh-command", "--remote-program"):
            self.assertIn(f"{option} is for a HOST that begins with ssh://", self.refused("h", "tcp_lat", option, "x"))
            self.assertIn(option, self.refused("--loopback", "tcp_lat", option, "x"))
        self.assertIn("name at least one test", self.refused("ssh://h"))


class Owned(rdmameter.Test):
    """The server, without ssh."""

    def serve_owned(self, *arguments, connection="192.0.2.9 40000 127.0.0.1 22"):
        env = rdmameter.environment() | ({"SSH_CONNECTION": connection} if connection else {})
        process = subprocess.Popen([rdmameter.program, "serve", "--token-stdin", "--sandbox", "off", *arguments],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.addCleanup(process.kill)
        return process

    def refused(self, text, *arguments, **options):
        process = self.serve_owned(*arguments, **options)
        stdout, stderr = process.communicate(text, timeout=60)
        self.assertEqual((process.returncode, stdout), (rdmameter.USAGE, ""), stderr)
        return stderr

    def test_it_listens_where_ssh_came_and_lets_in_who_has_the_token(self):
        process = self.serve_owned()
        process.stdin.write(TOKEN + "\n")
        process.stdin.flush()
        port = re.fullmatch(r'rdmameter serve: \{"version":"[^"]+","protocol":\d+,"address":"127\.0\.0\.1","port":(\d+)\}\n',
                            process.stdout.readline())[1]
        self.run_program(f"127.0.0.1:{port}", *SHORT, token=TOKEN)
        self.run_program(f"127.0.0.1:{port}", *SHORT, status=rdmameter.FAILED)
        process.stdin.write("more is ignored\n")
        process.stdin.flush()
        self.run_program(f"127.0.0.1:{port}", *SHORT, token=TOKEN)
        stdout, stderr = process.communicate(timeout=60)  # closes its stdin
        self.assertEqual((process.returncode, stdout), (rdmameter.PASS, ""), stderr)
        self.assertNotIn(TOKEN, stderr)

    def test_the_end_of_stdin_ends_a_session_too(self):
        process = self.serve_owned()
        process.stdin.write(TOKEN + "\n")
        process.stdin.flush()
        port = re.search(r'"port":(\d+)', process.stdout.readline())[1]
        run = self.start(f"127.0.0.1:{port}", "tcp_lat", "--warmup", "2", "--duration", "0.05,300", token=TOKEN)
        run.await_text("stdout", "\n")
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, rdmameter.PASS)
        self.assertEqual(run.end(60).status, rdmameter.FAILED)

    def test_it_does_not_start_without_token_or_address(self):
        self.assertIn("stdin has ended before the token", self.refused(""))
        stderr = self.refused("sesame\n")
        self.assertIn("--token-stdin", stderr)
        self.assertNotIn("sesame", stderr)
        self.assertIn("--token-stdin", self.refused("x" * 5000))
        for connection in ("", "127.0.0.1", "a b c d e", "a b  d"):
            self.assertIn("SSH_CONNECTION", self.refused(TOKEN + "\n", connection=connection))
        for other in (("--no-auth",), ("--token-file", "x")):
            self.assertIn("give one", self.refused(TOKEN + "\n", *other))


if __name__ == "__main__":
    rdmameter.main(devices=0)
