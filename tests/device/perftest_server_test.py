#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""perftest's servers: what they say, to whom, and how they end; clients that speak the session's messages, or none."""
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import rdmameter

sys.path.insert(0, os.path.join(rdmameter.HERE, "..", "faults"))
import wire  # pylint: disable=wrong-import-position

# What a client tells of a row: 1000 messages of 64 KiB in 1 ms.
ROW = {"name": "write_bw", "family_index": 0, "run_name": "write_bw", "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
       "iterations": 1000, "real_time": 1000, "cpu_time": 900, "time_unit": "ns", "case": {"size_bytes": 65536},
       "bandwidth": {"messages": 1000, "bytes": 65536000, "window_ns": 1000000, "counted_by": "initiator", "traffic_messages": 1000,
                     "traffic_ns": 1000000, "peak": {"messages": 100, "bytes": 6553600, "window_ns": 90000}}}
FAILED = 1  # perftest's only status but 0
NOTES = {"RDMAMETER_NOTES": "1"}


def environment(**more):
    return rdmameter.environment() | more


def perftest(*arguments, **more):
    """A server that is to end by itself, at once."""
    return subprocess.run([rdmameter.program, "perftest", *arguments], capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, env=environment(**more))


def first_row_by_header(stdout):
    """By the words of the header line: the row below it, as numbers by column."""
    lines = stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "#bytes" in line and "#iterations" in line)
    names = re.split(r"\s{2,}", lines[at].replace(" #iterations", "  #iterations").strip())
    return dict(zip(names, (float(text) for text in lines[at + 1].split())))


class Server:
    """`rdmameter perftest ib_write_bw`, and what it says."""

    def __init__(self, *arguments, port=None, **more):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = port or free.getsockname()[1]
        self.process = subprocess.Popen([rdmameter.program, "perftest", *arguments, "-p", str(self.port)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment(**more))
        self.said, self.changed = {"stdout": "", "stderr": ""}, threading.Condition()
        self.readers = [threading.Thread(target=self.read, args=(name,)) for name in self.said]
        for reader in self.readers:
            reader.start()
        self.await_text("stdout", "Waiting for client to connect")

    def read(self, name):
        for line in getattr(self.process, name):
            with self.changed:
                self.said[name] += line
                self.changed.notify_all()

    @property
    def stderr(self):
        return self.said["stderr"]

    def await_text(self, name, text):
        deadline = time.monotonic() + 20
        with self.changed:
            while text not in self.said[name]:
                assert self.changed.wait(deadline - time.monotonic()), self.said

    def await_stderr(self, text):
        self.await_text("stderr", text)

    def end(self):
        """Its status and stdout; it must end by itself."""
        status = self.process.wait(30)
        for reader in self.readers:
            reader.join()
        return status, self.said["stdout"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


def client(port):
    """Welcomed as a client without a token, which wants to know of no device."""
    peer = wire.Peer.to(port)
    peer.hello()
    peer.say({"type": "proof", "proof": ""})
    welcome = peer.hear()
    assert welcome["type"] == "welcome", welcome
    peer.say({"type": "describe"})
    assert peer.hear()["type"] == "environment"
    return peer


def has_left(port):
    """Is nobody listening there any more?"""
    return not listening("tcp", port) and not listening("tcp6", port)


def leave(peer):
    """As a client that has measured."""
    peer.say({"type": "row", "row": ROW})
    peer.say({"type": "bye"})


def listening(table, port):
    """The addresses at which somebody listens on the port, as /proc/net/TABLE has them. That is read in parts, between which
    sockets come and go, so one may be in it twice."""
    lines = pathlib.Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]
    sockets = {words[9]: words[1:4] for words in map(str.split, lines)}  # by their inodes
    return [local.split(":")[0] for local, _, state in sockets.values() if state == "0A" and int(local.split(":")[1], 16) == port]


@rdmameter.on(rdmameter.SOFTWARE)
class OfAGpu(rdmameter.Test):
    """With a library in the place of CUDA's."""

    def setUp(self):
        super().setUp()
        self.env = {"RDMAMETER_SANDBOX": "off", "LD_LIBRARY_PATH": rdmameter.gpu_libraries()}

    def client(self, server, *arguments, program=("perftest", "ib_write_bw")):
        return subprocess.run([rdmameter.program, *program, *arguments], capture_output=True, text=True, timeout=60, check=False,
                              env=environment(**self.env))

    def test_opens_the_gpu_that_its_own_command_line_names_and_no_other(self):
        for options, line in ((("--use_cuda=0",), r"initializing CUDA\nallocated GPU buffer of a \d+ address at 0x"),
                              (("--use_cuda_bus_id=0000:27:00.0", "--use_cuda_dmabuf"), "initializing CUDA"),
                              (("--use_rocm=1", "--use_rocm_dmabuf"), r"allocated \d+ bytes of GPU buffer at 0x")):
            for own in ((), ("--use_cuda=1",), ("-b",), ("-b", "--use_rocm=0")):
                with Server("ib_write_bw", *options, **self.env) as server:
                    done = self.client(server, "localhost", "-p", str(server.port), "-n", "100", "--data_validation", *own)
                    self.assertEqual(done.returncode, 0, done)
                    status, stdout = server.end()
                self.assertEqual(status, 0)
                self.assertRegex(stdout, line)
                self.assertEqual("GPU buffer" in done.stdout, any("use" in option for option in own))
        for options, asked in ((("--use_cuda=0",), "cuda:1"), (("--use_cuda=0",), "host"), ((), "cuda:0")):
            with Server("ib_write_bw", *options, **self.env) as server:
                done = self.client(server, f"localhost:{server.port}", "write_bw", "--peer-memory", asked, "--iterations", "10", program=("run",))
                self.assertRegex(done.stdout + done.stderr, "measures in the memory of cuda:0 alone" if options else "opens no GPU for its clients")

    def test_registers_it_as_its_own_command_line_says_whatever_its_client_says(self):
        for personality, options, way in (("generic", ("--use_cuda=0",), "pointer"), ("generic", ("--use_cuda=0", "--use_cuda_dmabuf"), "dmabuf"),
                                          ("generic", ("--use_rocm=1", "--use_rocm_dmabuf"), "dmabuf"),
                                          ("mlx5-xdr", ("--use_cuda=1", "--use_cuda_dmabuf", "--use_data_direct"), "data-direct")):
            self.env["RDMAMETER_DEVICE_PERSONALITY"] = personality
            memory = options[0].removeprefix("--use_").replace("=", ":")
            for words, theirs in (("", None), ("--use_cuda=1", "pointer"), ("--use_cuda=1 --use_cuda_dmabuf", "dmabuf"),
                                  ("--gpu-registration auto", None), ("--gpu-registration dmabuf", None), ("--gpu-registration pointer", None)):
                with self.subTest(options, words=words), Server("ib_write_bw", *options, **self.env) as server, \
                        tempfile.NamedTemporaryFile() as file:
                    if words.startswith("--gpu"):
                        done = self.client(server, f"localhost:{server.port}", "write_bw", "--peer-memory", memory, "--iterations", "10", "-o", file.name,
                                           *words.split(), program=("run",))
                    else:
                        done = self.client(server, "localhost", "-p", str(server.port), "-n", "100", "--out_json_file", file.name, *words.split())
                    self.assertEqual(done.returncode, 0, done)
                    [row] = json.loads(pathlib.Path(file.name).read_bytes())["benchmarks"]  # another file by now
                    self.assertEqual((row.get("gpu_registration"), row["peer_gpu_registration"]), (theirs, way))

    def test_says_in_its_own_words_that_it_cannot_be_registered_so(self):
        with Server("ib_write_bw", "--use_cuda=0", "--use_cuda_dmabuf", "--use_data_direct", **self.env) as server:
            done = self.client(server, "localhost", "-p", str(server.port), "-n", "100")
            status, _ = server.end()
        self.assertEqual((done.returncode, status), (FAILED, FAILED))
        self.assertIn("--use_data_direct: the device has no data-direct engine", done.stderr)
        self.assertIn("leave out --use_data_direct", done.stderr)
        self.assertNotIn("gpu-registration", done.stderr)

    def test_refuses_at_its_start_what_the_cpu_must_see(self):
        done = perftest("ib_write_lat", "--use_cuda=0", **self.env)
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("does not reach GPU memory", done.stderr)


class ServerForm(rdmameter.Test):
    def test_one_that_cannot_start_its_session_ends_with_1_and_says_why(self):
        """It has descriptors for so many more than it has open: from one to all that a session begins with."""
        causes = []
        for more in range(1, 12):
            with Server("ib_write_bw") as server:
                highest = max(map(int, os.listdir(f"/proc/{server.process.pid}/fd")))
                resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (highest + 1 + more, highest + 1 + more))
                peer = wire.Peer.to(server.port)
                with contextlib.suppress(OSError, TypeError, KeyError):  # refused, and for want of a descriptor
                    peer.greet()
                try:
                    status = server.process.wait(2)
                except subprocess.TimeoutExpired:
                    continue  # it waits for a descriptor, or has begun the session
                finally:
                    peer.close()
            if "cannot start" in server.stderr:
                causes.append(server.stderr)
                self.assertEqual(status, FAILED, server.said)
        self.assertTrue(causes)
        for stderr in causes:
            self.assertIn("Too many open files. Raise the limit on open files there (`ulimit -n`)", stderr)

    def test_serves_one_client_and_ends_with_its_rows(self):
        with Server("ib_write_bw", "--report_gbits") as server:
            peer = client(server.port)
            peer.say({"type": "row", "row": ROW})
            server.await_text("stdout", "#bytes")  # through a pipe, too
            self.assertIn("RDMA_Write BW Test", server.said["stdout"])
            peer.say({"type": "bye"})
            status, stdout = server.end()
            peer.close()
        self.assertEqual((status, server.stderr), (0, ""))
        self.assertIn("* Waiting for client to connect... *", stdout)
        self.assertEqual(first_row_by_header(stdout), {"#bytes": 65536, "#iterations": 1000, "BW peak[Gb/sec]": 582.54,
                                                       "BW average[Gb/sec]": 524.29, "MsgRate[Mpps]": 1})

    def test_says_with_notes_who_may_come_and_who_came(self):
        with Server("ib_write_bw", **NOTES) as server:
            server.await_stderr("all but GPUs, -d, -i, -x, --pin_cores and -p are the client's to choose")
            self.assertIn("no token: who reaches port", server.stderr)
            peer = client(server.port)
            leave(peer)
            self.assertEqual(server.end()[0], 0)
            peer.close()
        self.assertRegex(server.stderr, r"127\.0\.0\.1:\d+: connected, (?s:.*): gone\n")

    def test_is_silent_about_who_looks_whether_its_port_is_open(self):
        with Server("ib_write_bw") as server:
            for _ in range(3):
                socket.create_connection(("127.0.0.1", server.port), 10).close()
            peer = client(server.port)
            leave(peer)
            self.assertEqual(server.end()[0], 0)
            peer.close()
        self.assertEqual(server.stderr, "")

    def test_gives_its_port_back_once_it_has_its_client(self):
        with Server("ib_write_bw") as server:
            peer = client(server.port)
            self.assertTrue(rdmameter.wait_until(lambda: has_left(server.port)))
            with Server("ib_write_bw", port=server.port) as other:
                leave(peer)
                self.assertEqual(server.end()[0], 0)
                peer.close()
                peer = client(other.port)
                leave(peer)
                self.assertEqual(other.end()[0], 0)
                peer.close()

    def test_names_a_client_that_died(self):
        with Server("ib_write_bw") as server:
            client(server.port).close()
            status, stdout = server.end()
        self.assertRegex(server.stderr, r"127\.0\.0\.1:\d+: dropped: ")
        self.assertEqual(status, FAILED)
        self.assertNotIn("#bytes", stdout)

    def test_ends_with_1_and_without_a_result_where_its_client_has_measured_nothing_or_died(self):
        for says, output in (([{"type": "bye"}], ""), ([{"type": "row", "row": ROW}], "#bytes")):
            with Server("ib_write_bw") as server:
                peer = client(server.port)
                for message in says:
                    peer.say(message)
                if output:
                    server.await_text("stdout", output)
                peer.close()
                status, stdout = server.end()
            self.assertEqual(status, FAILED)
            self.assertNotIn("524.29", stdout)
            self.assertFalse(re.search(r"^ 65536 ", stdout, re.MULTILINE), stdout)

    def test_of_a_run_without_an_end_says_that_its_client_has_closed_the_connection(self):
        with Server("ib_write_bw", "--run_infinitely") as server:
            peer = client(server.port)
            leave(peer)
            status, stdout = server.end()
            peer.close()
        self.assertEqual((status, server.stderr), (0, ""))
        self.assertRegex(stdout, r"MsgRate\[Mpps\]\n Client closed connection\n-+\n$")

    def test_is_found_in_the_tables_of_both_families_and_its_port_can_be_bound_again_at_once(self):
        port = None
        for _ in range(5):
            with Server("ib_write_bw", port=port) as server:
                port = server.port
                self.assertEqual(listening("tcp", port), ["00000000"])
                if os.path.exists("/proc/net/if_inet6") and pathlib.Path("/proc/net/if_inet6").read_text(encoding="ascii"):
                    self.assertEqual(listening("tcp6", port), ["0" * 32])
                peer = client(port)
                leave(peer)
                self.assertEqual(server.end()[0], 0)
                peer.close()

    def test_serves_a_client_of_either_family(self):
        for host in ("127.0.0.1", "::1"):
            with Server("ib_write_bw") as server:
                try:
                    socket.create_connection((host, server.port), 10).close()
                except OSError:
                    self.assertEqual(host, "::1")  # this machine has no IPv6
                    continue
                peer = client(server.port)
                leave(peer)
                self.assertEqual(server.end()[0], 0)
                peer.close()

    def test_ends_by_the_signal_whether_it_waits_or_serves_and_leaves_no_process(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            for serving in (False, True):
                with Server("ib_write_bw") as server:
                    sessions = []
                    if serving:
                        peer = client(server.port)
                        sessions = rdmameter.children_of(server.process.pid)
                    server.process.send_signal(number)
                    self.assertEqual(server.end()[0], -number)
                    self.assertTrue(rdmameter.wait_until(lambda pids=sessions: not any(os.path.exists(f"/proc/{pid}/exe") for pid in pids), 10))
                    if serving:
                        peer.close()

    def test_goes_by_the_name_of_its_tool(self):
        pkill = shutil.which("pkill")
        if pkill is None:
            self.skipTest("pkill is not installed")
        with Server("ib_write_bw") as server:
            peer = client(server.port)
            # Of this test's own processes alone.
            subprocess.run([pkill, "--parent", str(os.getpid()), "ib_write_bw"], check=True, timeout=30)
            self.assertEqual(server.end()[0], -signal.SIGTERM)
            peer.close()

    def test_names_a_real_perftest_at_the_other_end_and_waits_on(self):
        with Server("ib_write_bw") as server:
            with socket.create_connection(("127.0.0.1", server.port), 10) as real:
                real.sendall(b"6.06".ljust(16, b"\0"))
                server.await_stderr("is perftest, which rdmameter cannot measure with")
            peer = client(server.port)
            leave(peer)
            self.assertEqual(server.end()[0], 0)
            peer.close()

    def test_with_a_token_admits_its_owner_alone(self):
        with Server("ib_write_bw", RDMAMETER_TOKEN="0123456789abcdef", **NOTES) as server:
            server.await_stderr("admits one client, with the same RDMAMETER_TOKEN")
            self.assertNotIn("no token", server.stderr)
            peer = wire.Peer.to(server.port)
            self.assertEqual(peer.greet("another token than the server's")["type"], "failed")
            peer.close()
            self.assertIsNone(server.process.poll())

    def test_ends_the_session_of_a_client_that_tells_of_what_is_no_row_or_of_too_many(self):
        for row, times, says in ((ROW | {"case": {"size_bytes": "two"}}, 1, "case: size_bytes is not"), (ROW | {"name": 1}, 1, "name is not a"),
                                 ({"size_bytes": 2}, 1, "is missing"), (ROW, 65, "more than 64 rows")):
            with self.subTest(says), Server("ib_send_bw") as server:
                peer = client(server.port)
                for _ in range(times):
                    peer.say({"type": "row", "row": row})
                server.await_stderr("its session is killed: ")
                self.assertIn(says, server.stderr)
                stdout = server.end()[1]
                self.assertEqual(stdout.count("65536"), times - 1)
                peer.close()

    def test_shuts_the_process_of_its_client_in(self):
        for settings, no_new_privileges in (({}, "1"), ({"RDMAMETER_SANDBOX": "off"}, "0")):
            with Server("ib_write_bw", **settings) as server:
                peer = client(server.port)
                [session] = rdmameter.children_of(server.process.pid)
                status = pathlib.Path(f"/proc/{session}/status").read_text(encoding="ascii")
                self.assertIn(f"NoNewPrivs:\t{no_new_privileges}\n", status)
                leave(peer)
                self.assertEqual(server.end()[0], 0)
                peer.close()

    def test_has_the_name_of_its_tool_and_so_has_the_process_of_its_client(self):  # for `pkill ib_write_bw`
        with Server("ib_write_bw") as server:
            peer = client(server.port)
            [session] = rdmameter.children_of(server.process.pid)
            for pid in (server.process.pid, session):
                self.assertEqual(pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="ascii"), "ib_write_bw\n")
            leave(peer)
            self.assertEqual(server.end()[0], 0)
            peer.close()

    def test_refuses_at_once_what_no_client_could_measure(self):
        """perftest's server learns it from the client, which has the same options and ends with 1, too."""
        result = perftest("ib_send_lat", "-c", "UD", "-s", "8000")
        self.assertEqual((result.returncode, result.stdout), (FAILED, ""), result)
        self.assertRegex(result.stderr, r"use -s 4096 or less, or -c RC")
        with Server("ib_send_bw", "-c", "UD"):  # whose size will be the MTU
            pass

    def test_refuses_a_sandbox_of_another_name(self):
        result = perftest("ib_write_bw", RDMAMETER_SANDBOX="of")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("invalid value 'of' for RDMAMETER_SANDBOX: expected off, on, required", result.stderr)

    def test_leaves_its_token_to_no_process_of_a_client(self):
        token = "0123456789abcdef"
        with Server("ib_write_bw", RDMAMETER_TOKEN=token) as server:
            self.assertNotIn(token.encode(), pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes())

    def test_ends_at_once_where_its_own_device_port_or_gid_is_not_there(self):
        for arguments, says in ((("-d", "nosuch"), r"^IB device nosuch not found\n Unable to find the Infiniband/RoCE device\nrdmameter: "),
                                (("-i", "3"), r"^ Couldn't get context for the device\nrdmameter: -i 3: \S+ has the ports 1 to 1"),
                                (("-x", "77"), r"^ Couldn't get context for the device\nrdmameter: .*-x 77")):
            result = perftest("ib_write_bw", *arguments)
            self.assertEqual((result.returncode, result.stdout), (FAILED, ""), result)
            self.assertRegex(result.stderr, says)

    def test_ends_with_1_where_its_port_is_taken(self):
        with Server("ib_write_bw") as server:
            result = perftest("ib_send_bw", "-p", str(server.port))
        self.assertEqual(result.returncode, FAILED)
        self.assertRegex(result.stderr, r"^Couldn't listen to port \d+\nUnable to open file descriptor for socket connection\n"
                                        r" Unable to init the socket connection\nrdmameter: .*: the port is in use\. Choose another with -p, or end ")


if __name__ == "__main__":
    rdmameter.main()
