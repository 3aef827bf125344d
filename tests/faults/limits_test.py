#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where something runs out. A server's: places, threads, memory of messages, open files, processes. A client's: its disk."""
import contextlib
import json
import os
import re
import resource
import subprocess
import threading
import time

import wire
from wire import rdmameter

SHORT = ("--iterations", "200", "--warmup", "10")
SEND, BANDWIDTH = 0, 2  # of a case on the wire
MIB = 1 << 20


def limit_open_files(soft, hard):
    return ("prlimit", f"--nofile={soft}:{hard}")


class Limits(rdmameter.Test):
    arguments = ()

    def setUp(self):
        super().setUp()
        self.server = self.serve("--no-auth", *self.arguments)
        self.at = f"127.0.0.1:{self.server.port}"

    def peer(self, source=None):
        made = wire.Peer.to(self.server.port, source=source)
        self.addCleanup(made.close)
        return made

    def client(self):
        peer = self.peer()
        self.assertEqual(peer.greet()["type"], "welcome")
        return peer

    def verbs_case(self, **changes):
        """The "prepare" of a send bandwidth. It is held to its limits before any device is looked for."""
        plan = wire.prepared(self, "tcp_lat", *SHORT)
        plan["case"].update({"opcode": SEND, "pattern": BANDWIDTH, "depth": 128, **changes})
        return plan


class Threads(Limits):
    arguments = ("--max-threads", "2")

    def refused(self, kind, reason, **changes):
        client = self.client()
        client.say(self.verbs_case(**changes))
        answer = client.hear()
        self.assertEqual((answer["type"], answer["kind"]), ("failed", kind), answer)
        self.assertRegex(answer["reason"], reason)

    def test_a_case_of_more_threads_than_the_server_gives_is_refused_and_the_text_names_the_options(self):
        self.refused("unsupported", "^256 threads, while the server gives its clients 2: .*--threads.*--max-threads",
                     threads=256)
        self.refused("unsupported", "^4 threads, .*--bidirectional takes twice as many", threads=2, bidirectional=1)

    def test_threads_that_other_clients_hold_are_given_back(self):
        run = self.start(self.at, "tcp_lat", "--duration", "60")
        self.server.await_log("tcp_send latency")
        self.refused("failed", "^2 threads beside the 1 of other clients, while the server gives 2 in all", threads=2)
        run.process.kill()
        self.server.await_log("dropped: ")
        client = self.client()
        client.say(self.verbs_case(threads=2))
        self.assertNotRegex(client.hear().get("reason", ""), "of other clients")

    def test_the_option_takes_a_number_of_threads(self):
        for text in ("0", "x", "1025"):
            done = rdmameter.Started([rdmameter.program, "serve", "--max-threads", text], rdmameter.environment()).end(30)
            self.assertEqual(done.status, rdmameter.USAGE, done)
            self.assertRegex(done.stderr, "--max-threads.*1.*1024")


class Messages(Limits):
    def test_one_of_many_small_values_takes_no_multiple_of_its_length(self):
        for element in (b"{}", b"[]", b'""', b'{"":0}'):
            client = self.client()
            count = (MIB - 100) // (len(element) + 1)
            client.say(b'{"type":"prepare","case":[' + b",".join([element] * count) + b"]}")
            self.assertIsNone(client.hear())
            self.server.await_log("has so many values that they would take more than 8 MiB")
        self.run_program(self.at, "tcp_lat", *SHORT)


# Behind a hundred silent ones it would wait for a hundred sixteenths of PROOF_TIMEOUT, 12 s.
AT_ONCE = 5  # [s], on a busy machine


class Strangers(Limits):
    def test_those_of_one_address_keep_nobody_of_another_waiting(self):
        stop = threading.Event()

        def keep_speaking():
            while not stop.is_set():
                try:
                    peer = wire.Peer.to(self.server.port, source="127.0.0.2")
                    peer.hello()
                    peer.seconds_to_close()
                    peer.close()
                except (OSError, TypeError):  # hung up on before it was heard
                    pass
        threads = [threading.Thread(target=keep_speaking, daemon=True) for _ in range(100)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        for _ in range(5):
            began = rdmameter.fair_time()
            self.run_program(self.at, "tcp_lat", *SHORT)
            self.assertLess(rdmameter.fair_time() - began, AT_ONCE)
        stop.set()
        for thread in threads:
            thread.join(60)

    def test_a_hundred_silent_ones_from_one_address_take_no_place_from_another(self):
        flood = [self.peer("127.0.0.2") for _ in range(100)]
        began = rdmameter.fair_time()
        self.run_program(self.at, "tcp_lat", *SHORT)
        self.assertLess(rdmameter.fair_time() - began, AT_ONCE)
        self.assertLessEqual(len(os.listdir(f"/proc/{self.server.pid}/task")), 16 + 8)
        for peer in flood:
            peer.close()


class OpenFiles(rdmameter.Test):
    def test_a_limit_too_low_for_the_clients_ends_the_server_at_its_start_and_the_text_says_what_fits(self):
        for limit, clients, pattern in (
                (64, "64", r"--max-clients 64 takes \d+ open files, and this process may open 64: .*ulimit -n \d+`\)$"),
                (400, "1000", r"--max-clients 1000 takes \d+ open files, .*may open 400: .*, or use --max-clients \d+$")):
            done = rdmameter.Started([*limit_open_files(limit, limit), rdmameter.program, "serve", "--port", "0",
                                      "--max-clients", clients], rdmameter.environment()).end(30)
            self.assertEqual(done.status, rdmameter.USAGE, done)
            self.assertRegex(done.stderr.strip(), pattern)

    def test_what_the_text_names_is_enough_and_a_soft_limit_is_raised(self):
        done = rdmameter.Started([*limit_open_files(64, 64), rdmameter.program, "serve", "--max-clients", "14"],
                                 rdmameter.environment()).end(30)
        needed = int(done.stderr.rpartition("ulimit -n ")[2].partition("`")[0])
        server = self.serve("--no-auth", "--max-clients", "14", prefix=limit_open_files(64, needed))
        peers = []
        for _ in range(14):
            peers.append(wire.Peer.to(server.port))
            self.assertEqual(peers[-1].greet()["type"], "welcome")
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        self.assertEqual((soft, hard), (needed, needed))
        for peer in peers:
            peer.close()


    def test_a_server_that_has_none_left_for_a_connection_says_so_and_goes_on(self):
        server = self.serve()
        used = len(os.listdir(f"/proc/{server.pid}/fd"))
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used, hard))
        peer = wire.Peer.to(server.port)
        self.addCleanup(peer.close)
        self.assertTrue(rdmameter.wait_until(lambda: "cannot be accepted: Too many open files. Raise the limit" in server.log), server.log)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(peer.greet()["type"], "welcome")
        self.assertEqual(server.log.count("cannot be accepted"), 1, server.log)

    def test_a_client_for_whom_none_comes_free_is_told_why(self):
        if rdmameter.is_sanitized():
            self.skipTest("the check of vptr looks at memory by a pipe, for which there are no descriptors")
        server = self.serve()
        used = len(os.listdir(f"/proc/{server.pid}/fd"))
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        for _ in range(2):  # the descriptor that is spared for it is there again
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used, hard))
            refused = self.run_program(f"127.0.0.1:{server.port}", "tcp_lat", *SHORT, status=rdmameter.FAILED)
            self.assertRegex(refused.stderr, r"the server cannot take another client: Too many open files\. Raise its limit")
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (soft, hard))
            self.run_program(f"127.0.0.1:{server.port}", "tcp_lat", *SHORT)
        self.assertEqual(server.log.count("refused: Too many open files"), 2, server.log)


    def test_wherever_they_run_out_both_ends_name_them(self):
        if rdmameter.is_sanitized():
            self.skipTest("the check of vptr looks at memory by a pipe, for which there are no descriptors")
        server = self.serve()
        used = len(os.listdir(f"/proc/{server.pid}/fd"))
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        for more in range(1, 30):  # with none at all: above
            with self.subTest(f"the server has {more}"):
                resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used + more, hard))
                before = len(server.log)
                done = self.start(f"127.0.0.1:{server.port}", "tcp_lat", *SHORT).end(60)
                if done.status == rdmameter.PASS:
                    break
                self.assertIn("Too many open files", done.stderr)
                self.assertTrue(rdmameter.wait_until(lambda start=before: "Too many open files" in server.log[start:]), server.log[before:])
        self.assertEqual(done.status, rdmameter.PASS)
        for limit in range(4, 40):
            with self.subTest(f"both ends have {limit}"):
                done = subprocess.run([*limit_open_files(limit, limit), rdmameter.program, "run", "--loopback", "tcp_lat", *SHORT],
                                      capture_output=True, text=True, timeout=60, check=False, env=rdmameter.environment())
                if done.returncode == rdmameter.PASS:
                    break
                self.assertIn("Too many open files", done.stderr)
        self.assertEqual(done.returncode, rdmameter.PASS)


class Processes(rdmameter.Test):
    """A server of a user who may have few processes. The limit is on all of a user's, and root has none."""
    USER = "54321"  # nobody's: it has no other processes
    TOLD = (r"(a thread cannot be created|cannot start a process for this session)[^\n]*: Resource temporarily unavailable\. "
            r"Raise the limit on processes \(`ulimit -u`, TasksMax")

    def setUp(self):
        super().setUp()
        self.user = ("setpriv", f"--reuid={self.USER}", "--clear-groups", "--")
        if os.geteuid() != 0:
            self.skipTest("only root can be somebody else")
        if subprocess.run([*self.user, rdmameter.program, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"user {self.USER} cannot run {rdmameter.program}")

    def served_with(self, processes):
        """Which processes and threads it takes to serve a client; what there is of its error, and of the server's log."""
        prefix = (*self.user, "prlimit", f"--nproc={processes}")
        # A sanitized program looks for leaks from one more process.
        env = {**rdmameter.environment(), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        started = rdmameter.Started([*prefix, rdmameter.program, "serve", "--no-auth", "--port", "0"], env)
        self.addCleanup(started.end, 0)
        if not rdmameter.wait_until(lambda: "listening" in started.stderr or started.process.poll() is not None):
            raise AssertionError(started.end(0))
        if "listening" not in started.stderr:
            done = started.end(5)
            self.assertEqual(done.status, rdmameter.FAILED, done)
            return done.stderr
        port = re.search(r"listening on \S+:(\d+);", started.stderr)[1]
        client = self.start(f"127.0.0.1:{port}", "tcp_lat", *SHORT).end(60)
        started.process.terminate()
        server = started.end(10)
        self.assertEqual(server.status, rdmameter.PASS, server)
        if client.status == rdmameter.PASS:
            return ""
        self.assertEqual(client.status, rdmameter.FAILED, client)
        self.assert_valid(client.path)
        self.assertRegex(" ".join(client.stderr.split()), self.TOLD)
        return server.stderr.partition("\n")[2]

    def test_too_few_of_them_are_named_with_the_remedy_wherever_they_run_out_and_the_server_goes_on(self):
        causes = set()
        for processes in range(1, 12):
            with self.subTest(f"{processes} of them"):
                told = self.served_with(processes)
                if not told:
                    break
                self.assertRegex(told, self.TOLD)
                causes.add("thread" if "a thread" in told else "process")
        self.assertEqual((told, causes), ("", {"thread", "process"}))


class Disk(rdmameter.Test):
    def full_disk(self, *command):
        """Runs a command in a folder that takes 32 KiB; returns it, and the file `result.json` that it left there."""
        kept = f"{self.scratch}/kept.json"
        script = ('mkdir "$0/small" && mount -t tmpfs -o size=32k none "$0/small" && cd "$0/small" || exit 77; "$@"; '
                  'status=$?; cp result.json "$0/kept.json"; ls -A >&2; exit $status')
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, self.scratch, *command],
                              capture_output=True, text=True, timeout=120, check=False, env=rdmameter.environment())
        if done.returncode in (1, 77):
            self.skipTest(f"no small disk can be made: {done.stderr}")
        return done, kept

    def test_a_full_disk_under_the_result_ends_the_run_with_status_99_and_keeps_the_rows_that_fit(self):
        done, kept = self.full_disk(rdmameter.program, "run", "--loopback", "tcp_lat", *SHORT, "--benchmark_repetitions=50",
                                    "-o", "result.json")
        self.assertEqual(done.returncode, rdmameter.FAILED, done)
        rows = re.search(r"result\.json: appending a row failed: No space left on device\. (\d+) rows before it are safe",
                         done.stderr)[1]
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["benchmarks"]), int(rows))
        self.assertTrue(0 < int(rows) < 50)
        self.assertEqual(len(done.stdout.splitlines()), int(rows) + 1, done)  # what found no room is shown
        self.assert_valid(kept)
        self.assertEqual(done.stderr.splitlines()[-1], "result.json")  # and no file of another name

    def test_a_result_for_which_there_is_no_room_at_all_is_an_error(self):
        path = self.run_program("--loopback", "tcp_lat", *SHORT).path
        for command in (("run", "--loopback", "tcp_lat", *SHORT), ("report", path)):
            done = rdmameter.Started([rdmameter.program, *command, "-o", "/dev/full"], rdmameter.environment()).end(60)
            self.assertEqual(done.status, rdmameter.FAILED, done)
            self.assertRegex(done.stderr, "/dev/full: .*No space left on device")

    def test_a_full_disk_under_what_is_shown_is_an_error(self):
        path = self.output()
        for command in (("run", "--loopback", "tcp_lat", *SHORT, "-o", path), ("show", path)):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([rdmameter.program, *command], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
            self.assertEqual(done.returncode, rdmameter.FAILED, done)
            self.assertIn("stdout cannot be written", done.stderr)
        self.assert_valid(path)


if __name__ == "__main__":
    rdmameter.main(devices=0)
