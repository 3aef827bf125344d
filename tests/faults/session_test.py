#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each client is served by a process of its own: what becomes of one touches nobody else."""
import contextlib
import ctypes
import fcntl
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import wire
from wire import frame, rdmameter

SHORT = ("--iterations", "200", "--warmup", "10")
LONG = ("tcp_lat", "--duration", "60", "--wait", "yield")
TOKEN = "a-token-of-more-than-16-characters"
PIDFD_GETFD = 438  # the system call, which Python lacks
# Runs a command as on a kernel without Landlock: landlock_create_ruleset(2) is refused with ENOSYS, by a filter of seccomp.
NO_LANDLOCK = (sys.executable, "-c", """
import ctypes, os, struct, sys
LOAD_CALL, IF_EQUAL, RETURN, ALLOW, REFUSE, NO_NEW_PRIVS, SECCOMP, FILTER = 0x20, 0x15, 0x06, 0x7FFF0000, 0x50000, 38, 22, 2
rules = b"".join(struct.pack("HBBI", *each) for each in ((LOAD_CALL, 0, 0, 0), (IF_EQUAL, 0, 1, 444), (RETURN, 0, 0, REFUSE | 38), (RETURN, 0, 0, ALLOW)))
held = ctypes.create_string_buffer(rules)
program = ctypes.create_string_buffer(struct.pack("HP", len(rules) // 8, ctypes.addressof(held)))
call = ctypes.CDLL(None).prctl
if call(NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or call(SECCOMP, FILTER, program) != 0:
    sys.exit("no filter of system calls can be set here")
os.execvp(sys.argv[1], sys.argv[1:])
""")
SERVER_DESCRIPTOR = 4  # of a session (core/server/session_pipe.h)
# A sanitized session that crashes is ended by its signal, as any other.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0:handle_abort=0"


class Sessions(rdmameter.Test):
    arguments = ()

    def setUp(self):
        super().setUp()
        self.server = self.serve(*self.arguments)
        self.at = f"127.0.0.1:{self.server.port}"

    def measuring(self):
        """A run against the server, and the process of its session, the only one, once it measures."""
        self.assert_no_session()
        so_far = len(self.server.log)
        run = self.start(self.at, *LONG)
        self.server.await_log("tcp_send latency", so_far)
        run.work(0.1)  # the line is written before the two are connected
        [pid] = self.server.sessions()
        return run, pid

    def assert_no_session(self, seconds=5):
        self.assertTrue(rdmameter.wait_until(lambda: not self.server.sessions(), seconds), self.server.log)

    def crash(self, number):
        run, pid = self.measuring()
        os.kill(pid, number)
        done = run.end(20)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.rows[-1]["error_message"], "closed the connection|broke|was lost")
        self.assert_valid(done.path)
        return done


class OneDies(Sessions):
    def test_a_crash_is_one_line_of_the_log_and_one_client_s_error_row(self):
        for number, name in ((signal.SIGSEGV, "SEGV"), (signal.SIGABRT, "ABRT"), (signal.SIGKILL, "KILL")):
            with self.subTest(name):
                server = self.server
                so_far = len(server.log)
                self.crash(number)
                server.await_log(rf"its session was ended by signal {number:d} \(SIG{name}\)\n", so_far)
                self.assertEqual(server.log[so_far:].count("\n"), 3, server.log)  # connected, the case, this
                self.assert_no_session()
                self.server.stop()
                self.server = self.serve("--port", server.port)

    def test_its_signal_is_told_by_a_server_whose_parent_ignores_its_children(self):
        self.server = self.serve(prefix=("env", "--ignore-signal=CHLD"))
        self.at = f"127.0.0.1:{self.server.port}"
        self.crash(signal.SIGSEGV)
        self.server.await_log(r"its session was ended by signal 11 \(SIGSEGV\)\n")

    def test_the_others_go_on(self):
        run, pid = self.measuring()
        other = self.start(self.at, "tcp_lat", "--duration", "2", "--wait", "yield")
        self.assertTrue(rdmameter.wait_until(lambda: len(self.server.sessions()) == 2))
        os.kill(pid, signal.SIGSEGV)
        self.assertEqual(other.end(60).status, rdmameter.PASS)
        self.assertEqual(run.end(20).status, rdmameter.FAILED)
        self.assert_no_session()

    def test_it_leaves_nothing_behind(self):
        self.crash(signal.SIGSEGV)
        self.assert_nothing_left()


class ChildStderr(Sessions):
    KEPT, CAPACITY = 4096, 1 << 16

    def crash_saying(self, *said):
        """What the log says of a session that wrote this to its stderr and crashed."""
        so_far = len(self.server.log)
        run, pid = self.measuring()
        stderr = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
        for text in said:
            with contextlib.suppress(BlockingIOError):  # there is no room
                os.write(stderr, text)
        os.close(stderr)
        os.kill(pid, signal.SIGABRT)
        self.assertEqual(run.end(20).status, rdmameter.FAILED)
        self.server.await_log("ended by signal 6", so_far)
        return self.server.log[so_far:]

    def test_what_a_session_said_on_stderr_before_it_crashed_is_in_the_log_encoded(self):
        log = self.crash_saying(b"terminate called\n\n", b"what(): \x1b[2J\xff no newline")
        self.assertRegex(log, r"127\.0\.0\.1:\d+: its session's stderr: terminate called\n")
        self.assertRegex(log, r": its session's stderr: what\(\): \\x1b\[2J\\xff no newline\n[^\n]*ended by signal 6 \(SIGABRT\)\n")
        self.assertEqual(log.count("its session's stderr"), 2)

    def test_of_much_the_last_is_kept_and_nobody_waits(self):
        log = self.crash_saying(b"x" * 2 * self.CAPACITY, b"y" * 2 * self.CAPACITY)
        self.assertRegex(log, r"its session's stderr: x{900,1024} \[cut, ")
        self.assertNotIn("yy", log.rpartition("its session's stderr")[2].partition("\n")[0])
        self.assertIn("ended by signal 6", log)
        self.run_program(self.at, "tcp_lat", *SHORT)

    def test_a_thousand_lines_hide_not_how_it_ended(self):
        self.assertIn("ended by signal 6", self.crash_saying(b"more\n" * 1000))

    def test_of_one_that_ends_well_it_is_not(self):
        run = self.start(self.at, "tcp_lat", "--duration", "1", "--wait", "yield")
        self.server.await_log("tcp_send latency")
        with open(f"/proc/{self.server.sessions()[0]}/fd/2", "wb", buffering=0) as stderr:
            stderr.write(b"a warning\n")
        self.assertEqual(run.end(30).status, rdmameter.PASS)
        self.server.await_log(": gone")
        self.assert_no_session()
        self.assertNotIn("a warning", self.server.log)


class OneThread(Sessions):
    arguments = ("--max-threads", "1")

    def test_what_a_crashed_session_held_is_given_back(self):
        self.crash(signal.SIGSEGV)
        self.server.await_log("ended by signal")
        self.run_program(self.at, "tcp_lat", *SHORT)


class Sharing(Sessions):
    def test_cases_at_the_same_time_say_so_and_others_do_not(self):
        runs = [self.start(self.at, "tcp_lat", "--duration", "2", "--wait", "yield") for _ in range(2)]
        for run in runs:
            self.assertIs(run.end(60).rows[0].get("shared_responder"), True)
        self.assertNotIn("shared_responder", self.run_program(self.at, "tcp_lat", *SHORT).rows[0])

    def test_sixty_four_clients_at_once_are_served_by_as_many_processes(self):
        with contextlib.ExitStack() as clients:
            for _ in range(63):
                clients.enter_context(contextlib.closing(wire.Peer.to(self.server.port))).greet()
            self.assertEqual(len(set(self.server.sessions())), 63)
            self.run_program(self.at, "tcp_lat", *SHORT)
        self.assert_no_session(60)


class End(Sessions):
    def test_sigterm_ends_a_server_whose_sessions_do_not_end_within_a_second(self):
        run, pid = self.measuring()
        os.kill(pid, signal.SIGSTOP)
        asked = rdmameter.fair_time()
        done = self.server.stop()
        self.assertLess(rdmameter.fair_time() - asked, rdmameter.SLOW)
        self.assertEqual(done.status, rdmameter.PASS)
        self.assertRegex(done.stderr, "its session is killed: it did not end within 500 ms")
        self.assertTrue(rdmameter.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 5))
        self.assertEqual(run.end(30).status, rdmameter.FAILED)
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", int(self.server.port)), 1)

    @contextlib.contextmanager
    def in_the_stead_of_a_session(self):
        """A session's connection to its server, while it is stopped: it says what a session would that was taken over."""
        _, pid = self.measuring()
        os.kill(pid, signal.SIGSTOP)
        process = os.pidfd_open(pid)
        try:
            number = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, process, SERVER_DESCRIPTOR, 0)
            if number < 0:
                self.skipTest(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            with socket.socket(fileno=number) as connection:
                yield connection
        finally:
            os.close(process)

    def assert_ends_in_time(self):
        asked = rdmameter.fair_time()
        done = self.server.stop()
        self.assertLess(rdmameter.fair_time() - asked, rdmameter.SLOW)
        self.assertEqual(done.status, rdmameter.PASS)
        self.assertIn("its session is killed: ", done.stderr)

    def test_a_session_that_stops_within_a_message_keeps_no_server_from_ending(self):
        with self.in_the_stead_of_a_session() as connection:
            connection.send(frame({})[:1])
            self.assert_ends_in_time()

    def test_a_session_that_takes_no_answers_keeps_no_server_from_ending(self):
        with self.in_the_stead_of_a_session() as connection:
            while select.select([], [connection], [], 0.5)[1]:
                connection.send(frame({"type": "is_shared"}))
            self.assert_ends_in_time()

    def test_a_session_that_never_stops_talking_keeps_no_server_from_ending(self):
        def talk(connection):
            with contextlib.suppress(OSError):  # the server has gone
                while True:
                    connection.sendall(frame({"type": "log", "text": "more"}))
        with self.in_the_stead_of_a_session() as connection:
            connection.setblocking(True)
            talker = threading.Thread(target=talk, args=(connection,))
            talker.start()
            try:
                self.assert_ends_in_time()
            finally:
                self.server.stop(signal.SIGKILL)
                talker.join(30)

    def test_a_server_that_is_killed_takes_its_sessions_with_it(self):
        run, pid = self.measuring()
        self.server.stop(signal.SIGKILL)
        self.assertTrue(rdmameter.wait_until(lambda: not rdmameter.threads_of(pid), 5))
        self.assertEqual(run.end(30).status, rdmameter.FAILED)


class Name(Sessions):
    def test_ps_and_the_kernel_s_log_call_a_session_by_the_program_s_name(self):
        run, pid = self.measuring()
        for thread in rdmameter.threads_of(pid):
            with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as file:
                self.assertEqual(file.read(), "rdmameter\n")
        run.process.kill()


class Secrets(rdmameter.Test):
    def test_a_session_has_neither_the_token_nor_the_server_s_socket(self):
        server = self.serve(token=TOKEN)
        run = self.start(f"127.0.0.1:{server.port}", *LONG, token=TOKEN)
        server.await_log("tcp_send latency")
        [pid] = server.sessions()
        for process in (pid, server.pid):
            for name in ("environ", "cmdline"):
                with open(f"/proc/{process}/{name}", "rb") as file:
                    self.assertNotIn(TOKEN.encode(), file.read())
        self.assertNotIn(TOKEN.encode(), self.memory_of(pid))
        listening = self.listening_inode(server.port)
        held = [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
        self.assertNotIn(f"socket:[{listening}]", held)
        streams = [os.readlink(f"/proc/{pid}/fd/{stream}") for stream in (0, 1, 2)]
        self.assertEqual(streams[:2], ["/dev/null"] * 2)
        self.assertNotEqual(streams[2], os.readlink(f"/proc/{server.pid}/fd/2"))  # a pipe of its own
        self.assertRegex(streams[2], "^pipe:")
        run.process.kill()

    def test_a_session_has_only_those_variables_that_libraries_and_the_program_read(self):
        given = {"RDMAV_FORK_SAFE": "1", "MLX5_SINGLE_THREADED": "0", "RDMAMETER_OF_TEST": "x", "LC_ALL": "C"}
        server = self.serve(prefix=("env", "MYSECRET=hunter2", "AWS_SECRET_ACCESS_KEY=x",
                                    *(f"{name}={value}" for name, value in given.items())))
        run = self.start(f"127.0.0.1:{server.port}", *LONG)
        server.await_log("tcp_send latency")
        [pid] = server.sessions()
        with open(f"/proc/{pid}/environ", "rb") as file:
            has = dict(entry.decode().split("=", 1) for entry in file.read().split(b"\0") if entry)
        self.assertEqual({name: has.get(name) for name in given}, given)
        for name in ("MYSECRET", "AWS_SECRET_ACCESS_KEY", "PATH", "HOME", "XDG_RUNTIME_DIR", "RDMAMETER_TOKEN"):
            self.assertNotIn(name, has)
        run.process.kill()

    def test_cuda_keeps_no_cache_of_programs_in_a_session_that_may_open_gpus(self):
        for options in (), ("--gpu",):
            server = self.serve(*options)
            run = self.start(f"127.0.0.1:{server.port}", *LONG)
            server.await_log("tcp_send latency")
            [pid] = server.sessions()
            self.assertEqual(b"CUDA_CACHE_DISABLE=1" in self.memory_of(pid), "--gpu" in options)
            run.process.kill()

    @staticmethod
    def memory_of(pid):
        """What it can write: heap, stacks, data."""
        found = []
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                begin, end, writable = re.match(r"([0-9a-f]+)-([0-9a-f]+) r(w|-)", line).groups() if " r" in line else (0, 0, "-")
                if writable == "w" and "[v" not in line and int(end, 16) - int(begin, 16) < 64 << 20:
                    memory.seek(int(begin, 16))
                    try:
                        found.append(memory.read(int(end, 16) - int(begin, 16)))
                    except OSError:  # not all that is mapped is there
                        pass
        return b"".join(found)

    @staticmethod
    def listening_inode(port):
        with open("/proc/net/tcp", encoding="ascii") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if int(fields[1].rpartition(":")[2], 16) == int(port) and fields[3] == "0A":
                    return fields[9]
        raise AssertionError("nobody listens there")


class Sandbox(rdmameter.Test):
    def limits_of(self, *arguments):
        server = self.serve(*arguments)
        run = self.start(f"127.0.0.1:{server.port}", *LONG)
        server.await_log("tcp_send latency")
        [pid] = server.sessions()
        with open(f"/proc/{pid}/limits", encoding="ascii") as file:
            limits = dict(re.findall(r"^(Max (?:file size|core file size)) +(\w+)", file.read(), re.M))
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            status = file.read()
        limits["no_new_privs"] = re.search(r"NoNewPrivs:\s*(\d)", status)[1]
        lock_memory = 1 << 14
        limits["capabilities"] = any(int(mask, 16) & ~lock_memory for mask in re.findall(r"Cap(?:Inh|Prm|Eff|Amb):\s*(\w+)", status))
        run.process.kill()
        server.stop()
        return limits

    def test_a_session_writes_no_file_dumps_no_core_and_gains_no_privileges(self):
        self.assertEqual(self.limits_of(), {"Max file size": "0", "Max core file size": "0", "no_new_privs": "1", "capabilities": False})
        self.assertNotEqual(self.limits_of("--sandbox-allow", self.scratch)["Max file size"], "0")
        off = self.limits_of("--sandbox", "off")
        self.assertEqual((off["no_new_privs"], off["capabilities"]), ("0", os.geteuid() == 0))

    def test_calls_that_no_session_needs_are_refused_within_it(self):
        self.assert_calls_refused("tcp_lat")

    def test_every_test_over_tcp_is_measured_in_it(self):
        server = self.serve()
        self.run_program(f"127.0.0.1:{server.port}", "tcp_lat", "tcp_bw", "--verify", *SHORT)

    def test_a_server_whose_kernel_cannot_shut_a_session_in_says_so(self):
        create_ruleset, ask_version, least = 444, 1, 2
        landlock = ctypes.CDLL(None).syscall(create_ruleset, None, 0, ask_version) >= least
        server = self.serve("--sandbox", "on")
        server.stop()
        self.assertEqual("this kernel has no Landlock" in server.log, not landlock)

    def test_a_server_that_needs_landlock_does_not_start_without(self):
        done = rdmameter.Started([*NO_LANDLOCK, rdmameter.program, "serve", "--port", "0", "--sandbox", "required"], rdmameter.environment()).end(30)
        self.assertEqual(done.status, rdmameter.USAGE, done)
        self.assertIn("--sandbox required: this kernel has no Landlock of ABI 2", " ".join(done.stderr.split()))
        server = self.serve("--sandbox", "on", prefix=NO_LANDLOCK)
        self.run_program(f"127.0.0.1:{server.port}", "tcp_lat", *SHORT)
        self.assertIn("this kernel has no Landlock", server.log)

    def test_options_that_make_no_sense_are_refused(self):
        for arguments, pattern in ((("--sandbox", "maybe"), "invalid value 'maybe' for --sandbox: expected off, on, required"),
                                   (("--sandbox-allow", "/no/such"), "invalid value '/no/such' for --sandbox-allow"),
                                   (("--sandbox", "off", "--sandbox-allow", "/tmp"), "--sandbox off and --sandbox-allow")):
            done = rdmameter.Started([rdmameter.program, "serve", "--port", "0", *arguments], rdmameter.environment()).end(30)
            self.assertEqual(done.status, rdmameter.USAGE, done)
            self.assertRegex(done.stderr, pattern)


class ByHand(rdmameter.Test):
    def session_of(self, server, client_goes=True):
        """What a session's process says to its client, which is told that its server is this process; None: nothing. Its status,
        once the server, and the client unless it stays, have closed their connections."""
        (client, its_client), (pipe, its_pipe) = socket.socketpair(), socket.socketpair()
        with client, its_client, pipe, its_pipe:
            far = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (its_client, its_pipe)]
            pid = os.posix_spawn(rdmameter.program, [rdmameter.program, "session"], rdmameter.environment(),
                                 file_actions=[(os.POSIX_SPAWN_DUP2, far[0], SERVER_DESCRIPTOR - 1),
                                               (os.POSIX_SPAWN_DUP2, far[1], SERVER_DESCRIPTOR),
                                               *((os.POSIX_SPAWN_CLOSE, each) for each in far)])
            for each in far:
                os.close(each)
            its_client.close()
            its_pipe.close()
            clock = {"kind": 1, "multiplier": 1, "ticks_per_ns": 1.0, "error_ppm": 0.0, "read_ns": 1.0, "reason": ""}
            pipe.sendall(frame({"type": "session", "peer": "a test", "initiator_version": "0.1.0", "welcome_proof": "", "seal": None,
                                "clock": clock, "sandbox": 0, "sandbox_allowed": [], "own": None, "gpus": False, "shown": False, "server": server}))
            heard = wire.Peer(client).hear()
            if client_goes:
                client.shutdown(socket.SHUT_RDWR)
            pipe.shutdown(socket.SHUT_RDWR)
            return heard, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_a_session_whose_server_was_killed_before_it_could_know_serves_nobody(self):
        heard, _ = self.session_of(os.getpid())
        self.assertEqual(heard["type"], "welcome")
        self.assertEqual(self.session_of(os.getppid()), (None, rdmameter.FAILED))

    def test_a_session_whose_server_has_gone_ends_between_cases_too(self):
        began = rdmameter.fair_time()
        heard, status = self.session_of(os.getpid(), client_goes=False)
        self.assertEqual((heard["type"], status), ("welcome", 1))
        self.assertLess(rdmameter.fair_time() - began, rdmameter.SLOW)

    def test_nobody_starts_a_session_s_process_but_a_server(self):
        done = subprocess.run([rdmameter.program, "session"], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, rdmameter.USAGE, done)
        self.assertIn("'rdmameter serve' starts this", done.stderr)
        told = subprocess.run([rdmameter.program, "--help"], capture_output=True, text=True, timeout=30, check=True).stdout
        self.assertNotRegex(told, r"(?m)^ +session ")


if __name__ == "__main__":
    rdmameter.main(devices=0)
