#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the program says and returns for good and bad command lines, as far as no device is needed.

Usage: cli_test.py PATH_OF_RDMAMETER [unittest's arguments]
"""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
USAGE, NO_DEVICE, FAILED = 2, 77, 99


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment})


def has_device():
    return os.path.isdir("/sys/class/infiniband") and bool(os.listdir("/sys/class/infiniband"))


class Help(unittest.TestCase):
    def test_goes_to_stdout_with_status_0_for_every_subcommand(self):
        for words in ([], ["run"], ["serve"], ["devices"], ["show"], ["compare"], ["ab"], ["merge"], ["topo"],
                      ["report"], ["export"]):
            for flag in ("--help", "-h"):
                result = run(*words, flag)
                self.assertEqual((result.returncode, result.stderr), (0, ""), words)
                self.assertIn(" ".join(["rdmameter", *words]), result.stdout)
                if words:
                    self.assertIn("Examples:", result.stdout)
                for line in result.stdout.splitlines():
                    self.assertLessEqual(len(line), 80, line)

    def test_of_run_says_default_range_and_unit_of_an_axis(self):
        text = " ".join(run("run", "--help").stdout.split())
        self.assertIn("--size BYTES payload of one message [bytes]; an atomic's is 8; 1 to 2G. "
                      "Default: 64K, but for latencies 64", text)
        self.assertIn("--transport rc|uc|ud", text)
        self.assertIn("1 to 2^20. Default: 128 (not for latencies)", text)
        self.assertIn("1us to 3600s. Default: 100ms --", text)
        self.assertIn("Usage: rdmameter run [HOST | --loopback] TEST...", text)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^rdmameter \d+\.\d+\.\d+\n$")

    def test_list_has_a_line_for_each_test(self):
        result = run("run", "--list")
        self.assertEqual(result.returncode, 0)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()],
                         [f"{operation}_{measure}" for operation, measures in (
                             ("send", "lat bw"), ("send_imm", "lat bw"), ("write", "lat cqe_lat bw"),
                             ("write_imm", "lat bw"), ("read", "lat bw"), ("fetch_add", "lat bw"),
                             ("cmp_swap", "lat bw"), ("mcast", "lat bw"), ("tcp", "lat bw")) for measure in measures.split()] +
                         ["reg_mr", "dereg_mr", "create_cq", "destroy_cq", "create_qp", "destroy_qp",
                          "modify_qp_init", "modify_qp_rtr", "modify_qp_rts", "create_ah", "destroy_ah",
                          "bind_mw_1", "bind_mw_2", "invalidate_mw",
                          "connect", "cm_resolve_addr", "cm_resolve_route", "cm_connect"])


class BadInput(unittest.TestCase):
    def refused(self, *arguments, says, **environment):
        result = run(*arguments, **environment)
        self.assertEqual(result.returncode, USAGE, (arguments, result))
        self.assertEqual(result.stdout, "", arguments)
        self.assertIn(says, result.stderr, arguments)

    def test_without_a_subcommand_says_which_there_are(self):
        self.refused(says="devices")

    def test_unknown_words_come_with_the_nearest_known(self):
        self.refused("rum", says="there is no subcommand 'rum'; did you mean 'run'?")
        self.refused("--verison", says="unknown option '--verison'; did you mean '--version'?")
        self.refused("run", "--loopback", "write_lat", "--sizes", "8",
                     says="unknown option '--sizes'; did you mean '--size'?")
        self.refused("run", "--loopback", "write_lat", "--sizes=8", says="did you mean '--size'?")
        self.refused("run", "--loopback", "send_latt",
                     says="there is no test 'send_latt'; did you mean 'send_lat'?")
        self.refused("run", "send_latt", says="did you mean 'send_lat'?")
        self.refused("run", "--device", "null", "wirte_lat", says="did you mean 'write_lat'?")
        self.refused("serve", "--prot", "5", says="did you mean '--port'?")
        self.refused("show", "--cvs", "x.json", says="did you mean '--csv'?")
        self.refused("run", "--loopback", "write_lat", "-x", says="unknown option '-x'")
        self.refused("run", "--loopback", "write_lat", "--benchmark_filtre=x",
                     says="did you mean '--benchmark_filter'?")

    def test_sizes(self):
        for size in ("8kk", "0", "-1", "1e3", "", "3G", "2..", "8..4", "1,,2", "99999999999999999999"):
            self.refused("run", "--loopback", "write_lat", "--size", size, says="--size")
            self.refused("run", "--loopback", "write_lat", f"--size={size}", says="--size")
        self.refused("run", "--loopback", "write_lat", "--size", "8kk",
                     says="--size does not take '8kk'; it takes bytes from 1 to 2G")

    def test_other_axes_and_options(self):
        for option, value in (("--transport", "xrc"), ("--depth", "0"), ("--port-num", "257"),
                              ("--mtu", "1000"), ("--duration", "1ns"), ("--duration", "forever"),
                              ("--wait", "sleep"), ("--repetitions", "0"), ("--repetitions", "1e3"),
                              ("--port", "65536"), ("--port", ""), ("--repetitions", ""), ("--iterations", "0"), ("--verify=perhaps", None)):
            arguments = [option] if value is None else [option, value]
            self.refused("run", "127.0.0.1", "write_lat", *arguments, says=option.split("=")[0])
        self.refused("run", "--loopback", "write_lat", "--size", says="--size")
        self.refused("run", "--loopback", "write_lat", "--size", "1", "--size", "2", says="--size")
        self.refused("run", "--loopback", "write_lat", "--iterations", "5", "--duration", "1",
                     says="--iterations and --duration")
        self.refused("serve", "--port", "x", says="--port")

    def test_without_a_place_or_a_test_says_what_is_missing(self):
        self.refused("run", "write_lat", says="rdmameter run --loopback write_lat")
        self.refused("run", "--loopback", says="name at least one test")
        self.refused("run", says="name at least one test")
        self.refused("show", says="name at least one result file")

    def test_too_many_cases(self):
        self.refused("run", "--loopback", "all", "--size", "1..1000:1", "--warmup", "1..200:1",
                     says="more than 100000 cases")

    def test_a_filter_that_lets_nothing_through_or_is_none(self):
        self.refused("run", "--loopback", "write_lat", "--benchmark_filter=read", says="lets no case")
        self.refused("run", "--loopback", "write_lat", "--benchmark_filter=(", says="--benchmark_filter")

    def test_an_output_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("run", "--device", "null", "write_lat", "-o", folder, says="-o")
            self.refused("run", "--device", "null", "write_lat", "-o", "", says="-o takes")
            self.refused("run", "--device", "null", "write_lat", "-o", folder + "/no/where.json",
                         says="No such file or directory")

    def test_files_to_show_that_are_no_results(self):
        self.refused("show", "/dev/null", says="/dev/null")
        self.refused("show", "no-such-file.json", says="no-such-file.json")

    def test_benchmark_arguments_go_with_run(self):
        self.refused("devices", "--benchmark_filter=x", says="rdmameter run")


class DryRun(unittest.TestCase):
    def test_prints_cases_skips_time_and_memory_without_a_device(self):
        result = run("run", "--dry-run", "send_lat", "--size", "64,8K", "--transport", "rc,ud",
                     "--repetitions", "10")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("send_lat/rc/size:8192\n", result.stdout)
        self.assertIn("send_lat/ud/size:8192  skipped: a UD message is one packet", result.stdout)
        self.assertIn("4 cases, 1 skipped; 3 x 10 repetitions = 30 measurements", result.stdout)
        self.assertIn("memory:", result.stdout)

    def test_benchmark_list_tests_prints_our_names_through_the_filter(self):
        result = run("run", "*_lat", "--size", "1..4", "--benchmark_list_tests",
                     "--benchmark_filter=write.*size:(1|4)$")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "".join(f"write_{test}/rc/size:{size}\n"
                                                for test in ("lat", "cqe_lat", "imm_lat") for size in (1, 4)))

    def test_verify_alone_means_on(self):
        for words in (["--verify", "write_lat"], ["write_lat", "--verify"], ["write_lat", "--verify=on"],
                      ["write_lat", "--verify", "on"]):
            result = run("run", "--dry-run", *words)
            self.assertIn("write_lat/rc/verify:on\n", result.stdout, words)


class NothingToMeasure(unittest.TestCase):
    def test_is_status_2_and_its_file_has_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            result = run("run", "--loopback", "send_lat", "--size", "8K", "--transport", "ud", "-o", path)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("nothing was left to measure", result.stderr)
            with open(path, encoding="utf-8") as file:
                row, = json.load(file)["benchmarks"]
            self.assertTrue(row["skipped"])
            self.assertIn("8192 bytes are more than the largest MTU", row["skip_message"])

    def test_depth_too_small_for_signaling_is_a_reason(self):
        result = run("run", "--loopback", "write_bw", "--depth", "16", "--signal-every", "32")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("skipped: with --signal-every 32", result.stdout)
        self.assertIn("use --depth 32 or more", result.stdout)


class NullDevice(unittest.TestCase):
    def test_measures_every_test_into_a_result(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            result = run("run", "--device", "null", "*_lat", "*_bw", "--size", "8", "--iterations", "2000",
                         "--repetitions", "2", "-o", path, "--benchmark_context=rack=7")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stderr, "", "progress only at a terminal")
            # Twice each test on verbs; once why there is none over TCP.
            self.assertEqual(len(result.stdout.splitlines()), 36)
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
            self.assertEqual(len(made["benchmarks"]), 36)
            self.assertEqual(made["context"]["rack"], "7")
            self.assertIn("--device null", made["context"]["rdmameter"]["command"])
            self.assertNotIn("error_occurred", json.dumps(made["benchmarks"]))
            shown = run("show", path)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("write_lat", shown.stdout)

    def test_has_no_control_path(self):
        result = run("run", "--device", "null", "create_qp", "write_lat", "--iterations", "10")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("  skipped: the null device has no objects to create", result.stdout)

    def test_result_on_stdout_is_json_alone(self):
        result = run("run", "--device", "null", "write_lat", "--iterations", "100", "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["benchmarks"]), 1)

    def test_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = run("run", "--device", "null", "write_lat", "--iterations", "100", "-o", "/dev/full")
        self.assertEqual(result.returncode, FAILED, result.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            child = subprocess.run([PROGRAM, "run", "--list"], stdout=full, stderr=subprocess.PIPE,
                                   timeout=60, check=False)
        self.assertEqual(child.returncode, FAILED)


class Interrupt(unittest.TestCase):
    def test_ends_with_130_and_keeps_the_rows(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                path = folder + "/result.json"
                child = subprocess.Popen([PROGRAM, "run", "--device", "null", "write_lat", "--duration",
                                          "50ms", "--repetitions", "1000", "-o", path], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
                with child:
                    self.assertIn("duration:50ms", child.stdout.readline())
                    child.send_signal(number)
                    _, errors = child.communicate(timeout=10)
                self.assertEqual(child.returncode, 130, errors)
                with open(path, encoding="utf-8") as file:
                    rows = len(json.load(file)["benchmarks"])
                self.assertIn(rows, range(1, 100))
                self.assertIn(f"interrupted; rows in the result: {rows}", errors)


    def test_is_the_end_of_what_goes_on_until_then(self):
        for test in ("write_lat", "write_bw"):
            with self.subTest(test), tempfile.TemporaryDirectory() as folder:
                path = folder + "/result.json"
                child = subprocess.Popen([PROGRAM, "run", "--device", "null", test, "--duration", "0", "--interval",
                                          "0.1", "-o", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                with child:
                    self.assertRegex(child.stderr.readline(), r"0\.\d s  .*(Mmsg/s|one in)")
                    child.send_signal(signal.SIGINT)
                    _, errors = child.communicate(timeout=10)
                self.assertEqual(child.returncode, 0, errors)
                with open(path, encoding="utf-8") as file:
                    [row] = json.load(file)["benchmarks"]
                self.assertGreater(row["iterations"], 1000)
                self.assertEqual(row["case"]["duration_ns"], 0)


class Progress(unittest.TestCase):
    """What a terminal on stderr sees."""

    def seen(self, **environment):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            environment = {**os.environ, "TERM": "xterm", **environment}
            subprocess.run([PROGRAM, "run", "--device", "null", "write_lat", "--iterations", "100"],
                           stdout=subprocess.DEVNULL, stderr=theirs, timeout=60, check=True,
                           env={key: value for key, value in environment.items() if value is not None})
            os.close(theirs)
            text = b""
            try:
                while chunk := terminal.read(4096):
                    text += chunk
            except OSError:  # Linux's end of a pty
                pass
            return text.decode()

    def test_is_shown_at_a_terminal_and_not_under_ci(self):
        self.assertIn("1 of 1: write_lat/rc", self.seen(CI=None))
        self.assertEqual(self.seen(CI="true"), "")


class NoDevice(unittest.TestCase):
    def setUp(self):
        if has_device():
            self.skipTest("there is a verbs device")

    def test_is_status_77_and_says_what_to_do(self):
        for arguments in (["devices"], ["run", "--loopback", "write_lat"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, NO_DEVICE, (arguments, result))
            self.assertIn("device", result.stderr)

    def test_still_writes_a_result_with_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            result = run("run", "--loopback", "write_lat", "--size", "1,2", "-o", path)
            self.assertEqual(result.returncode, NO_DEVICE, result)
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["benchmarks"]
            self.assertEqual([row["error_occurred"] for row in rows], [True, True])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
