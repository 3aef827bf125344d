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
import unittest

PROGRAM = DOCS = None
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


def averages(stdout):
    """{size: average} of the rows below the header."""
    rows = (line.split() for line in stdout.splitlines())
    return {int(row[0]): float(row[3]) for row in rows if row and row[0].isdigit()}


class Output(unittest.TestCase):
    def test_of_a_bandwidth_has_perftests_columns(self):
        result = measured("ib_write_bw", "-s", "65536", "-n", "1000")
        row = first_row_by_header(result.stdout)
        self.assertEqual(list(row), ["#bytes", "#iterations", "BW peak[MiB/sec]", "BW average[MiB/sec]",
                                     "MsgRate[Mpps]"])
        self.assertEqual((row["#bytes"], row["#iterations"]), (65536, 1000))
        self.assertGreaterEqual(row["BW peak[MiB/sec]"], row["BW average[MiB/sec]"])
        # The same rate twice: MiB/s and millions of messages of 64 KiB, which is 1/16 MiB.
        self.assertAlmostEqual(row["BW average[MiB/sec]"] / (row["MsgRate[Mpps]"] * 1e6 / 16), 1, delta=0.01)
        self.assertIn("RDMA_Write BW Test", result.stdout)

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

    def test_of_all_sizes_has_a_row_for_each(self):
        rows = averages(measured("ib_write_bw", "-a", "-F", "--iters=200").stdout)
        self.assertEqual(list(rows), [1 << bit for bit in range(1, 24)])
        self.assertTrue(all(rows.values()))

    def test_has_as_many_words_between_blanks_as_perftests(self):
        """Tabs are no blanks: SuperBench takes rows of five such words, others `tr -s ' ' | cut -d ' ' -f N`."""
        stdout = measured("ib_write_bw", "-a", "-n", "200").stdout
        words = {int(row[0]): row for row in ([word for word in line.split(" ") if word] for line in stdout.splitlines()) if row and row[0].isdigit()}
        for size, average in averages(stdout).items():
            self.assertEqual(len(words[size]), 5 if average >= 1000 else 6, stdout)  # seven letters fill the column
            self.assertEqual(float(words[size][3]), average)
        row = measured("ib_send_lat", "-n", "500").stdout.splitlines()[-2]
        words = [word for word in row.split(" ") if word]
        self.assertEqual([len(words), words[5], float(words[6])], [10, "\t", float(row.split()[5])], row)  # t_avg

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
        self.assertIn("of perftest's keys it has `test_info` and `results`", result.stderr)

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
        self.assertRegex(result.stderr, "no verbs device|^Couldn't connect to 127.0.0.1:.*\n.*\n.*\nrdmameter: no server is listening on .*: "
                                        "start the same command there first, without a host\n$")

    def test_is_1_for_a_refused_option_a_wrong_value_and_an_unknown_option(self):
        self.failed("ib_write_bw", "--use_mlu=0", "host", says="--use_mlu: rdmameter measures memory of the host, of the RDMA device, and of GPUs by --use_cuda and --use_rocm")
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
        self.failed("ib_write_bw", "-d", "null", "-n", "1000", "-w", "1e12M", "host", says="is below -w, --limit_bw")
        self.failed("ib_write_bw", "-d", "null", "-n", "1000", "-w", "0", "-y", "1e12", "host", says="is below -y, --limit_msgrate")

    def test_is_0_where_one_of_all_sizes_reaches_the_limit(self):
        rows = averages(measured("ib_write_bw", "-a", "-n", "200").stdout)
        self.assertGreater(rows[1 << 23], 1000 * rows[2])
        measured("ib_write_bw", "-a", "-n", "200", "-w", str(rows[2] * 100))

    def test_is_1_below_a_limit_whose_first_line_is_perftests(self):
        for options, line in ((("-w", "1e12"), "Error: BW result is below bw limit\n"),
                              (("-w", "0", "-y", "1e12"), "Error: Msg rate  is below msg_rate limit\n")):
            result = perftest("ib_write_bw", "-d", "null", "-n", "1000", *options, "host")
            self.assertEqual(result.returncode, FAILED, result)
            self.assertTrue(result.stderr.startswith(line + "rdmameter: "), result)
            self.assertTrue(result.stdout.endswith("-\n"), result)  # the table is whole

    def test_is_0_below_a_message_rate_alone_which_a_note_says(self):
        measured("ib_write_bw", "-n", "1000", "-y", "1e12G")
        self.assertIn("is below -y", measured("ib_write_bw", "-n", "1000", "-y", "1e12G", **NOTES).stderr)

    def test_of_every_tool_is_that_of_perftest_for_the_options_that_scripts_give(self):  # avocado's list
        for tool in TOOLS:
            latency, pulls = tool.endswith("_lat"), "read" in tool or "atomic" in tool
            for options, taken in (("-t 1024", True), ("-Q 10", True), ("-w 100M" if latency else "-w 0M", True), ("-y 10G", True),
                                   ("-q 1", True), ("-q 2", not latency), ("-l 4", not latency),
                                   *((("-b", False),) if latency else ()), ("-N", not latency), ("-r 1024", not pulls), ("-s 9000", "atomic" not in tool), ("-s 8", True),
                                   ("-a -s 64", "atomic" not in tool), ("-S 1", True), ("-z", True), ("-f 5 -D 11 -D 1", True),
                                   ("-c UC", not pulls), ("-c XRC", False), ("-c DC", False), ("-c SRD", False),
                                   ("--burst_size=2G --rate_limit=10", False), ("--burst_size=2147483647 --rate_limit=10", True),
                                   ("--cpu_util", True), ("-D 10s", False), ("-O", False), ("--aes_xts", False),
                                   ("-j 127.0.0.1", True), ("--bind_source_ip 127.0.0.1", True)):
                with self.subTest(tool, options=options):
                    result = perftest(tool, "-d", "null", "-n", "40", *options.split(), "localhost")
                    self.assertEqual(result.returncode, 0 if taken else FAILED, result)
                    self.assertEqual(bool(result.stderr), not taken, result)

    def test_is_1_where_there_is_no_such_device_which_perftests_lines_say_first(self):
        for host in ((), ("localhost",)):
            result = perftest("ib_write_bw", "-d", "nosuch", *host)
            self.assertEqual(result.returncode, FAILED, result)
            self.assertTrue(result.stderr.startswith("IB device nosuch not found\n Unable to find the Infiniband/RoCE device\nrdmameter: "), result)

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


class Documentation(unittest.TestCase):
    def test_has_the_table_of_options_as_the_program_prints_it(self):
        table = perftest("--options").stdout
        self.assertIn("| `-s`, `--size` |", table)
        self.assertIn(table, pathlib.Path(DOCS).read_text(encoding="utf-8"))


if __name__ == "__main__":
    PROGRAM, DOCS = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
