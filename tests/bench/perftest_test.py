#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""perftest's command lines on the null device, read by what scripts around perftest look for; no verbs needed.

Usage: perftest_test.py PATH_OF_RDMAMETER PATH_OF_docs/perftest.md [unittest's arguments]
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import wire  # pylint: disable=wrong-import-position
from rdmameter import children_of  # pylint: disable=wrong-import-position

PROGRAM = DOCS = None
# What a client tells of a row: 1000 messages of 64 KiB in 1 ms.
ROW = {"size_bytes": 65536, "iterations": 1000, "traffic": {"messages": 1000, "time_ns": 1000000}}
FAILED = 1  # perftest's only status but 0
TOOLS = [f"ib_{operation}_{measure}" for operation in ("send", "write", "read", "atomic") for measure in ("bw", "lat")]


def perftest(*arguments, **environment):
    return subprocess.run([PROGRAM, "perftest", *arguments], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8", **environment})


def measured(tool, *arguments, **environment):
    """A run that goes well, in which nothing but notes may be on stderr."""
    result = perftest(tool, "-d", "null", *arguments, "localhost", **environment)
    assert result.returncode == 0, result
    assert environment or not result.stderr, result
    return result


NOTES = {"RDMAMETER_NOTES": "1"}


def first_row_by_header(stdout):
    """By the words of the header line: the row below it, as numbers by column (as DCPerf reads it)."""
    lines = stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "#bytes" in line and "#iterations" in line)
    names = re.split(r"\s{2,}", lines[at].replace(" #iterations", "  #iterations").strip())
    values = [float(text) for text in lines[at + 1].split()]
    return dict(zip(names, values))


def rows_of_five_words(stdout):
    """Rows with five words between blanks, tabs being no blanks: {size: average} (as SuperBench reads it)."""
    rows = {}
    for line in stdout.splitlines():
        words = [word for word in line.split(" ") if word]
        try:
            if len(words) == 5:
                rows[int(words[0])] = float(words[-2])
        except ValueError:
            continue
    return rows


class Output(unittest.TestCase):
    def test_of_a_bandwidth_has_perftests_columns(self):
        result = measured("ib_write_bw", "-s", "65536", "-n", "1000", **NOTES)
        row = first_row_by_header(result.stdout)
        self.assertEqual(list(row), ["#bytes", "#iterations", "BW peak[MiB/sec]", "BW average[MiB/sec]",
                                     "MsgRate[Mpps]"])
        self.assertEqual((row["#bytes"], row["#iterations"], row["BW peak[MiB/sec]"]), (65536, 1000, 0))
        # The same rate twice: MiB/s and millions of messages of 64 KiB, which is 1/16 MiB.
        self.assertAlmostEqual(row["BW average[MiB/sec]"] / (row["MsgRate[Mpps]"] * 1e6 / 16), 1, delta=0.01)
        self.assertIn("RDMA_Write BW Test", result.stdout)
        self.assertIn("BW peak is not measured", result.stderr)

    def test_of_gigabits_has_their_unit(self):
        row = first_row_by_header(measured("ib_read_bw", "--report_gbits", "-n", "1000").stdout)
        self.assertAlmostEqual(row["BW average[Gb/sec]"] / (row["MsgRate[Mpps]"] * 65536 * 8 / 1000), 1, delta=0.01)

    def test_of_a_latency_has_perftests_columns(self):
        result = measured("ib_send_lat", "-n", "1000", **NOTES)
        row = first_row_by_header(result.stdout)
        self.assertEqual(list(row), ["#bytes", "#iterations", "t_min[usec]", "t_max[usec]", "t_typical[usec]",
                                     "t_avg[usec]", "t_stdev[usec]", "99% percentile[usec]",
                                     "99.9% percentile[usec]"])
        self.assertEqual((row["#bytes"], row["#iterations"]), (2, 1000))
        self.assertLessEqual(row["t_min[usec]"], row["t_typical[usec]"])
        self.assertLessEqual(row["99% percentile[usec]"], row["t_max[usec]"])
        self.assertIn("t_max is the largest sample", result.stderr)

    def test_of_every_tool_is_a_table(self):
        for tool in TOOLS:
            result = measured(tool, "-n", "500")
            self.assertEqual(first_row_by_header(result.stdout)["#iterations"], 500, tool)
            self.assertTrue(result.stdout.endswith("-\n"), tool)

    def test_of_all_sizes_has_a_row_of_five_words_for_each(self):
        rows = rows_of_five_words(measured("ib_write_bw", "-a", "-F", "--iters=200").stdout)
        self.assertEqual(list(rows), [1 << bit for bit in range(1, 24)])
        self.assertTrue(all(rows.values()))

    def test_is_found_by_the_size_and_blanks(self):  # as ROCm's cvs reads it
        bandwidth = measured("ib_write_bw", "-s", "4096", "-n", "500", "--report_gbits").stdout
        self.assertRegex(bandwidth, r"4096\s+\d+\s+[0-9\.]+\s+([0-9\.]+)\s+([0-9\.]+)")
        self.assertNotRegex(bandwidth, r"(?i)ERROR|FAIL")
        latency = measured("ib_send_lat", "-s", "4096", "-n", "500").stdout
        self.assertRegex(latency, r"4096\s+\d+" + r"\s+([0-9\.]+)" * 7)

    def test_has_the_size_in_no_line_before_the_row(self):  # azurehpc-health-checks takes the first such line
        lines = measured("ib_write_bw", "-s", "1048576", "-n", "20", "-x", "0", "-F", "--report_gbits").stdout.splitlines()
        first = next(line for line in lines if "1048576" in line)
        self.assertGreater(float(first.split()[3]), 0)

    def test_is_one_number_where_asked(self):
        for tool, output in (("ib_write_bw", "bandwidth"), ("ib_write_bw", "message_rate"), ("ib_send_lat", "latency")):
            result = measured(tool, "-n", "500", f"--output={output}")
            self.assertRegex(result.stdout, r"^\d+\.\d{6}\n$")

    def test_of_a_time_is_an_average_and_a_rate(self):
        result = measured("ib_send_lat", "-D", "1", "-f", "0", "--cpu_util", **NOTES)
        row = first_row_by_header(result.stdout)
        self.assertEqual(list(row), ["#bytes", "#iterations", "t_avg[usec]", "tps average", "CPU_Util[%]"])
        self.assertAlmostEqual(1e6 / row["tps average"] / 2, row["t_avg[usec]"], delta=0.0051)  # has two digits
        self.assertIn("-D: all of it is measured", result.stderr)

    def test_for_ever_is_a_row_for_each_interval(self):
        with subprocess.Popen([PROGRAM, "perftest", "ib_write_bw", "-d", "null", "--run_infinitely", "-D", "1", "localhost"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            rows = []
            for line in process.stdout:
                if line.startswith(" 65536 "):
                    rows.append(line)
                if len(rows) == 2:
                    process.send_signal(signal.SIGINT)
                    break
            process.communicate(timeout=30)
        self.assertEqual(len(rows), 2)
        self.assertEqual(process.returncode, 0)

    def test_goes_to_our_result_file_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            result = measured("ib_send_lat", "-n", "1000", "--out_json_file", path, **NOTES)
            document = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
            shown = subprocess.run([PROGRAM, "show", path], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(len(document["benchmarks"]), 1)
        self.assertEqual(document["benchmarks"][0]["latency"]["count"], 1000)
        self.assertEqual(shown.returncode, 0)
        self.assertIn("of perftest's keys it has `results`", result.stderr)

    def test_has_perftests_keys_in_its_file_line_by_line(self):  # as ngc_multinode_perf reads it, by awk
        for tool, key, column in (("ib_write_bw", "BW_average", "BW average[Gb/sec]"), ("ib_send_lat", "t_avg", "t_avg[usec]")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "out.json")
                stdout = measured(tool, "-n", "1000", "--report_gbits", "--out_json", f"--out_json_file={path}").stdout
                text = pathlib.Path(path).read_text(encoding="utf-8")
            values = [re.split("[:,]", line)[1] for line in text.splitlines() if key in line]
            self.assertEqual([float(value) for value in values], [first_row_by_header(stdout)[column]])
            self.assertEqual(json.loads(text)["results"][key], float(values[0]))


class Status(unittest.TestCase):
    def failed(self, *arguments, says):
        result = perftest(*arguments)
        self.assertEqual(result.returncode, FAILED, result)
        self.assertIn(says, result.stderr)
        return result

    def test_is_1_for_a_server_that_is_not_there_and_says_how_to_start_it(self):
        with socket.socket() as bound:  # and does not listen
            bound.bind(("127.0.0.1", 0))
            result = perftest("ib_write_lat", "-p", str(bound.getsockname()[1]), "127.0.0.1")
        self.assertEqual(result.returncode, FAILED, result)
        self.assertRegex(result.stderr, "no verbs device|^Couldn't connect to 127.0.0.1:.*\n.*\n.*\nrdmameter: nobody listens on .*: "
                                        "start the same command there first, without a host\n$")

    def test_is_1_for_a_refused_option_a_wrong_value_and_an_unknown_option(self):
        self.failed("ib_write_bw", "--use_rocm=0", "host", says="--use_rocm: rdmameter measures memory of the host, of the RDMA device, and of a GPU by --use_cuda alone")
        self.failed("ib_write_bw", "-s", "8x", "host", says="invalid value '8x' for -s, --size")
        self.failed("ib_write_bw", "--sizes", "8", "host", says="did you mean '--size'?")

    def test_is_2_for_a_tool_that_is_not_there(self):
        for name, says in (("ib_writ_bw", "has no tool 'ib_writ_bw'; did you mean 'ib_write_bw'?"),
                           ("raw_ethernet_bw", "for raw_ethernet_bw use perftest itself"), ("x", "perftest --help")):
            result = perftest(name, "host")
            self.assertEqual(result.returncode, 2, result)
            self.assertIn(says, result.stderr)

    def test_is_1_below_a_limit(self):
        measured("ib_write_bw", "-n", "1000", "-w", "0", "-y", "0")
        self.failed("ib_write_bw", "-d", "null", "-n", "1000", "-w", "1e12", "host", says="is below -w, --limit_bw")
        self.failed("ib_write_bw", "-d", "null", "-n", "1000", "-y", "1e12", "host", says="is below -y, --limit_msgrate")

    def test_is_1_for_what_cannot_be_measured(self):
        self.failed("ib_send_bw", "-d", "null", "-e", "host", says="the null device raises no events")

    def test_is_0_for_help_and_version(self):
        for tool in TOOLS:
            result = perftest(tool, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            # A script takes the transports from between the angle brackets.
            connections = re.search(r"--connection=<([A-Z/]+)>", result.stdout)[1].split("/")
            self.assertEqual(connections[0], "RC", tool)
        self.assertRegex(perftest("ib_send_bw", "-V").stdout, r"^Version: rdmameter \d+\.\d+\.\d+\n$")


class Links(unittest.TestCase):
    def test_have_perftests_names_and_run_its_tools(self):
        with tempfile.TemporaryDirectory() as folder:
            first = perftest("--install", folder)
            self.assertEqual(first.returncode, 0, first)
            self.assertEqual(sorted(os.listdir(folder)), sorted(TOOLS))
            self.assertEqual(perftest("--install", folder).returncode, 0)
            result = subprocess.run([os.path.join(folder, "ib_write_bw"), "-d", "null", "-n", "500", "host"],
                                    capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result)
        self.assertEqual(first_row_by_header(result.stdout)["#iterations"], 500)

    def test_replace_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            theirs = pathlib.Path(folder, "ib_write_bw")
            theirs.write_text("theirs", encoding="utf-8")
            result = perftest("--install", folder)
            self.assertEqual(result.returncode, 2)
            self.assertIn("ib_write_bw", result.stderr)
            self.assertEqual(theirs.read_text(encoding="utf-8"), "theirs")


class Server:
    """`rdmameter perftest ib_write_bw`, and what it says."""

    def __init__(self, *arguments, **environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        clean = {name: value for name, value in os.environ.items() if name != "RDMAMETER_TOKEN"}
        self.process = subprocess.Popen([PROGRAM, "perftest", *arguments, "-p", str(self.port)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**clean, **environment})
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
    """Welcomed as a client without a token."""
    peer = wire.Peer.to(port)
    welcome = peer.greet()
    assert welcome["type"] == "welcome", welcome
    return peer


class ServerForm(unittest.TestCase):
    def test_serves_one_client_and_ends_with_its_rows(self):
        with Server("ib_write_bw", "--report_gbits") as server:
            peer = client(server.port)
            peer.say({"type": "row", "row": ROW})
            peer.say({"type": "bye"})
            status, stdout = server.end()
            peer.close()
        self.assertEqual((status, server.stderr), (0, ""))
        self.assertIn("* Waiting for client to connect... *", stdout)
        self.assertEqual(first_row_by_header(stdout), {"#bytes": 65536, "#iterations": 1000, "BW peak[Gb/sec]": 0,
                                                       "BW average[Gb/sec]": 524.29, "MsgRate[Mpps]": 1})

    def test_says_with_notes_who_may_come_and_who_came(self):
        with Server("ib_write_bw", **NOTES) as server:
            server.await_stderr("-p are the client's to choose")
            self.assertIn("no token: who reaches port", server.stderr)
            peer = client(server.port)
            peer.say({"type": "bye"})
            self.assertEqual(server.end()[0], 0)
            peer.close()
        self.assertRegex(server.stderr, r"127\.0\.0\.1:\d+: connected, (?s:.*): gone\n")

    def test_is_silent_about_who_looks_whether_its_port_is_open(self):
        with Server("ib_write_bw") as server:
            for _ in range(3):
                socket.create_connection(("127.0.0.1", server.port), 10).close()
            peer = client(server.port)
            peer.say({"type": "bye"})
            self.assertEqual(server.end()[0], 0)
            peer.close()
        self.assertEqual(server.stderr, "")

    def test_names_a_client_that_died(self):
        with Server("ib_write_bw") as server:
            client(server.port).close()
            server.end()
        self.assertRegex(server.stderr, r"127\.0\.0\.1:\d+: dropped: ")

    def test_names_a_real_perftest_at_the_other_end_and_waits_on(self):
        with Server("ib_write_bw") as server:
            with socket.create_connection(("127.0.0.1", server.port), 10) as real:
                real.sendall(b"6.06".ljust(16, b"\0"))
                server.await_stderr("is perftest, which rdmameter cannot measure with")
            peer = client(server.port)
            peer.say({"type": "bye"})
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
        for row, times, says in (({"size_bytes": "2"}, 1, "`size_bytes` must be a whole number"), (ROW, 65, "more than 64 rows")):
            with Server("ib_write_bw") as server:
                peer = client(server.port)
                for _ in range(times):
                    peer.say({"type": "row", "row": row})
                server.await_stderr(f"its session is killed: {'the peer' if times == 1 else 'it sent'}")
                self.assertIn(says, server.stderr)
                stdout = server.end()[1]
                self.assertEqual(stdout.count("65536"), times - 1)
                peer.close()

    def test_shuts_the_process_of_its_client_in(self):
        for environment, no_new_privileges in (({}, "1"), ({"RDMAMETER_SANDBOX": "off"}, "0")):
            with Server("ib_write_bw", **environment) as server:
                peer = client(server.port)
                [session] = children_of(server.process.pid)
                status = pathlib.Path(f"/proc/{session}/status").read_text(encoding="ascii")
                self.assertIn(f"NoNewPrivs:\t{no_new_privileges}\n", status)
                peer.say({"type": "bye"})
                self.assertEqual(server.end()[0], 0)
                peer.close()

    def test_refuses_a_sandbox_of_another_name(self):
        result = perftest("ib_write_bw", RDMAMETER_SANDBOX="of")
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("invalid value 'of' for RDMAMETER_SANDBOX: expected off, on, required", result.stderr)

    def test_leaves_its_token_to_no_process_of_a_client(self):
        token = "0123456789abcdef"
        with Server("ib_write_bw", RDMAMETER_TOKEN=token) as server:
            self.assertNotIn(token.encode(), pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes())

    def test_ends_with_1_where_its_port_is_taken(self):
        with Server("ib_write_bw") as server:
            result = perftest("ib_send_bw", "-p", str(server.port))
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("the port is in use", result.stderr)


class Documentation(unittest.TestCase):
    def test_has_the_table_of_options_as_the_program_prints_it(self):
        table = perftest("--options").stdout
        self.assertIn("| `-s`, `--size` |", table)
        self.assertIn(table, pathlib.Path(DOCS).read_text(encoding="utf-8"))


if __name__ == "__main__":
    PROGRAM, DOCS = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
