#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""perftest's command lines at both ends: each tool measures on a device, and both ends print one table."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import rdmameter

TOOLS = [f"ib_{operation}_{measure}" for operation in ("send", "write", "read", "atomic") for measure in ("bw", "lat")]


def rows(stdout):
    """The numbers of each row below the table's header."""
    found, in_table = [], False
    for line in stdout.splitlines():
        words = line.split()
        if words[:1] == ["#bytes"]:
            in_table = True
        elif in_table and words and words[0].isdigit():
            found.append([float(word) for word in words])
    return found


class Front(rdmameter.Test):
    def environment(self, token=None):
        # The software device reaches its peers' memory by process_vm_writev(), which Landlock forbids.
        return rdmameter.environment(token) | ({"RDMAMETER_SANDBOX": "off"} if rdmameter.SOFTWARE_DEVICE else {})

    def start_tool(self, tool, *arguments, token=None, **more):
        started = rdmameter.Started([rdmameter.program, "perftest", tool, *arguments], self.environment(token) | more)
        self.addCleanup(started.end, 0)
        return started

    def serve_tool(self, tool, *arguments, token=None, **more):
        self.port = str(rdmameter.free_port())
        server = self.start_tool(tool, "-p", self.port, *arguments, token=token, **more)
        server.await_text("stdout", "Waiting for client to connect")
        return server

    def measure_both(self, tool, *arguments, at_server=(), token=None, **more):
        """Both ends, ended well; the client's has the arguments. They say nothing on stderr, unless it is given more environment."""
        server = self.serve_tool(tool, *at_server, token=token, **more)
        client = self.start_tool(tool, "-p", self.port, *arguments, "localhost", token=token, **more).end(120)
        server = server.end(30)
        self.assertEqual((client.status, server.status), (rdmameter.PASS, rdmameter.PASS), f"{client}\n{server}")
        if not more:
            self.assertEqual((client.stderr, server.stderr), ("", ""))
            self.assertNotRegex(client.stdout + server.stdout, "(?i)error|fail")
        self.assertTrue(rows(client.stdout) or any("--output" in each for each in arguments), client)
        return client, server


def without_peak(table):
    """Rows of a server that only receives: perftest measures no peak there."""
    return [[*row[:2], 0, *row[3:]] for row in table]


def block_of(stdout):
    """The set-up block by its names."""
    pairs = re.findall(r"(?:[ \t]|^)([\w\s\*.]+?) *: (\S+)", "\n".join(line for line in stdout.splitlines() if " : " in line or ": " in line), re.MULTILINE)
    return {name.strip(): value for name, value in pairs}


class Tools(Front):
    def test_each_measures_and_its_server_prints_what_perftests_prints(self):
        for tool in TOOLS:
            with self.subTest(tool):
                client, server = self.measure_both(tool, "-n", "100", at_server=("-n", "100"))
                [row] = rows(client.stdout)
                self.assertEqual(row[:2], [8 if "atomic" in tool else 2 if "lat" in tool else 65536, 100], client)
                self.assertGreater(min(row[3], row[-1]), 0, client)
                silent = tool in ("ib_read_lat", "ib_atomic_lat")
                if "bw" in tool:
                    self.assertGreaterEqual(row[2], row[3], client)
                expected = without_peak([row]) if tool == "ib_send_bw" else [row]
                self.assertEqual(rows(server.stdout), [] if silent else expected, server)
                self.assertEqual("#bytes" in server.stdout, not silent, server)
                self.assertTrue(server.stdout.endswith("-\n"), server)
                # A reader of the server's log finds the title and the block there.
                title = re.search(r"^ {20}(.* Test)$", client.stdout, re.MULTILINE)[1]
                self.assertRegex(server.stdout, rf"\*\n-+\n {{20}}{title}\n Dual-port ")
                self.assert_addresses_of_both(tool, client, server)
                ours, theirs = block_of(client.stdout), block_of(server.stdout)
                theirs.pop("WARNING", None)
                self.assertEqual(ours.pop("TX depth"), "100" if tool.endswith("_bw") else "1")
                self.assertEqual(theirs.pop("RX depth", None), "100" if "send" in tool else None)
                self.assertEqual(theirs, ours)
                self.assertEqual(theirs["Link type"], "Ethernet" if rdmameter.SOFTWARE_DEVICE else theirs["Link type"])

    def assert_addresses_of_both(self, tool, client, server, qps=1):
        """Below the block, a pair of lines for each QP: what is local at one end is remote at the other."""
        more = r" OUT 0x[0-9a-f]+" if tool.startswith("ib_read") else ""
        more += r" RKey (?:0x)?[0-9a-f]+ VAddr (?:0x)?[0-9a-f]+" if tool.startswith(("ib_read", "ib_write")) else ""
        form = rf" (local|remote) address: LID (0x[0-9a-f]+|0000) QPN (0x[0-9a-f]+) PSN (0x[0-9a-f]+|000000){more}\n( GID: (?:\d+:){{15}}\d+\n)?"
        found = [re.findall(form, end.stdout) for end in (client, server)]
        for lines, end in zip(found, (client, server)):
            self.assertEqual([line[0] for line in lines], ["local"] * qps + ["remote"] * qps, end)
            self.assertRegex(end.stdout, rf" Data ex\. method +: \w+\n-+\n(?:{form})+---", end)
        self.assertEqual(sorted(line[1:] for line in found[0] if line[0] == "local"),
                         sorted(line[1:] for line in found[1] if line[0] == "remote"), f"{client}\n{server}")

    def test_a_pair_of_addresses_of_each_qp_comes_before_the_first_row_at_both_ends(self):
        server = self.serve_tool("ib_write_bw", "-q", "3")
        client = self.start_tool("ib_write_bw", "-q", "3", "-D", "5", "-p", self.port, "localhost")
        for end in (client, server):
            end.await_text("stdout", "#bytes")
        self.assertIsNone(client.process.poll())
        client, server = client.end(60), server.end(30)
        self.assert_addresses_of_both("ib_write_bw", client, server, qps=3)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_the_block_tells_what_was_measured(self):
        self.play("iwarp")  # has no ibv_wr_*, and by rdma_cm alone
        for end in self.measure_both("ib_write_lat", "-n", "100"):
            block = block_of(end.stdout)
            self.assertEqual((block["ibv_wr* API"], block["rdma_cm QPs"], block["Data ex. method"]), ("OFF", "ON", "rdma_cm"), end)
        self.play("generic")
        for end in self.measure_both("ib_send_bw", "-n", "100", "-R", "-q", "2", "-m", "1024", at_server=("-R",)):
            block = block_of(end.stdout)
            self.assertEqual((block["rdma_cm QPs"], block["Data ex. method"], block["Mtu"], block["Number of qps"]),
                             ("ON", "rdma_cm", "1024[B]", "2"), end)

    def test_a_server_of_writes_with_a_number_has_a_row_of_each_size_as_it_takes_receives(self):
        client, server = self.measure_both("ib_write_bw", "--write_with_imm", "-a", "-n", "10", at_server=("--write_with_imm", "-a"))
        self.assertEqual(rows(server.stdout), without_peak(rows(client.stdout)))

    def test_a_server_asked_for_one_number_prints_nothing_else(self):
        port = str(rdmameter.free_port())
        server = self.start_tool("ib_write_bw", "-p", port, "--output=bandwidth")

        def measured():
            return self.start_tool("ib_write_bw", "-p", port, "-n", "100", "--output=bandwidth", "localhost").end(60)
        client = rdmameter.wait_until(lambda: (lambda done: done.status == rdmameter.PASS and done)(measured()), 20)
        server = server.end(30)
        for end in (client, server):
            self.assertRegex(end.stdout, r"^\d+\.\d{6}\n$")
            self.assertEqual((end.status, end.stdout), (rdmameter.PASS, client.stdout), end)

    def test_sends_go_over_uc_and_ud_of_one_mtu_where_no_size_was_asked_for(self):
        client, _ = self.measure_both("ib_send_bw", "-c", "UC", "-n", "100", "-s", "4096")
        self.assertEqual(rows(client.stdout)[0][:2], [4096, 100])
        client, _ = self.measure_both("ib_send_bw", "-c", "UD", "-n", "100")
        size = rows(client.stdout)[0][0]
        self.assertRegex(client.stdout, rf" Mtu +: {size:.0f}\[B\]\n")
        client, _ = self.measure_both("ib_send_lat", "-c", "UD", "-n", "100")
        self.assertEqual(rows(client.stdout)[0][0], 2, client)

    def test_a_peak_is_shown_where_perftest_measures_one_and_missed_aloud_elsewhere(self):
        warning = " WARNING: BW peak won't be measured in this run."
        for tool, arguments, at_server, ends in (
                ("ib_write_bw", (), (), (True, True)), ("ib_write_bw", ("-b",), ("-b",), (True, True)), ("ib_send_bw", (), (), (True, False)),
                ("ib_send_bw", ("-b",), ("-b",), (True, True)), ("ib_read_bw", ("-q", "4"), ("-q", "4"), (True, True)),
                ("ib_write_bw", ("-n", "20001"), ("-n", "20001"), (False, False)), ("ib_write_bw", ("-D", "1"), ("-D", "1"), (False, False))):
            with self.subTest(tool, arguments=arguments):
                given = () if arguments[:1] in (("-n",), ("-D",)) else ("-n", "500")
                for end, peak in zip(self.measure_both(tool, "-s", "1024", *given, *arguments, at_server=(*at_server, "-s", "1024", *given)), ends):
                    [row] = rows(end.stdout)
                    self.assertEqual(row[2] > 0, peak, end)
                    self.assertEqual(end.stdout.startswith(warning), not peak, end)
        client, _ = self.measure_both("ib_write_bw", "-N", "-n", "100", at_server=("-N",))
        self.assertEqual(rows(client.stdout)[0][2], 0)
        self.assertNotIn("WARNING", client.stdout)

    @rdmameter.spared_in_vm
    def test_all_sizes_are_a_row_each_at_both_ends(self):
        client, server = self.measure_both("ib_write_bw", "-a", "-n", "20")
        self.assertEqual([row[0] for row in rows(client.stdout)], [1 << bit for bit in range(1, 24)])
        self.assertEqual(rows(server.stdout), rows(client.stdout)[-1:])
        client, server = self.measure_both("ib_send_bw", "-a", "-n", "20")
        self.assertEqual(len(rows(server.stdout)), 23)
        self.assertEqual(rows(server.stdout), without_peak(rows(client.stdout)))

    def files_of_both(self, tool, *arguments, at_server=()):
        files = self.output(), self.output()
        client, server = self.measure_both(tool, "--out_json", f"--out_json_file={files[0]}", *arguments,
                                           at_server=("--out_json", "--out_json_file", files[1], *at_server))
        documents = []
        for path in files:
            self.assertEqual(rdmameter.faults_in(path), [])
            with open(path, encoding="utf-8") as file:
                documents.append(json.load(file))
        return client, server, *documents

    def test_both_ends_write_perftests_keys_into_a_file(self):
        texts = ("test", "Dual_port", "Device", "Transport_type", "Connection_type", "Using_SRQ", "PCIe_relax_order", "ibv_wr_API", "Link_type",
                 "rdma_cm_QPs", "Use_ROCm_memory", "Use_MUSA_memory", "Data_ex_method")
        for tool, test, average in (("ib_write_bw", "RDMA_Write_BW_Test", "BW_average"), ("ib_send_bw", "Send_BW_Test", "BW_average"),
                                    ("ib_atomic_bw", "Atomic_FETCH_AND_ADD_BW_Test", "BW_average"), ("ib_send_lat", "Send_Latency_Test", "t_avg")):
            with self.subTest(tool):
                client, _, ours, theirs = self.files_of_both(tool, "-n", "100", "--report_gbits", at_server=("--report_gbits",))
                [row] = rows(client.stdout)
                for document, depth in ((ours, "TX_depth"), (theirs, "RX_depth")):
                    info = document["test_info"]
                    self.assertEqual(info["test"], test)
                    self.assertTrue(all(isinstance(info[key], str) for key in texts), info)
                    numbers = ["Number_of_qps", "Mtu", "GID_index", "Outstand_reads" if "atomic" in tool else "Max_inline_data"]
                    numbers += ["CQ_Moderation"] if tool.endswith("bw") else []
                    numbers += [depth] if depth == "TX_depth" or "send" in tool else []
                    self.assertEqual(set(info) - set(texts), set(numbers))
                    self.assertTrue(all(isinstance(info[key], int) for key in numbers), info)
                    self.assertEqual(document["results"]["MsgSize"], row[0])
                    self.assertAlmostEqual(document["results"][average], row[3 if tool.endswith("bw") else 5], delta=0.01)
                self.assertEqual(len(ours["benchmarks"]), 1)
                self.assertEqual(theirs["benchmarks"], ours["benchmarks"])

    def test_files_have_the_last_of_all_sizes_and_every_key_with_one_number_on_stdout(self):
        _, _, ours, theirs = self.files_of_both("ib_write_bw", "-a", "-n", "10", at_server=("-a",))
        self.assertEqual((ours["results"]["MsgSize"], theirs["results"]["MsgSize"], len(ours["benchmarks"])), (1 << 23, 1 << 23, 23))
        self.assertEqual(theirs["benchmarks"], ours["benchmarks"])
        self.assertEqual(*([list(row["case"]) for row in document["benchmarks"]] for document in (ours, theirs)))  # axes in their order
        self.assertNotEqual(theirs["context"]["rdmameter"]["run_id"], ours["context"]["rdmameter"]["run_id"])
        path = self.output()
        client, _ = self.measure_both("ib_write_bw", "-n", "100", "--output=message_rate", "--out_json_file", path)
        self.assertRegex(client.stdout, r"^\d+\.\d{6}\n$")
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["results"].keys(), {"MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate"})
        self.assertEqual(document["test_info"]["test"], "RDMA_Write_BW_Test")

    def test_a_server_that_prints_no_row_writes_no_file(self):
        path = self.output()
        self.measure_both("ib_read_lat", "-n", "100", at_server=("--out_json_file", path))
        self.assertFalse(os.path.exists(path))

    @rdmameter.spared_in_vm
    def test_options_of_queues_and_posting_are_honoured(self):
        for tool, arguments in (("ib_write_bw", ("-q", "4", "-l", "8", "-Q", "16", "-t", "64")),
                                ("ib_send_bw", ("--use-srq", "-r", "128", "-e")),
                                ("ib_send_lat", ("-I", "0", "--use_old_post_send")),
                                ("ib_read_bw", ("-o", "2", "-m", "1024")),
                                ("ib_atomic_lat", ("-A", "CMP_AND_SWAP")),
                                ("ib_write_lat", ("--write_with_imm",)),
                                ("ib_write_bw", ("--write_with_imm", "-e")),
                                ("ib_send_bw", ("--data_validation",))):
            with self.subTest(tool, arguments=arguments):
                client, server = self.measure_both(tool, "-n", "100", *arguments)
                shown = rows(client.stdout)
                if tool == "ib_send_bw":
                    shown = without_peak(shown)
                self.assertEqual(rows(server.stdout), [] if tool == "ib_atomic_lat" else shown, server)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_the_block_names_the_transport_of_the_device(self):
        for personality, tool, transport, by_cm in (("iwarp", "ib_write_bw", "IW", "ON"), ("generic", "ib_write_bw", "IB", "OFF"),
                                                    ("efa", "ib_send_lat", "Unknown", "OFF")):
            with self.subTest(personality):
                self.play(personality)
                options = ("-c", "UD") if personality == "efa" else ()
                for end in self.measure_both(tool, "-n", "100", *options, at_server=options):
                    block = block_of(end.stdout)
                    self.assertEqual((block["Transport type"], block["rdma_cm QPs"]), (transport, by_cm), end)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_each_message_is_signaled_where_the_device_wants_that_unless_asked_otherwise(self):
        self.play("efa")
        for end in self.measure_both("ib_send_bw", "-c", "UD", "-n", "500", at_server=("-c", "UD", "-n", "500")):
            self.assertEqual(block_of(end.stdout)["CQ Moderation"], "1", end)
        server = self.serve_tool("ib_send_bw", "-c", "UD")
        client = self.start_tool("ib_send_bw", "-p", self.port, "-c", "UD", "-n", "500", "-Q", "50", "localhost").end(60)
        self.assertEqual((client.status, server.end(30).status), (1, 1), client)
        self.assertIn("use -Q 1", client.stderr)

    def test_both_directions_are_reported_together_and_apart(self):
        client, server = self.measure_both("ib_write_bw", "-b", "--report-both", "-n", "100", at_server=("-b", "--report-both"))
        for end in (client, server):
            self.assertIn(" Local results:", end.stdout, end)
            both, local, remote = rows(end.stdout)
            self.assertGreater(local[3], 0)
            self.assertGreater(remote[3], 0)
            self.assertEqual([row[:2] for row in (both, local, remote)], [[65536, 100]] * 3, end)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_lost_datagrams_are_told_at_both_ends_and_no_part_of_the_servers_rate(self):
        of_both = ("-c", "UD", "-s", "1024", "-n", "2000")
        client, server = self.measure_both("ib_send_bw", *of_both, at_server=of_both, RDMAMETER_NOTES="1",
                                           RDMAMETER_DEVICE_WIRE="loss=0.3,seed=3")
        [sent], [arrived] = rows(client.stdout), rows(server.stdout)
        [lost] = {int(re.search(r"rdmameter: (\d+) messages were lost", end.stderr)[1]) for end in (client, server)}
        self.assertGreater(lost, 300)
        self.assertAlmostEqual(arrived[3] / sent[3], 0.7, delta=0.05)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_late_answer_is_a_sample_as_in_perftest_which_waits_for_ever(self):
        # A message takes 100 ms, and a pong twice that, which is beyond the default of --loss-timeout.
        client, server = self.measure_both("ib_send_lat", "-c", "UD", "-n", "4", RDMAMETER_NOTES="1", RDMAMETER_DEVICE_WIRE="latency=100ms")
        self.assertNotIn("lost", client.stderr + server.stderr)
        for end in client, server:
            [row] = rows(end.stdout)
            self.assertEqual(row[1], 4)
            self.assertGreater(row[2], 90_000, end)  # µs: half of a round trip

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_where_no_ping_is_answered_the_client_says_so_in_the_words_of_its_tool(self):
        of_both = {"RDMAMETER_DEVICE_WIRE": "loss=1"}
        server = self.serve_tool("ib_send_lat", **of_both)
        client = self.start_tool("ib_send_lat", "-p", self.port, "-c", "UC", "-n", "2", "localhost", **of_both).end(60)
        self.assertEqual((client.status, server.end(30).status), (1, 1), client)
        self.assertRegex(client.stderr, "rdmameter: none of the 2 pings was answered within 1 s: is the path between")

    def test_a_duration_lasts(self):
        client, server = self.measure_both("ib_send_lat", "-D", "1", at_server=("-D", "1"))
        [row] = rows(client.stdout)
        self.assertGreaterEqual(row[1] * row[2] * 2 / 1e6, 0.4, client)  # round trips times their mean [s]
        [shown] = rows(server.stdout)
        self.assertEqual(shown[:3], row[:3], server)
        self.assertAlmostEqual(shown[3] / row[3], 1, delta=1e-6)  # the mean came in whole picoseconds


@unittest.skipUnless(shutil.which("ib_send_lat") and not rdmameter.LINKED, "perftest is not installed, or has not this device")
class PerftestItself(Front):
    """It is named, so that nobody looks for another reason."""
    NAMED = "is perftest, which rdmameter cannot measure with"

    @rdmameter.everyday
    def test_as_the_client_is_named_by_the_server_which_waits_on(self):
        server = self.serve_tool("ib_send_lat")
        other = rdmameter.Started(["ib_send_lat", "-p", self.port, "localhost"], self.environment())
        server.await_text("stderr", self.NAMED)
        self.assertNotEqual(other.end(60).status, rdmameter.PASS)
        self.assertIsNone(server.process.poll())

    def test_as_the_server_is_named_by_the_client(self):
        port = str(rdmameter.free_port())
        other = rdmameter.Started(["ib_send_lat", "-p", port], self.environment())
        self.addCleanup(other.end, 0)

        def named():
            client = self.start_tool("ib_send_lat", "-p", port, "localhost").end(60)
            self.assertEqual(client.status, 1, client)
            return self.NAMED in client.stderr
        self.assertTrue(rdmameter.wait_until(named, 20))  # it does not say when it listens


@rdmameter.on(rdmameter.SOFTWARE)
class Inline(Front):
    def inlined(self, tool, *arguments):
        """What the client's block says, and whether its row's messages were inlined."""
        path = self.output()
        client, _ = self.measure_both(tool, "-n", "100", "--out_json_file", path, *arguments)
        with open(path, encoding="utf-8") as file:
            [row] = json.load(file)["benchmarks"]
        return int(re.search(r" Max inline data : (\d+)\[B\]\n", client.stdout)[1]), row.get("inlined", False)

    def test_is_what_perftest_asks_for_on_each_adapter(self):
        for personality, figure in (("mlx5-roce", 236), ("bnxt", 96), ("irdma-roce", 101), ("generic", 0), ("rxe", 0)):
            with self.subTest(personality):
                self.play(personality)
                self.assertEqual(self.inlined("ib_send_lat"), (figure, figure > 0))
        self.play("mlx5-roce")
        self.assertEqual(self.inlined("ib_write_lat"), (220, True))
        self.assertEqual(self.inlined("ib_write_lat", "-s", "230"), (220, False))

    def test_is_off_where_it_is_switched_off_and_as_large_as_asked(self):
        self.play("mlx5-roce")
        for tool in ("ib_send_lat", "ib_write_lat", "ib_write_bw"):
            self.assertEqual(self.inlined(tool, "-s", "64", "-I", "0"), (0, False), tool)
            self.assertEqual(self.inlined(tool, "-s", "64", "-I", "64"), (64, True), tool)


@rdmameter.spared_in_vm
class Consumers(Front):
    """What scripts do with perftest's output, each kind as some public program does it."""

    def logs_of_both(self, tool, options, status=rdmameter.PASS, serve=True):
        """The logs of `TOOL ... >log 2>&1` at the server and the client."""
        self.port, logs = str(rdmameter.free_port()), [self.output(), self.output()]

        def start(log, *host):
            command = ["sh", "-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh", log, rdmameter.program, "perftest", tool, "-p", self.port]
            started = rdmameter.Started([*command, *options, *host], self.environment())
            self.addCleanup(started.end, 0)
            return started
        ends = [start(logs[0])] if serve else []
        if serve:  # by its text, or by its port where it prints none
            rdmameter.wait_until(lambda: re.search("Waiting for client to connect|local address:", self.text(logs[0])) or self.listens(self.port))
        ends.insert(0, start(logs[1], "127.0.0.1"))
        self.assertEqual([end.end(180).status for end in ends], [status] * len(ends), [self.text(log) for log in logs])
        return [self.text(log) for log in logs]

    @staticmethod
    def listens(port):
        with open("/proc/net/tcp", encoding="ascii") as table:
            return re.search(rf" 00000000:{int(port):04X} \S+ 0A ", table.read())

    @staticmethod
    def text(path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def piped(self, text, script):
        return subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, check=True, timeout=30).stdout

    def test_a_reader_of_columns_finds_them_by_words_and_by_their_line(self):
        _, log = self.logs_of_both("ib_read_bw", ("-a", "-n", "20"))
        self.assertGreater(float(self.piped(log, "tail -n 2 | head -n 1 | awk '{print $4}'")), 0)
        _, log = self.logs_of_both("ib_write_bw", ("-F", "-q", "2", "-n", "5000", "--report_gbits"))
        [line] = [line for line in log.splitlines() if "65536      10000" in line]
        self.assertGreater(float(line.split()[3]), 0)
        _, log = self.logs_of_both("ib_write_lat", ("-F", "-s", "8", "-n", "10000"))
        self.assertGreater(float(self.piped(log, "grep '^ 8[[:space:]]\\+10000' | awk '{print $6}'")), 0)

    def test_a_reader_of_lines_by_patterns_finds_row_and_settings_in_both_logs(self):
        for log in self.logs_of_both("ib_write_bw", ("-R", "-s", "65536", "-n", "1000", "-m", "1024", "-q", "4", "--report_gbits")):
            [row] = re.findall(r"^\s*\d+\s+\d+\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", log, re.MULTILINE)
            self.assertGreater(float(row[1]), 0)
            self.assertIn("RDMA_Write BW Test", log)
            pairs = dict((name.strip(), value) for name, value in re.findall(r"([\w\s\*]+):\s+([\w\[\]\/.]+)", log))
            self.assertEqual((pairs["rdma_cm QPs"], pairs["method"], pairs["Mtu"]), ("ON", "rdma_cm", "1024[B]"), pairs)
            self.assertEqual(len(re.findall(r"(?:local|remote) address: LID \S+ QPN 0x[0-9a-f]+ PSN \S+$", log, re.MULTILINE)), 8)

    def test_a_reader_of_one_number_finds_no_other_line(self):
        for log in self.logs_of_both("ib_send_bw", ("--output", "bandwidth", "--rdma_cm", "--size", "4096", "-n", "100")):
            [line] = [line for line in log.splitlines() if line and "WARNING:" not in line]
            self.assertRegex(line, r"^\d+\.\d{6}$")

    def test_a_reader_of_failures_finds_a_dead_server_and_no_word_of_failure_else(self):
        _, log = self.logs_of_both("ib_send_bw", ("-n", "100"), status=1, serve=False)
        self.assertTrue(log.startswith(f"Couldn't connect to 127.0.0.1:{self.port}\n"), log)
        for log in self.logs_of_both("ib_write_bw", ("-b", "-F", "-D", "1", "-q", "2")):
            self.assertNotRegex(log, "(?i)error|fail")

    def test_a_reader_of_statuses_alone_finds_none_but_0(self):
        for tool, options in (("ib_send_bw", ("-N",)), ("ib_send_bw", ("-c", "UC")), ("ib_send_bw", ("-c", "UD")), ("ib_write_bw", ("-l", "4")),
                              ("ib_read_bw", ("-Q", "5")), ("ib_write_bw", ("-y", "10G")), ("ib_write_bw", ("-z",)), ("ib_send_lat", ("-e",)),
                              ("ib_send_bw", ("-R", "-T", "128")), ("ib_send_lat", ("-Q", "10")), ("ib_atomic_bw", ("-R", "-S", "1"))):
            with self.subTest(tool, options=options):
                self.logs_of_both(tool, ("-n", "100", *options))


class Ends(Front):
    def test_the_server_fails_below_its_own_limit_where_perftests_takes_part_in_the_test(self):
        bandwidth, rate = "Error: BW result is below bw limit\n", "Error: Msg rate  is below msg_rate limit\n"
        for tool, options, limits, says in (
                ("ib_send_bw", (), ("-w", "1e9"), bandwidth), ("ib_write_bw", ("-b",), ("-w", "1e9"), bandwidth),
                ("ib_write_bw", ("--write_with_imm",), ("-w", "0", "-y", "1e9"), rate), ("ib_send_bw", (), ("-y", "1e9"), ""),
                ("ib_write_bw", (), ("-w", "1e9"), ""), ("ib_read_bw", (), ("-w", "1e9"), ""), ("ib_send_lat", (), ("-w", "1e9"), "")):
            with self.subTest(tool, options=options, limits=limits):
                server = self.serve_tool(tool, *options, *limits)
                client = self.start_tool(tool, "-p", self.port, "-n", "100", *options, "localhost").end(60)
                server = server.end(30)
                self.assertEqual((client.status, server.status), (0, 1 if says else 0), f"{client}\n{server}")
                self.assertTrue(server.stderr.startswith(says) and bool(server.stderr) == bool(says), server)

    def test_the_server_shows_the_use_of_its_cpu_where_perftests_measures_it(self):
        for tool, spins in (("ib_send_bw", True), ("ib_write_lat", True), ("ib_write_bw", False)):
            options = ("-D", "1", "--cpu_util")
            _, server = self.measure_both(tool, *options, at_server=options)
            [row] = rows(server.stdout)
            self.assertTrue(server.stdout.splitlines()[-3].endswith("    CPU_Util[%]"), server)
            self.assertEqual(row[-1] > 0, spins, server)

    def test_addresses_are_exchanged_over_tcp_also_where_rdma_cm_was_asked_for(self):
        for end in self.measure_both("ib_send_bw", "-z", "-n", "100", at_server=("-z",)):
            self.assertEqual((block_of(end.stdout)["rdma_cm QPs"], block_of(end.stdout)["Data ex. method"]), ("OFF", "Ethernet"), end)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_the_group_of_a_multicast_is_shown_where_it_is_received(self):
        for options, group in ((("-M", "239.1.2.3"), "00:" * 10 + "255:255:239:01:02:03"), ((), None)):
            client, server = self.measure_both("ib_send_bw", "-g", "-n", "100", *options, at_server=("-g", *options))
            shown = [re.findall(r" (local|remote) address: LID \S+ QPN (\S+) PSN \S+\n (M?GID): (\S+)\n", end.stdout) for end in (client, server)]
            [group_at_client], [group_at_server] = [[line for line in lines if line[2] == "MGID"] for lines in shown]
            self.assertEqual(group_at_client[:2], ("remote", "0xffffff"), client)
            self.assertEqual(group_at_server[:2], ("local", "0xffffff"), server)
            self.assertEqual({group_at_client[3], group_at_server[3]}, {group or group_at_client[3]})
            self.assertEqual([len(lines) for lines in shown], [2, 2])

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_one_whose_port_is_down_ends_with_perftests_line(self):
        more = {"RDMAMETER_DEVICE_PORTS": "soft0=DOWN", "RDMAMETER_DEVICE_SESSION": f"down-{os.getpid()}"}
        down = r"^ Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device\nrdmameter: -i auto: not an ACTIVE port of soft0 \(ports: 1 DOWN\)\n$"
        server = self.start_tool("ib_write_bw", "-p", str(rdmameter.free_port()), "-d", "soft0", **more).end(60)
        self.assertEqual((server.status, server.stdout), (1, ""))
        self.assertRegex(server.stderr, down)
        server = self.serve_tool("ib_write_bw", "-d", "soft1", **more)
        client = self.start_tool("ib_write_bw", "-d", "soft0", "-p", self.port, "-n", "100", "localhost", **more).end(60)
        self.assertEqual((client.status, client.stdout), (1, ""))
        self.assertRegex(client.stderr, down)

    def test_each_chooses_its_device(self):
        name, other = (rdmameter.active_ports() * 2)[:2]
        name, other = name[0]["name"], other[0]["name"]
        client, server = self.measure_both("ib_write_lat", "-d", name, "-n", "100", at_server=("-d", other), RDMAMETER_NOTES="1")
        self.assertRegex(client.stdout, rf"\tDevice +: {name}\n")
        self.assertRegex(server.stderr, rf"served by {other}\b")

    def test_the_client_connects_from_the_address_that_it_is_given(self):
        for option, address in (("--bind_source_ip", "127.0.0.3"), ("--source_ip", "127.0.0.1")):
            _, server = self.measure_both("ib_write_bw", "-n", "100", option, "127.0.0.3", at_server=("--bind_source_ip", "127.0.0.1"),
                                          RDMAMETER_NOTES="1")
            self.assertRegex(server.stderr, rf"{address}:\d+: connected")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_qps_that_rdma_cm_connects_have_the_address_that_an_end_is_bound_to(self):
        for here, there in (("127.0.0.2", "127.0.0.3"), ("127.0.0.3", "127.0.0.2")):  # of the first device and of the second
            self.port = str(rdmameter.free_port())
            server = self.start_tool("ib_write_bw", "-R", "-p", self.port, "--bind_source_ip", there)
            server.await_text("stdout", "Waiting for client")
            client = self.start_tool("ib_write_bw", "-R", "-n", "100", "-p", self.port, "--bind_source_ip", here, there).end(60)
            self.assertEqual((client.status, server.end(30).status), (rdmameter.PASS, rdmameter.PASS), client)
            gids = re.findall(r" (local|remote) address: .*\n GID: .*:127:00:00:(\d+)\n", client.stdout)
            self.assertEqual(gids, [("local", f"0{here[-1]}"), ("remote", f"0{there[-1]}")], client)

    def test_the_samples_are_at_both_ends_where_perftest_has_them(self):
        samples = (lambda end: re.findall(r"^\d+, ([\d.e+]+)$", end.stdout, re.MULTILINE))
        for tool, options, at_server, counts in (("ib_send_lat", ("-n", "50"), ("-n", "50"), (50, 50)), ("ib_write_lat", ("-n", "50"), (), (50, 50)),
                                                 ("ib_write_lat", ("-n", "50"), ("-n", "49"), (50, 0)), ("ib_read_lat", ("-n", "50"), (), (50, 0)),
                                                 ("ib_send_lat", ("-D", "1"), ("-D", "1"), (0, 0))):
            with self.subTest(tool, options=options, at_server=at_server):
                client, server = self.measure_both(tool, "-H", *options, at_server=("-H", *at_server))
                self.assertEqual((len(samples(client)), len(samples(server))), counts, f"{client}\n{server}")
                if counts[1]:
                    self.assertEqual(samples(server), samples(client))
                    self.assertRegex(server.stdout, r"usec\] \n#, usec\n1, .*\n(\d+, .*\n)+-+\n #bytes .*\n 2 +50 .*\n-+\n$")

    def test_the_server_shows_units_of_its_own(self):
        client, server = self.measure_both("ib_write_bw", "-n", "100", at_server=("--report_gbits",))
        mib_per_s, gbits = rows(client.stdout)[0][3], rows(server.stdout)[0][3]
        self.assertAlmostEqual(gbits, mib_per_s * 2**20 * 8e-9, delta=0.01)
        self.assertIn("BW average[Gb/sec]", server.stdout)

    def test_a_token_at_both_ends_admits_the_client_and_at_one_does_not(self):
        token = "0123456789abcdef"
        _, server = self.measure_both("ib_send_lat", "-n", "100", token=token, RDMAMETER_NOTES="1")
        self.assertNotIn("no token", server.stderr)
        server = self.serve_tool("ib_send_lat", token=token)
        client = self.start_tool("ib_send_lat", "-p", self.port, "localhost").end(30)
        self.assertEqual(client.status, 1, client)
        self.assertIn("token", client.stderr)
        self.assertIsNone(server.process.poll())

    def test_a_client_that_measures_ends_by_the_signal_and_its_server_with_1(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve_tool("ib_write_bw")
            client = self.start_tool("ib_write_bw", "-p", self.port, "-D", "60", "localhost")
            client.await_text("stdout", "#bytes")
            client.process.send_signal(number)
            self.assertEqual(client.end(30).status, -number)
            server = server.end(30)
            self.assertEqual(server.status, 1, server)
            self.assertRegex(server.stderr, r":\d+: dropped: ")

    def test_an_interrupt_ends_a_run_without_an_end_well_at_both_ends(self):
        server = self.serve_tool("ib_write_bw", "--run_infinitely")
        client = self.start_tool("ib_write_bw", "-p", self.port, "--run_infinitely", "-D", "1", "localhost")
        client.await_text("stdout", r"\n 65536 ")
        client.process.send_signal(signal.SIGINT)
        client, server = client.end(30), server.end(30)
        self.assertEqual((client.status, client.stderr, server.status, server.stderr), (0, "", 0, ""))
        self.assertRegex(client.stdout, r"\n\n User stopped traffic\n-+\n$")
        self.assertRegex(server.stdout, r"MsgRate\[Mpps\]\n Client closed connection\n-+\n$")

    def test_a_run_without_an_end_takes_several_interrupts_as_one(self):  # `timeout -s INT` sends two
        for tool, options in (("ib_write_bw", ()), ("ib_send_bw", ("-b",))):
            server = self.serve_tool(tool, "--run_infinitely", *options)
            client = self.start_tool(tool, "-p", self.port, "--run_infinitely", "-D", "1", *options, "localhost")
            client.await_text("stdout", r"\n 65536 +[1-9]")
            for _ in range(3):
                client.process.send_signal(signal.SIGINT)
                time.sleep(0.01)  # or the kernel makes one of them
            client, server = client.end(30), server.end(30)
            self.assertEqual((client.status, client.stderr, server.status, server.stderr), (0, "", 0, ""), f"{client}\n{server}")
            # docs/perftest.md: with -b a server has one row of all, at the end.
            self.assertEqual(len(rows(server.stdout)), 1 if options else 0, server)

    def test_a_run_without_an_end_ends_by_sigterm(self):
        server = self.serve_tool("ib_write_bw", "--run_infinitely")
        client = self.start_tool("ib_write_bw", "-p", self.port, "--run_infinitely", "localhost")
        client.await_text("stdout", "#bytes")
        client.process.send_signal(signal.SIGTERM)
        self.assertEqual((client.end(30).status, server.end(30).status), (-signal.SIGTERM, 1))

    def test_messages_name_the_options_of_the_tool(self):
        for tool, arguments, says in (("ib_send_lat", ("-c", "UD", "-s", "8000"), r"use -s \d+ or less, or -c RC"),
                                      ("ib_read_bw", ("-o", "255", "-n", "100"), r"-o 255: the two ends allow at most")):
            server = self.serve_tool(tool)
            client = self.start_tool(tool, "-p", self.port, *arguments, "localhost").end(60)
            self.assertEqual(client.status, 1, client)
            self.assertRegex(client.stderr, says)
            self.assertNotRegex(client.stderr + server.end(30).stderr, "--(transport|size|outstanding-reads)")

    def test_a_host_that_is_not_known_has_perftests_lines_first(self):
        client = self.start_tool("ib_send_lat", "-p", "18515", "no..such.host").end(60)  # no name: nobody is asked
        self.assertEqual(client.status, 1, client)
        self.assertRegex(client.stderr, r"^\S.* for ai_family: \d service: no\.\.such\.host port: 18515\nProblem in resolving basic address and port\n"
                                        r"Unable to open file descriptor for socket connection\n Unable to init the socket connection\nrdmameter: cannot look up")

    def test_without_a_server_the_client_ends_with_1(self):
        client = self.start_tool("ib_send_lat", "-p", str(rdmameter.free_port()), "localhost").end(60)
        self.assertEqual(client.status, 1, client)


if __name__ == "__main__":
    rdmameter.main()
