#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the program says and returns for good and bad command lines, as far as no device is needed.

Usage: cli_test.py PATH_OF_RDMAMETER [unittest's arguments]
"""
import fcntl
import functools
import itertools
import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

from terminal import at_terminal

os.environ.pop("COLUMNS", None)  # how wide lines are is for tests to say

PROGRAM = None
USAGE, NO_DEVICE, FAILED, INTERRUPTED = 2, 77, 99, 130


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment})


def cpu_seconds(pid):
    """What a process that runs has used [s]."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of_a_short_run(*arguments):
    with subprocess.Popen([PROGRAM, "run", *arguments], stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, child
    return used.ru_utime + used.ru_stime


def is_sanitized():
    program = pathlib.Path(PROGRAM).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def has_device():
    return os.path.isdir("/sys/class/infiniband") and bool(os.listdir("/sys/class/infiniband"))


class Readme(unittest.TestCase):
    def test_shows_what_the_program_prints(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
        with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
            [sample] = re.findall(r"```\n(tests/data/base.json\n.*?)```", file.read(), re.S)
        printed = subprocess.run([os.path.abspath(PROGRAM), "show", "tests/data/base.json"], cwd=root, capture_output=True,
                                 text=True, timeout=60, check=True,
                                 env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "80"}).stdout
        self.assertEqual(sample, printed)


class Texts(unittest.TestCase):
    def changed_result(self, **keys):
        """The path of a result whose first row has these keys."""
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/corpus/failed.json")
        result = json.loads(pathlib.Path(root).read_text(encoding="utf-8"))
        result["benchmarks"][0].update(keys)
        file = tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8")  # pylint: disable=consider-using-with
        self.addCleanup(file.close)
        json.dump(result, file)
        file.flush()
        return file.name

    def test_stderr_is_ascii_where_the_locale_is_not_utf_8(self):
        for locale, quoted in (("C", "'5~2us'"), ("de_DE", "'5~2us'"), ("C.UTF-8", "'5±2µs'")):
            done = run("run", "--device", "null", "5±2µs", LC_ALL=locale)
            self.assertEqual(done.returncode, USAGE, done)
            self.assertIn(quoted, done.stderr)

    def test_a_text_that_a_spreadsheet_takes_for_a_formula_is_none_in_csv(self):
        for text in ("=1+2", "+1", "-1", "@SUM(A1)"):
            path = self.changed_result(name=text, run_name=text, error_occurred=False)
            for more in ((), ("--tidy",)):
                shown = run("show", "--csv", *more, path).stdout
                self.assertIn("'" + text, shown[:20000])
                self.assertNotRegex(shown, f"(^|,)\"?{re.escape(text)}")


    def test_what_turns_a_text_around_is_escaped_in_every_file_of_json(self):
        base = pathlib.Path(os.path.dirname(os.path.abspath(__file__)), "../data/base.json").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            path, written = pathlib.Path(folder, "in.json"), folder + "/out.json"
            path.write_text(base.replace("_lat/", "_lat\u202e/"), encoding="utf-8")
            for words in (("merge", path), ("export", path, "--format", "bmf"), ("export", path, "--format", "github-smaller")):
                done = run(*words, "-o", written)
                self.assertEqual(done.returncode, 0, done)
                text = pathlib.Path(written).read_text(encoding="utf-8")
                self.assertIn("_lat\\u202e/", text, words)
                self.assertNotIn("\u202e", text, words)
            done = run("history", "add", path, "--into", folder + "/history.jsonl")
            self.assertEqual(done.returncode, 0, done)
            self.assertNotIn("\u202e", pathlib.Path(folder, "history.jsonl").read_text(encoding="utf-8"))


class ResultsPage(unittest.TestCase):
    def test_names_every_key_of_an_environment(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
        with open(os.path.join(root, "docs/results.md"), encoding="utf-8") as file:
            table = file.read().partition("An environment describes")[2].partition("Some files have more keys")[0]
        with tempfile.TemporaryDirectory() as folder:  # of today's program, but the null device is no device
            path = os.path.join(folder, "r.json")
            self.assertEqual(run("run", "--device", "null", "write_lat", "--iterations", "10", "-o", path).returncode, 0)
            files = [json.loads(pathlib.Path(each).read_text(encoding="utf-8")) for each in (path, os.path.join(root, "tests/data/base.json"))]
        stated = files[0]["context"]["rdmameter"]["defaults"]
        self.assertEqual((stated["latency"]["depth"], stated["bandwidth"]["depth"], stated["ranks"]["graph"]), (1, 128, "mesh"))
        keys = set()
        for environment in (file["context"]["rdmameter"]["initiator"] for file in files):
            keys |= {*environment, *environment["clock"], *(environment["device"] or {})}
        self.assertLessEqual({"boot_id", "build", "read_ns", "gid_type"}, keys)
        for key in keys:
            self.assertRegex(table, rf"`(device\.)?{key}`")


class Help(unittest.TestCase):
    def test_is_given_whatever_else_is_wrong(self):
        for words in (["topo", "--ranks", "x"], ["run", "--repetitions", "0"], ["compare", "--floor", "much"]):
            result = run(*words, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertIn(f"Usage: rdmameter {words[0]}", result.stdout)

    def test_goes_to_stdout_with_status_0_for_every_subcommand(self):
        for words in ([], ["run"], ["serve"], ["devices"], ["doctor"], ["check"], ["show"], ["compare"], ["ab"], ["ci"], ["merge"],
                      ["topo"], ["report"], ["export"], ["perftest"], ["generate"]):
            for flag in ("--help", "-h"):
                result = run(*words, flag)
                self.assertEqual((result.returncode, result.stderr), (0, ""), words)
                self.assertIn(" ".join(["rdmameter", *words]), result.stdout)
                if words:
                    self.assertIn("Examples:", result.stdout)
                for line in result.stdout.splitlines():
                    self.assertLessEqual(len(line), 80, line)

    def test_fits_the_terminal_for_every_subcommand(self):
        names = re.findall(r"(?m)^  (\w+) {3,}\w", run("--help").stdout.partition("Subcommands:")[2])
        self.assertLessEqual({"run", "ci", "doctor", "serve", "perftest", "generate", "history"}, set(names))
        perftests = [["perftest", tool] for tool in re.findall(r"\bib_\w+", run("generate", "bash").stdout)]
        self.assertTrue(perftests)
        for words in ([], *([name] for name in names), *(["history", each] for each in ("add", "show", "check", "ack")), *perftests):
            for width in (60, 80, 200):
                for line in run(*words, "--help", COLUMNS=str(width)).stdout.splitlines():
                    self.assertLessEqual(len(line), width if words[:1] == ["perftest"] else min(width, 80), (words, line))
        for width in (60, 80, 200):
            for words in (["run", "--help-all"], ["run", "--help", "depth"]):
                for line in run(*words, COLUMNS=str(width)).stdout.splitlines():
                    self.assertLessEqual(len(line), width, line)

    def test_keeps_descriptions_in_their_column_in_a_narrow_terminal(self):
        for words, option in ((["run", "--help-all"], "inline"), (["run", "--help-all"], "thread-domain"), (["topo", "--help"], "schedule")):
            below = re.search(rf"(?m)^  --{option} .*\n((?:(?!  -).+\n)*)", run(*words, COLUMNS="60").stdout)[1].splitlines()
            self.assertTrue(below, option)
            self.assertEqual({line[:30].strip() for line in below}, {""}, below)

    def test_says_the_same_at_every_width_and_a_broken_command_can_be_copied(self):
        for words in (["ci"], ["run"], ["compare"], ["doctor"]):
            narrow, wide = (run(*words, "--help", COLUMNS=width).stdout for width in ("60", "80"))
            self.assertEqual(narrow.replace("\\\n", " ").split(), wide.replace("\\\n", " ").split(), words)

    def test_of_run_describes_a_dozen_axes_and_names_the_others(self):
        few, every = run("run", "--help").stdout, run("run", "--help-all")
        self.assertEqual((every.returncode, every.stderr), (0, ""))
        self.assertIn("\n  --depth N ", few)
        self.assertNotIn("\n  --comp-vector N ", few)
        self.assertIn("\n  --comp-vector N ", every.stdout)
        self.assertIn(" --comp-vector ", few)
        self.assertLess(2 * len(few.splitlines()), len(every.stdout.splitlines()))
        for line in every.stdout.splitlines() + few.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_of_one_option_is_that_alone(self):
        for words in (["run", "--help", "comp-vector"], ["run", "-h", "--comp-vector"],
                      ["run", "write_lat", "--help", "comp-vector"]):
            result = run(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""), words)
            self.assertTrue(result.stdout.startswith("  --comp-vector N "), words)
            self.assertNotIn("--depth", result.stdout)
        self.assertTrue(run("topo", "--help", "traffic").stdout.startswith("  --traffic "))
        self.assertIn("Usage:", run("run", "--help", "write_lat").stdout)  # no option, so that all is shown
        self.assertIn("Usage:", run("history", "--help", "add").stdout)
        refused = run("run", "--help", "dept")
        self.assertEqual(refused.returncode, USAGE)
        self.assertIn("did you mean '--depth'", refused.stderr)

    def test_of_run_says_default_range_and_unit_of_an_axis(self):
        text = " ".join(run("run", "--help-all").stdout.split())
        self.assertIn("--size BYTES payload of one message [bytes]; an atomic's is 8; 1 to 2G. "
                      "Default: 64K, for latencies 64", text)
        self.assertIn("--transport rc|uc|ud", text)
        self.assertIn("1 to 2^20. Default: 128 (not for latencies)", text)
        self.assertIn("1us to 3600s. Default: 100ms --", text)
        self.assertIn("Usage: rdmameter run [HOST | ssh://HOST | --hosts FILE | --loopback] [TEST...] [--plan FILE]", text)

    def test_names_each_option_in_the_usage_or_says_that_there_are_more(self):
        for words in ([name] for name in re.findall(r"^  (\w+) ", run("--help").stdout.split("Subcommands:")[1], re.M)):
            text = run(*words, "--help").stdout
            usage = " ".join(re.search(r"^Usage: (.*\n(?: {17}.*\n)*)", text, re.M)[1].split())
            for option in re.findall(r"^  (?:(-\w)(?:,|  ))?(--[a-z][\w-]*)?", text, re.M):
                name = option[0] or option[1]
                if name and name != "-h" and "[options]" not in usage:
                    self.assertIn(name, usage, words)
            for name in re.findall(r"--?[a-z][\w-]*", usage):
                self.assertTrue(re.search(rf"^ .*{name}\b", text, re.M) or words == ["history"], (words, name))
        self.assertIn("| ack PATH --case NAME --since WHEN", " ".join(run("history", "--help").stdout.split()))

    def test_breaks_the_usage_where_the_terminal_does(self):
        for columns in (60, 80):
            for words in (("run",), ("topo",), ("ci",), ("history", "ack"), ("topo", "connections"), ("perftest",)):
                text = at_terminal(columns, [PROGRAM, *words, "--help"], os.environ)[0]
                self.assertLessEqual(max(map(len, text.splitlines())), columns, text)
            text = at_terminal(columns, [PROGRAM, "perftest", "--options"], os.environ)[0]
            self.assertLessEqual(max(map(len, text.splitlines())), columns, text)
            self.assertIn("--use_cuda_pcie_mapping", text)

    def test_of_run_says_for_which_tests_an_axis_is(self):
        text = " ".join(run("run", "--help-all").stdout.split())
        for axis, default in (("--timestamps", "off"), ("--cq-sharing", "shared"), ("--comp-vector", "0")):
            self.assertRegex(text, rf"{axis} [^.]*\. Default: {default} --")  # latencies have them, too
        self.assertIn("Default: 0 (control path only)", text)

    def test_version(self):
        result = run("--version")
        self.assertEqual(result.returncode, 0)
        self.assertRegex(result.stdout, r"^rdmameter \d+\.\d+\.\d+, protocol \d+\n$")

    def test_list_has_a_line_for_each_test(self):
        result = run("run", "--list")
        self.assertEqual(result.returncode, 0)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()],
                         [f"{operation}_{measure}" for operation, measures in (
                             ("send", "lat cqe_lat bw"), ("send_imm", "lat bw"), ("write", "lat cqe_lat bw"),
                             ("write_imm", "lat bw"), ("read", "lat bw"), ("fetch_add", "lat bw"),
                             ("cmp_swap", "lat bw"), ("atomic_write", "lat cqe_lat bw"), ("flush", "lat bw"), ("send", "load"), ("write", "load"), ("read", "load"),
                             ("fetch_add", "load"), ("cmp_swap", "load"), ("mix", "load"), ("mcast", "lat bw"), ("tcp", "lat bw")) for measure in measures.split()] +
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

    def test_a_decimal_comma_and_a_0_among_durations_are_refused_with_a_hint(self):
        point = "; a decimal point is a point: "
        for option, typed, hint in (("--duration", "0,5", point + "0.5"), ("--duration", "1s,0", "it goes with no other"),
                                    ("--loss-timeout", "0,5ms", point + "0.5ms"), ("--budget", "1,5", point + "1.5")):
            self.refused("run", "--device", "null", "write_lat", "--dry-run", "--until", "1%", option, typed, says=hint + "\n")
        self.refused("topo", "mesh", "--ranks", "4", "--patience", "2,5", says=point + "2.5\n")
        self.refused("compare", "a.json", "b.json", "--gate", "p99=0,5%", says=point + "0.5%;")
        for typed in ("0", "0.5", "1,2"):
            self.assertEqual(run("run", "--device", "null", "write_lat", "--dry-run", "--duration", typed).returncode, 0)

    def test_brackets_stay_where_several_words_may_stand(self):
        for words in (("run", "[127.0.0.1]", "tcp_lat"), ("doctor", "[127.0.0.1]"), ("topo", "connections", "[127.0.0.1]")):
            self.refused(*words, says="`[127.0.0.1]` is not an address: brackets are for IPv6 addresses")
        self.refused("run", "--device", "null", "[read_lat,write_lat]", says="there is no test '[read_lat,write_lat]'")
        self.refused("show", "[a.json]", says="[a.json]: cannot be read")
        self.refused("export", "--case", "[a]", "[b]", "--format=[c]", says="'[c]'")
        self.refused("serve", "[a]", says="unexpected argument '[a]'\n")

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
        self.refused("run", "--loopback", "write_lat", "--benchmark_min_warmup_time=0.1", says="of Google Benchmark's arguments rdmameter takes ")

    def test_an_empty_text_is_no_value(self):
        for words in (("run", "--device", "null", "write_lat", "-o"), ("run", "--device", "null", "write_lat", "--until"),
                      ("ci", "--plan", "plan.toml", "--out", "out", "--base"), ("topo", "mesh", "--ranks", "4", "--simulate"),
                      ("serve", "--token-file"), ("compare", "a.json", "b.json", "--gate"), ("history", "check", "h.jsonl", "--since")):
            self.refused(*words, "", says="takes a value, and got an empty text")

    def test_sizes(self):
        for size in ("8kk", "0", "-1", "1e3", "", "3G", "2..", "8..4", "1,,2", "99999999999999999999"):
            self.refused("run", "--loopback", "write_lat", "--size", size, says="--size")
            self.refused("run", "--loopback", "write_lat", f"--size={size}", says="--size")
        self.refused("run", "--loopback", "write_lat", "--size", "8kk",
                     says="invalid value '8kk' for --size: expected bytes from 1 to 2G")

    def test_other_axes_and_options(self):
        for option, value in (("--transport", "xrc"), ("--depth", "0"), ("--port-num", "257"),
                              ("--mtu", "1000"), ("--duration", "1ns"), ("--duration", "forever"),
                              ("--wait", "sleep"), ("--repetitions", "0"), ("--repetitions", "1e3"),
                              ("--port", "65536"), ("--port", ""), ("--repetitions", ""), ("--iterations", "0"), ("--verify=perhaps", None)):
            arguments = [option] if value is None else [option, value]
            self.refused("run", "127.0.0.1", "write_lat", *arguments, says=option.split("=")[0])
        self.refused("run", "--loopback", "write_lat", "--size", says="--size")
        self.refused("run", "--loopback", "write_lat", "--size", "1", "--size", "2",
                     says="--size is given more than once: give it once, with its values in a list: --size A,B")
        self.refused("topo", "ring", "--ranks", "2", "--traffic", "pairs", "--traffic", "alltoall", says="--traffic A,B")
        for arguments, says in (
                (("write_lat", "--depth", "64"), "--depth does not apply to any selected test: it applies to send_bw, "),
                (("write_lat", "write_bw", "--rate", "1000"), "write_load"),
                (("send_bw", "--loss-timeout", "1s"), "it applies to send_lat, send_imm_lat, write_lat, write_imm_lat, atomic_write_lat, mcast_lat\n"),
                (("send_lat", "--loss-timeout", "1s"), "as the other options are: see `rdmameter run --help loss-timeout`"),
                (("tcp_lat", "--transport", "ud"), "--transport does not apply")):
            self.refused("run", "--loopback", "--dry-run", *arguments, says=says)
        self.refused("topo", "ring", "--ranks", "2", "--traffic", "alltoall", "--opcode", "write",
                     says="--opcode does not apply")
        self.assertEqual(run("run", "--loopback", "--dry-run", "write_lat", "write_bw", "--depth", "64").returncode, 0)
        for words in (["--port", "1"], ["--token-file", "x"]):
            self.refused("run", "--loopback", "write_lat", *words, says="with --loopback or --device null there is no HOST")
        self.refused("run", "--loopback", "192.0.2.1", "write_lat", says="'192.0.2.1': with --loopback or --device null")
        self.refused("perftest", "--install", says="--install: its value is missing: DIR")
        ranks = run("topo", "mesh", "--ranks", "2", "-o", "/no/such/folder/x.json")
        self.assertEqual(ranks.returncode, USAGE)
        self.assertEqual(len(ranks.stderr.splitlines()), 1, ranks.stderr)  # and nothing of a launcher
        self.refused("run", "--loopback", "write_lat", "--port", "1", "--port", "2",
                     says="--port is given more than once: give it once\n")
        self.refused("run", "--loopback", "write_lat", "--iterations", "5", "--duration", "1",
                     says="--iterations and --duration")
        self.refused("serve", "--port", "x", says="--port")

    def test_axes_of_ablate(self):
        null = ("run", "--device", "null", "write_bw", "--ablate")
        self.refused(*null, "nothing", says="--ablate nothing: it takes up to 8 axes")
        self.refused(*null, "transport", says="not transport")
        self.refused(*null, "mtu", says="give the two values to compare, as --mtu A,B")
        self.refused(*null, "inline", "--inline", "off,16,32", says="it compares two values, and --inline has 3")
        self.refused(*null, "inline,inline", says="inline is there twice")
        self.refused(*null, "inline", "--until", "1%", says="--ablate, --until: give one")
        self.refused(*null, "inline", "--repetitions", "1", says="--repetitions 2 or more")
        self.refused("run", "--device", "null", "read_lat", "write_lat", "--ablate", "inline",
                     says="none of its axes has a meaning for read_lat")

    def test_goals_of_until(self):
        for goal in ("1", "0%", "fast", "p50", "speed=1%", "p50=1%,p50=2%"):
            self.refused("run", "--device", "null", "send_lat", "--until", goal, says="such as p50=1%,p99=5%")
        self.refused("run", "--device", "null", "send_lat", "--budget", "5s", says="--budget: is for --until, which is not given")
        self.refused("run", "--device", "null", "send_lat", "--until", "1%", "--budget", "0", says="--budget")
        self.refused("run", "--device", "null", "send_lat", "--until", "1%", "--repetitions", "10",
                     says="--until takes 20 repetitions or more of each case: --repetitions, the most that it may take, is 10")
        self.refused("run", "--device", "null", "send_lat", "--until", "1%", "--benchmark_enable_random_interleaving=true",
                     says="--benchmark_enable_random_interleaving")

    def test_without_a_place_or_a_test_says_what_is_missing(self):
        self.refused("run", "write_lat", says="rdmameter run --loopback write_lat")
        self.refused("run", "--loopback", says="name at least one test")
        self.refused("run", says="name at least one test")
        self.refused("show", says="name at least one result file")

    def test_too_many_cases(self):
        self.refused("run", "--loopback", "all", "--size", "1..1000:1", "--warmup", "1..200:1",
                     says="more than 100000 cases")

    def test_a_filter_that_lets_nothing_through_or_is_none(self):
        self.refused("run", "--loopback", "write_lat", "--benchmark_filter=read", says="matches no case")
        self.refused("run", "--loopback", "write_lat", "--benchmark_filter=(", says="--benchmark_filter")

    def test_an_output_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refused("run", "--device", "null", "write_lat", "-o", folder, says="-o")
            self.refused("run", "--device", "null", "write_lat", "-o", folder + "/no/where.json",
                         says="No such file or directory")

    def test_files_to_show_that_are_no_results(self):
        self.refused("show", "/dev/null", says="/dev/null")
        self.refused("show", "no-such-file.json", says="no-such-file.json")
        self.refused("show", "/", says="/: cannot be read: Is a directory")
        self.refused("run", "--plan", "/", "write_lat", says="/: cannot be read: Is a directory")
        self.refused("run", "localhost", "write_lat", "--token-file", "/", says="/: cannot be read: Is a directory")

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

    def test_ends_as_the_run_would_where_nothing_is_left_to_measure(self):
        for words in (["run", "send_lat", "--size", "8K", "--transport", "ud"], ["run", "write_bw", "--size", "2G", "--qps", "100"],
                      ["topo", "hypercube", "--ranks", "3"]):
            dry = run(*words, "--dry-run")
            self.assertEqual((dry.returncode, dry.stderr), (USAGE, ""), (words, dry.stdout))

    def test_of_topologies_tells_how_far_messages_go(self):
        dry = run("topo", "mesh", "hypercube", "random:8", "--traffic", "pairs,alltoall-pairwise,token", "--size", "64K", "--ranks", "4096",
                  "--dry-run")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        hops = dict(line.split("  hops: ") for line in dry.stdout.splitlines())
        told = {name.split("/")[0] + " " + name.split("traffic:")[1].split("/")[0]: text for name, text in hops.items()}
        self.assertEqual(told["mesh pairs"], "mean 1, max 1")
        self.assertEqual(told["hypercube alltoall-pairwise"], "mean 6, max 12")
        self.assertEqual(told["hypercube token"], "mean 2, max 12")
        self.assertRegex(told["random:8 pairs"], r"^mean 4\.\d+, max [56] \(of messages of 64 sampled ranks\)$")
        self.assertEqual(len(told), 9)

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
            # Twice each test on verbs; once why there is none over TCP, nor a FLUSH with an older libibverbs.
            without = 2 if "no ibv_wr_flush()" in result.stdout else 0
            self.assertEqual(len(result.stdout.splitlines()), 48 - without)
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
            self.assertEqual(len(made["benchmarks"]), 48 - without)
            self.assertEqual(made["context"]["rack"], "7")
            self.assertIn("--device null", made["context"]["rdmameter"]["command"])
            self.assertNotIn("error_occurred", json.dumps(made["benchmarks"]))
            shown = run("show", path)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("write_lat", shown.stdout)

    def test_ab_takes_no_repetitions_of_google_benchmark(self):
        result = run("ab", "--b", "--inline max", "--benchmark_repetitions=5", "--", "--device", "null", "write_lat")
        self.assertEqual(result.returncode, 2, result)
        self.assertIn("--blocks says how often", result.stderr)

    def test_a_case_of_which_no_request_fell_due_has_failed_and_the_next_is_measured(self):
        result = run("run", "--device", "null", "write_load", "write_lat", "--rate", "500", "--arrivals", "fixed", "--warmup", "0",
                     "--duration", "1ms", "-o", "-")
        self.assertNotEqual(result.returncode, 130, result.stderr)
        first, last = json.loads(result.stdout)["benchmarks"]
        self.assertIn("no request fell due", first["error_message"])
        self.assertIn("latency", last)

    def test_says_what_each_axis_is_worth(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/ablation.json"
            result = run("run", "--device", "null", "write_bw", "--ablate", "signal-every,post-list,api", "--iterations", "2000",
                         "--repetitions", "4", "--size", "8", "-o", path)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
        rows = made["benchmarks"]
        self.assertEqual(len(rows), 32)
        orders = [[row["name"] for row in rows[at:at + 8]] for at in range(0, 32, 8)]
        self.assertEqual({len(set(order)) for order in orders}, {8})
        self.assertGreater(len({tuple(order) for order in orders}), 1)
        ablation = made["context"]["rdmameter"]["ablation"]
        self.assertEqual([factor["levels"] for factor in ablation["factors"]],
                         [["1", "16"], ["1", "16"], ["classic", "extended"]])
        self.assertIn("time per message, 4 of 4 repetitions are whole, each of 8 runs", " ".join(result.stdout.split()))
        self.assertIn("signal-every × post-list", result.stdout)

    def test_is_repeated_until_its_median_is_known(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/until.json"
            result = run("run", "--device", "null", "send_lat", "write_bw", "--iterations", "2000", "--until", "50%", "-o", path)
            self.assertEqual(result.returncode, 0, result)
            rows = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["benchmarks"]
            self.assertEqual([row["until"]["ended"] for row in rows if "until" in row], ["reached"] * 2, rows[-1])
            self.assertEqual([row["until"]["metrics"][0]["metric"] for row in rows if "until" in row], ["p50_ns", "gbps"])
            self.assertGreaterEqual(len(rows), 40)
            self.assertIn("Medians as well known as --until asks: of 2 of 2 cases.", run("show", path).stdout)

            plan = folder + "/plan.toml"
            pathlib.Path(plan).write_text('tests = ["send_lat"]\nuntil = "p50=0.01%"\nbudget = "1ms"\n[axes]\niterations = 2000\n', encoding="utf-8")
            result = run("run", "--device", "null", "--plan", plan, "-o", path)
            self.assertEqual(result.returncode, 0, result)
            last = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["benchmarks"][-1]
            self.assertIn(last["until"]["ended"], ("budget", "reached"), last)
            self.assertIn("at most 10000 repetitions", run("run", "--device", "null", "--plan", plan, "--dry-run").stdout)
            self.assertIn("1 x 5 repetitions", run("run", "--device", "null", "--plan", plan, "--dry-run", "--repetitions", "5").stdout)
            pathlib.Path(plan).write_text('tests = ["send_lat"]\nrepetitions = 5\n', encoding="utf-8")
            self.assertIn("at most 10000 repetitions", run("run", "--device", "null", "--plan", plan, "--dry-run", "--until", "1%").stdout)
            pathlib.Path(plan).write_text('tests = ["send_lat"]\nuntil = "soon"\n', encoding="utf-8")
            result = run("run", "--device", "null", "--plan", plan)
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("--until 'soon'", result.stderr)

    def test_has_no_control_path(self):
        result = run("run", "--device", "null", "create_qp", "write_lat", "--iterations", "10")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("  skipped: the null device has no objects to create", result.stdout)

    def test_result_on_stdout_is_json_alone(self):
        result = run("run", "--device", "null", "write_lat", "--iterations", "100", "-o", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(json.loads(result.stdout)["benchmarks"]), 1)

    def test_a_run_that_is_refused_or_has_no_row_leaves_the_older_result(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            with open(path, "w", encoding="utf-8") as file:
                file.write("older")
            for arguments in (["--size", "7G"], ["--benchmark_context=date=1"], ["--benchmark_filter=none"]):
                result = run("run", "--device", "null", "write_lat", "-o", path, *arguments)
                self.assertEqual(result.returncode, USAGE, result)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "older", arguments)
            child = subprocess.Popen([PROGRAM, "run", "--device", "null", "write_lat", "--duration", "60", "-o", path],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            with child:
                self.assertRaises(subprocess.TimeoutExpired, child.wait, 2)
                child.kill()
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "older")
            self.assertEqual(os.listdir(folder), ["result.json"])

    def test_a_link_is_refused_ahead(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink("victim", folder + "/link")
            result = run("run", "--device", "null", "write_lat", "-o", folder + "/link")
            self.assertEqual((result.returncode, result.stdout), (USAGE, ""))
            self.assertIn("link: cannot be written: it is a symbolic link; name the file", result.stderr)
            self.assertEqual(os.listdir(folder), ["link"])

    def test_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = run("run", "--device", "null", "write_lat", "--iterations", "100", "-o", "/dev/full")
        self.assertEqual(result.returncode, FAILED, result.stderr)
        with open("/dev/full", "w", encoding="utf-8") as full:
            child = subprocess.run([PROGRAM, "run", "--list"], stdout=full, stderr=subprocess.PIPE,
                                   timeout=60, check=False)
        self.assertEqual(child.returncode, FAILED)


class Reader(unittest.TestCase):
    """stdout is a pipe whose reader has gone, as behind `| head`."""

    def unread(self, *arguments):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            result = subprocess.run([PROGRAM, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60,
                                    check=False)
        finally:
            os.close(writing)
        return result.returncode, result.stderr

    def test_that_has_gone_is_no_error(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            run("run", "--device", "null", "write_lat", "--iterations", "100", "--size", "1..8", "-o", path)
            for words in (["--help"], ["run", "--list"], ["run", "--dry-run", "write_lat", "--size", "1..4096:1"],
                          ["show", path], ["show", "--csv", path], ["compare", path, path, "--inconclusive-ok"],
                          ["export", path, "--format", "openmetrics"], ["perftest", "--options"]):
                self.assertEqual(self.unread(*words), (0, ""), words)

    def test_that_has_gone_changes_no_status_of_what_measures_judges_or_examines(self):
        with tempfile.TemporaryDirectory() as folder:
            plan, base = folder + "/plan.toml", folder + "/base/new.json"
            with open(plan, "w", encoding="utf-8") as file:
                file.write('gates = ["work"]\n[[suite]]\ntests = ["write_lat"]\naxes = { device = "null", iterations = 100 }\n')
            run("ci", "--plan", plan, "--out", folder + "/base")
            for words in (["devices"], ["devices", "--json"], ["doctor"], ["doctor", "--json"], ["topo", "--list"],
                          ["ci", "--plan", plan, "--out", folder + "/out"],
                          ["ci", "--plan", plan, "--out", folder + "/out", "--base", base, "--github"],
                          ["ab", "--aa", "--blocks", "2", "--inconclusive-ok", "--", "write_lat", "--device", "null"],
                          ["report", base, "-o", "-"], ["merge", base, base, "-o", "-"], ["history", "show", base],
                          ["generate", "man"], ["perftest", "ib_write_bw", "--help"]):
                heard = run(*words)
                status, said = self.unread(*words)
                self.assertEqual(status, heard.returncode, (words, said))
                self.assertNotRegex(said, "(?i)stdout|pipe", words)

    def test_that_has_gone_ends_no_run_that_has_a_result_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            # More lines than a buffer holds.
            self.assertEqual(self.unread("run", "--device", "null", "write_lat", "--iterations", "10", "--warmup", "1",
                                         "--size", "1..300:1", "-o", path), (0, ""))
            with open(path, encoding="utf-8") as file:
                self.assertEqual(len(json.load(file)["benchmarks"]), 300)

    def test_that_has_gone_ends_a_run_of_which_nothing_else_stays(self):
        self.assertEqual(self.unread("run", "--device", "null", "write_lat", "--duration", "100ms", "--repetitions", "10000"),
                         (INTERRUPTED, ""))

    def test_that_has_gone_ends_quietly_what_writes_a_result_there(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/{name}.json" for name in "ab"]
            for path in paths:
                run("run", "--device", "null", "write_lat", "--iterations", "100", "-o", path)
            for words in (["run", "--device", "null", "write_lat", "--iterations", "100", "--size", "1..1K"], ["merge", *paths],
                          ["topo", "mesh", "--ranks", "4", "--simulate", "delay:1us", "--iterations", "20"]):
                status, said = self.unread(*words, "-o", "-")
                self.assertEqual((status, said.splitlines()[1:]), (INTERRUPTED, []), (words, said))
                self.assertNotIn("Broken pipe", said)

    def test_that_has_gone_ends_what_goes_on_until_interrupted(self):
        status, _ = self.unread("perftest", "ib_write_bw", "-d", "null", "--run_infinitely", "-D", "1", "localhost")
        self.assertEqual(status, 0)


class Secrets(unittest.TestCase):
    TOKEN = "s3cret-\"quoted\"-token-of-a-server"

    def test_a_token_of_a_side_stands_in_no_result_no_output_and_no_list_of_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/result.json"
            side = f"RDMAMETER_TOKEN='{self.TOKEN}' X=1 --inline off"
            child = subprocess.Popen([PROGRAM, "ab", "--a", side, f"--b=X=2 RDMAMETER_TOKEN='{self.TOKEN}'", "-o", path,
                                      "--blocks", "2", "--", "--device", "null", "write_lat", "--duration", "0.3"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with child:
                until = time.monotonic() + 20
                while b"***" not in (shown := pathlib.Path(f"/proc/{child.pid}/cmdline").read_bytes()):
                    self.assertLess(time.monotonic(), until, shown)
                listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
                texts = [*child.communicate(timeout=60), listed]
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        self.assertIn("RDMAMETER_TOKEN=*** X=1 --inline off", texts[-1])
        for text in texts:
            self.assertNotIn("s3cret", text)
            self.assertNotIn("quoted", text)
        context = json.loads(texts[-1])["context"]["rdmameter"]
        self.assertIn("RDMAMETER_TOKEN=***", context["command"])
        self.assertEqual(context["ab"]["b"], "X=2 RDMAMETER_TOKEN=***")

    def test_a_token_that_was_typed_where_it_does_nothing_is_not_repeated(self):
        for arguments in (["run", "RDMAMETER_TOKEN=s3cret-token-of-a-server", "write_lat"],
                          ["RDMAMETER_TOKEN=s3cret-token-of-a-server"], ["show", "RDMAMETER_TOKEN=s3cret-token"],
                          ["ab", "--a", "RDMAMETER_TOKEN=s3cret-token '", "--", "write_lat"],
                          ["ab", "--a", "RDMAMETER_TOKEN=s3cret-token ./none", "--", "write_lat"]):
            result = run(*arguments)
            self.assertNotEqual(result.returncode, 0)
            self.assertNotIn("s3cret", result.stderr + result.stdout)

    def serving(self, *arguments, **environment):
        """What a server says first."""
        env = {**os.environ, **environment}
        with subprocess.Popen([PROGRAM, "serve", "--bind", "0.0.0.0", "--port", "0", *arguments], stderr=subprocess.PIPE,
                              text=True, env=env) as server:
            said = server.stderr.readline() + server.stderr.readline()
            server.terminate()
            server.communicate(timeout=20)
        return said

    def test_a_server_prints_only_a_token_that_it_drew_itself(self):
        self.assertRegex(self.serving(), r"RDMAMETER_TOKEN=[\w-]{32} rdmameter run ")
        said = self.serving(RDMAMETER_TOKEN=self.TOKEN)
        self.assertRegex(said, r"with the same RDMAMETER_TOKEN as here:\n  rdmameter run \S+ write_lat\n")
        with tempfile.TemporaryDirectory() as folder:
            path = self.token_file(folder, 0o600)
            told = self.serving("--token-file", path)
            self.assertRegex(told, fr"rdmameter run \S+ write_lat --token-file {path}\n")
        self.assertNotIn("s3cret", said + told)

    def token_file(self, folder, mode):
        path = folder + "/token"
        with open(path, "w", encoding="ascii") as file:
            file.write(self.TOKEN + "\n")
        os.chmod(path, mode)
        return path

    def test_a_token_file_that_others_can_reach_is_refused_at_both_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            for mode in (0o640, 0o620, 0o604, 0o602):
                path = self.token_file(folder, mode)
                for words in (["serve"], ["run", "localhost", "write_lat"]):
                    result = run(*words, "--token-file", path)
                    self.assertEqual(result.returncode, USAGE, result)
                    self.assertIn(f"--token-file {path}: other users can reach it", result.stderr)
                    self.assertIn(f"chmod 600 {path}", result.stderr)
                    self.assertNotIn("s3cret", result.stderr)


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


    def test_keeps_what_was_measured_of_the_case_that_it_ended(self):
        for test, length in (("write_lat", ("--duration", "60")), ("write_bw", ("--duration", "60")),
                             ("read_lat", ("--iterations", str(1 << 40))), ("write_bw", ("--iterations", str(1 << 40)))):
            with self.subTest(test=test, length=length), tempfile.TemporaryDirectory() as folder:
                path = folder + "/result.json"
                words = ["--device", "null", test, "--size", "8,64", "-o", path]
                # One that has used more than a whole short run, start and warm-up included, is in the measured part.
                begun = cpu_seconds_of_a_short_run(*words, "--iterations", "1") + 0.3
                child = subprocess.Popen([PROGRAM, "run", *words, *length], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
                with child:
                    until = time.monotonic() + 60
                    while cpu_seconds(child.pid) < begun:
                        self.assertLess(time.monotonic(), until, "it uses no CPU time")
                        time.sleep(0.01)
                    child.send_signal(signal.SIGINT)
                    output, errors = child.communicate(timeout=10)
                self.assertEqual(child.returncode, 130, errors)
                self.assertIn("(interrupted after ", output)
                self.assertIn("interrupted; rows in the result: 1", errors)
                with open(path, encoding="utf-8") as file:
                    [row] = json.load(file)["benchmarks"]
                self.assertIs(row["interrupted"], True)
                self.assertGreater(row["iterations"], 1000)

    def test_is_the_end_of_what_goes_on_until_then(self):
        for test in ("write_lat", "write_bw"):
            with self.subTest(test), tempfile.TemporaryDirectory() as folder:
                path = folder + "/result.json"
                child = subprocess.Popen([PROGRAM, "run", "--device", "null", test, "--duration", "0", "--interval",
                                          "0.1", "-o", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                with child:
                    self.assertRegex(child.stderr.readline(), r"0\.\d s  .*([kM]?msg/s|one in)")
                    child.send_signal(signal.SIGINT)
                    _, errors = child.communicate(timeout=10)
                self.assertEqual(child.returncode, 0, errors)
                with open(path, encoding="utf-8") as file:
                    [row] = json.load(file)["benchmarks"]
                self.assertGreater(row["iterations"], 1000)
                self.assertEqual(row["case"]["duration_ns"], 0)


class Progress(unittest.TestCase):
    """What a terminal on stderr sees."""

    def seen(self, *more, columns=80, stdout_too=False, latency_test=True, **environment):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            environment = {**os.environ, "TERM": "xterm", **environment}
            test = ("write_lat", "--iterations", "100") if latency_test else ()
            subprocess.run([PROGRAM, "run", "--device", "null", *test, *more],
                           stdout=theirs if stdout_too else subprocess.DEVNULL, stderr=theirs, timeout=60, check=True,
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
        self.assertRegex(self.seen(CI=None), r"1/1  0:\d\d elapsed  write_lat/rc")
        self.assertEqual(self.seen(CI="true"), "")
        self.assertNotIn("elapsed", self.seen(CI=None, TERM=""))

    def test_has_a_summary_where_the_rows_are_read_at_a_terminal_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/r.json"
            self.assertRegex(self.seen("-o", path, stdout_too=True, CI=None),
                             rf"1 case measured in 0:\d\d\r\n'rdmameter show {path}' prints tables")

    def test_is_a_line_for_each_case_not_for_each_repetition(self):
        text = self.seen("--repetitions", "3", columns=120, stdout_too=True, CI=None, COLUMNS=None)
        self.assertEqual(len(re.findall("^.*write_lat/rc.*(?:ns|µs|us|ms)\r?$", text, re.M)), 1, text)
        self.assertRegex(text, r"half RTT +p50 +(±|~)")

    def test_has_a_line_for_each_interval_of_a_long_bandwidth(self):
        long = ("write_bw", "--size", "2", "--duration", "1", "--interval", "100ms")
        self.assertRegex(self.seen(*long, latency_test=False, CI=None), r"0\.\d s  [\d.]+ [kM]?msg/s  [\d.]+ [GM]b/s")
        self.assertEqual(self.seen(*long, latency_test=False, CI="true"), "")

    def test_breaks_no_word_at_the_edge_of_the_terminal(self):
        for columns in (60, 80, 200):
            text = self.seen("write_lat", "send_bw", "--transport", "rc,ud", "--size", "64,8K", "--repetitions", "3",
                             "--duration", "10ms", columns=columns, latency_test=False, stdout_too=True, CI=None, COLUMNS=None)
            shown = [line.rsplit("\r\033[K", 1)[-1] for line in text.split("\r\n")]
            self.assertLessEqual(max(len(line) for line in shown), columns, text)
            self.assertIn("all cases  duration:10ms", text)
            self.assertRegex(text, r"2 cases measured \(6 repetitions\), 6 skipped in|"
                                   r"\d cases measured \(\d+ repetitions\), \d skipped in")

    def test_is_one_line_of_a_narrow_terminal(self):
        for line in re.split("\r\033\\[K", self.seen(columns=24, CI=None)):
            self.assertLess(len(line), 24)


class Letters(unittest.TestCase):
    def test_of_perftest_lead_to_the_option(self):
        for letter, option in (("-s", "--size"), ("-q", "--qps"), ("-x", "--gid-index")):
            refused = run("run", "--loopback", "write_lat", letter, "8")
            self.assertEqual(refused.returncode, USAGE)
            self.assertIn(f"perftest's is {option} ", refused.stderr)
        self.assertNotIn("perftest's is", run("show", "-s", "8").stderr)  # show has no --size


class Width(unittest.TestCase):
    """Nothing is wider than COLUMNS or the terminal; where neither says how wide, messages and rows stay whole."""

    DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
    COMMANDS = (("run", "--list"), ("run", "--loopback", "--dry-run", "send_bw", "--transport", "rc,ud", "--size", "1K..16K", "--depth", "1,64"),
                ("compare", f"{DATA}/base.json", f"{DATA}/slower.json"), ("compare", f"{DATA}/base.json", f"{DATA}/slower.json", "--all"),
                ("show", f"{DATA}/base.json"), ("show", "--all", f"{DATA}/base.json"),
                ("show", "--percentiles", f"{DATA}/base.json"), ("topo", "--list"), ("topo", "ring", "--ranks", "9", "--dry-run"),
                ("run", "--device", "null", "write_lat", "--iterations", "100", "--transport", "rc,ud", "-o", "r.json"), ("show", "r.json"),
                ("run", "127.0.0.1:1", "tcp_lat"), ("devices",), ("doctor",), ("merge", "r.json", "-o", "m.json"),
                ("history", "add", f"{DATA}/base.json", "--into", "h.jsonl"), ("history", "show", "h.jsonl"), ("history", "check", "h.jsonl"),
                ("ci", "--plan", "p.toml", "--out", "o", "--runs", "1", "--", "--device=null"), ("report", "r.json", "-o", "r.html"),
                ("serve", "--bind", "127.0.0.1", "--port", "1", "--no-auth", "--token-file", "t"), ("serve", "--prt", "1"), ("nonsense",),
                ("perftest", "ib_writ_bw"), ("perftest", "ib_write_bw", "-d", "null", "-s", "3x", "host"),
                ("run", "--loopback", "write_lat", "--sice", "64", "--transport"), ("--help",))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(f"{self.folder}/p.toml", "w", encoding="ascii") as plan:
            plan.write('[[suite]]\ntests = ["write_lat"]\naxes = { iterations = 100 }\n')

    def test_of_a_terminal_is_kept_to(self):
        program = os.path.abspath(PROGRAM)
        for columns in (60, 80, 200):
            for arguments in self.COMMANDS:
                text = at_terminal(columns, [program, *arguments], os.environ, self.folder)[0]
                shown = [line.rsplit("\r\033[K", 1)[-1] for line in text.split("\n")]
                # A path has no blank to break it at.
                lines = [line for line in shown if self.DATA not in line]
                self.assertLessEqual(max(map(len, lines), default=0), columns, (arguments, max(lines, key=len, default="")))

    def test_of_a_pipe_is_that_of_columns_if_it_is_set(self):
        commands = (("run", "--list"), ("compare", f"{self.DATA}/base.json", f"{self.DATA}/slower.json"),
                    ("run", "--device", "null", "write_lat", "--size", "2,4K", "--iterations", "10000"))
        for words in commands:
            for width in (60, 200):
                for line in run(*words, COLUMNS=str(width)).stdout.splitlines():
                    self.assertTrue(len(line) <= width or self.DATA in line, line)
            self.assertGreater(max(map(len, run(*words).stdout.splitlines())), 80, words)


class Failures(unittest.TestCase):
    """A run against a server that is not there: why stands in the row's line and, for whoever reads stderr alone, there."""

    ARGUMENTS = ("run", "127.0.0.1:1", "tcp_lat", "--size", "1,2")

    def test_are_told_once_where_stdout_and_stderr_go_to_one_place(self):
        result = subprocess.run([PROGRAM, *self.ARGUMENTS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=60, check=False)
        self.assertEqual(result.returncode, FAILED, result)
        self.assertEqual(result.stdout.count("127.0.0.1:1"), 1, result.stdout)
        self.assertIn("rdmameter: 2 of 2 measurements failed", result.stdout)

    def test_tell_a_remedy_that_a_line_has_no_room_for_at_the_end_with_its_sentence(self):
        result = subprocess.run([PROGRAM, "run", "--loopback", "write_lat", "--memory", "file:/etc/passwd"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
                                env={**os.environ, "RDMAMETER_DOCTOR": "off"})
        reason = re.search("  error: (.*)\n", result.stdout)[1]
        self.assertRegex(result.stdout, rf"rdmameter: 1 of 1 measurements failed: {re.escape(reason)}\. \w+")

    def test_a_leave_to_overwrite_without_a_file_is_refused(self):
        for more in ((), ("--memory", "huge"), ("--background", "write_bw --memory host")):
            result = run("run", "--loopback", "write_lat", "--overwrite-file", *more)
            self.assertEqual(result.returncode, USAGE, result)
            self.assertIn("--overwrite-file: is for --memory file:PATH, which is not given", result.stderr)
        for more in (("--memory", "host,file:/dev/zero"), ("--background", "write_bw --memory file:/dev/zero")):
            result = run("run", "--loopback", "write_lat", "--overwrite-file", *more, "--dry-run")
            self.assertEqual(result.returncode, 0, result)

    def test_for_lack_of_memory_tell_how_much_was_asked_for(self):
        """Also for what is aligned to a cache line, as the state of a simulated rank's QP is."""
        if is_sanitized():
            self.skipTest("a sanitizer's memory is not the program's")
        words = [PROGRAM, "topo", "mesh", "--simulate", "delay:2us", "--ranks"]
        told = []
        for ranks, mib in itertools.product(("300", "400"), (120, 137, 150)):
            limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (mib << 20, mib << 20))
            result = subprocess.run(words + [ranks], capture_output=True, text=True, timeout=60, check=False, preexec_fn=limit)
            told += re.findall("  error: (out of memory.*)", result.stdout)
        self.assertGreater(len(told), 0)
        for text in told:
            self.assertRegex(text, ": [0-9]+ MiB were asked for by rdmameter topo$")

    def test_are_told_on_both_where_these_are_apart(self):
        result = run(*self.ARGUMENTS)
        self.assertRegex(result.stdout, "error: .*127.0.0.1:1")
        self.assertRegex(result.stderr, "2 of 2 measurements failed: .*127.0.0.1:1")


class Simulated(unittest.TestCase):
    ARGUMENTS = ("topo", "mesh", "ring", "--ranks", "4", "--simulate", "delay:2us,rate:100Gb/s")

    def simulated(self, path, *more):
        result = run(*self.ARGUMENTS, *more, "-o", path)
        self.assertEqual(result.returncode, 0, result)
        with open(path, encoding="utf-8") as file:
            return result.stdout, json.load(file)

    def test_rows_are_marked_and_come_again(self):
        with tempfile.TemporaryDirectory() as folder:
            stdout, first = self.simulated(folder + "/first.json", "--predict", "64")
            self.assertIn("predicted, not measured", stdout)
            self.assertEqual(len(first["benchmarks"]), 6)  # pairs, all-to-all and flood
            for row in first["benchmarks"]:
                self.assertTrue(row["name"].endswith("/simulated"), row["name"])
                self.assertEqual((row["path"], row["case"]["device"]), ("simulated", "simulated:delay:2us,rate:100Gb/s"))
            self.assertEqual(self.simulated(folder + "/second.json")[1]["benchmarks"], first["benchmarks"])
            shown = run("show", folder + "/first.json").stdout
            self.assertRegex(shown, r"(?m)^how to connect ranks, 64 B over rc\n.*\n.*\n +4 +mesh +3 .*\n +4 +ring +2 .*\n  No knee")

            for row in first["benchmarks"]:
                row["name"] = row["run_name"] = row["name"].removesuffix("/simulated")
                row["case"]["device"] = "auto"
            with open(folder + "/measured.json", "w", encoding="utf-8") as file:
                json.dump(first, file)
            compared = run("compare", folder + "/measured.json", folder + "/second.json", "--allow-environment-change")
            self.assertEqual(compared.returncode, USAGE, compared)
            self.assertIn("no case in common", compared.stderr)

    def test_a_stream_has_several_windows_of_messages_unless_they_are_typed(self):
        for ranks, typed, iterations in (("4", (), 512), ("40", (), 8 * 16 * 39), ("40", ("--iterations", "30"), 30)):
            with tempfile.TemporaryDirectory() as folder:
                result = run("topo", "mesh", "--ranks", ranks, "--traffic", "flood", *typed, "--simulate", "delay:2us", "-o", folder + "/r.json")
                self.assertEqual(result.returncode, 0, result)
                with open(folder + "/r.json", encoding="utf-8") as file:
                    self.assertEqual([row["case"]["iterations"] for row in json.load(file)["benchmarks"]], [iterations])

    def test_options_of_a_measurement_are_refused(self):
        for option in (("--repetitions", "3"), ("--mtu", "1024"), ("--device", "x"), ("--patience", "5"), ("--judge-shared",),
                       ("--order-seed", "3"), ("--bootstrap-if", "lo"), ("--wait", "spin")):
            result = run(*self.ARGUMENTS, *option)
            self.assertEqual(result.returncode, USAGE, result)
            self.assertIn(f"--simulate, {option[0]}: ", result.stderr)
        result = run(*self.ARGUMENTS[:-1], "rate:1Gb/s", "--dry-run")
        self.assertEqual(result.returncode, USAGE, result)
        self.assertIn("the delay is missing", result.stderr)

    def test_a_network_is_taken_from_what_was_measured(self):
        """A simulation stands for a measurement: what it was told is found again."""
        with tempfile.TemporaryDirectory() as folder:
            def written(name, change):
                _, file = self.simulated(f"{folder}/{name}", "--size", "8,64K")
                for row in file["benchmarks"]:
                    row["name"] = row["run_name"] = row["name"].removesuffix("/simulated")
                    row["path"], row["case"]["device"] = "network", "auto"
                    change(row)
                file["context"]["rdmameter"]["ranks"] = [{"rank": rank, "host": f"node{rank}"} for rank in range(4)]
                with open(f"{folder}/{name}", "w", encoding="utf-8") as output:
                    json.dump(file, output)
                return f"from:{folder}/{name}"

            def again(network, ranks="16"):
                return run("topo", "mesh", "ring", "--ranks", ranks, "--size", "8,64K", "--simulate", network,
                           "-o", folder + "/again.json")

            measured = written("measured.json", lambda row: None)
            result = again(measured)
            self.assertEqual(result.returncode, 0, result)
            self.assertRegex(result.stdout, "delay:200[0-9]ns,relay:[12][0-9]{3}ns,rate:")
            with open(folder + "/again.json", encoding="utf-8") as file:
                source = json.load(file)["context"]["rdmameter"]["simulated_from"]
            self.assertEqual(source["rows"], 4)
            self.assertEqual(len(source["checks"]), 12)
            for check in source["checks"]:
                self.assertAlmostEqual(check["simulated_ns"] / check["measured_ns"], 1, delta=0.02, msg=check)

            typed = again(measured + ",delay:7us")
            self.assertIn("delay:7us,", typed.stdout)
            wrong = again(measured + ",speed:3")
            self.assertEqual(wrong.returncode, USAGE, wrong)
            self.assertIn("speed is not known", wrong.stderr)
            hosts = again(measured + ",ranks-per-host:4")
            self.assertEqual(hosts.returncode, USAGE, hosts)
            self.assertIn("host-delay:SECONDS", hosts.stderr)
            placed = again(measured + ",ranks-per-host:4,host-delay:1us,host-rate:100Gb/s")  # they were one on each host
            self.assertIn("with as many on a host: no error is known", " ".join(placed.stdout.split()))
            shared = again(written("shared.json", lambda row: row["topology"].update(yielding=True)))
            self.assertEqual(shared.returncode, USAGE, shared)
            self.assertIn("shared cores", shared.stderr)
            simulated = again(written("simulated.json", lambda row: row.update(path="simulated")))
            self.assertIn("no measured times of pairs", simulated.stderr)

    def test_a_network_takes_no_numa_nodes_from_what_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            def again(network, nodes, more=",delay:2us,rate:100Gb/s,ranks-per-host:4"):
                """On the network that a host of four ranks identifies, which were on these nodes."""
                path = folder + "/measured.json"
                result = run(*self.ARGUMENTS[:-1], "delay:2us,ranks-per-host:4,host-delay:1us,numa-delay:1500ns," + network,
                             "--size", "8,64K", "--traffic", "pairs", "-o", path)
                self.assertEqual(result.returncode, 0, result)
                with open(path, encoding="utf-8") as file:
                    measured = json.load(file)
                for row in measured["benchmarks"]:
                    row["path"], row["case"]["device"] = "same_device", "auto"
                    row["placement"] = {"ranks": {"pinned": 4, "reason": None, "cpus": [0, 1, 2, 3], "numa_nodes": nodes,
                                                  "device_numa_nodes": [None] * 4}}
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(measured, file)
                result = run("topo", "mesh", "ring", "--ranks", "8", "--size", "8,64K", "--simulate", f"from:{path}{more}",
                             "-o", folder + "/again.json")
                return result.returncode, " ".join((result.stdout + result.stderr).split())

            told = "on several NUMA nodes, which are not told apart: add ranks-per-numa or numa-in-turn, and numa-delay"
            for network, nodes in (("ranks-per-numa:2", [0, 0, 1, 1]), ("numa-in-turn:2", [1, 0, 1, 0])):
                status, text = again(network, nodes)
                self.assertEqual(status, 0, text)
                self.assertIn(told, text)
                self.assertNotRegex(text, f"{network}|numa-delay:")
            status, text = again("ranks-per-numa:2", [0, 0, 1, 1], more=",ranks-per-host:4")
            self.assertEqual(status, USAGE, text)
            self.assertIn("on different hosts", text)
            status, text = again("ranks-per-numa:2", [0, 0, 0, 0])
            self.assertEqual(status, 0, text)
            self.assertNotIn("NUMA", text)
            typed = ",delay:2us,rate:100Gb/s,ranks-per-host:8,ranks-per-numa:4"
            for numa, between in (("", lambda within: within), (",numa-delay:9us", lambda _: 9000)):
                status, text = again("ranks-per-numa:4", [0, 0, 0, 0], more=typed + numa)
                self.assertEqual(status, 0, text)
                self.assertIn("ranks-per-numa:4" + numa, text)
                with open(folder + "/again.json", encoding="utf-8") as file:
                    [row] = [row for row in json.load(file)["benchmarks"]
                             if row["case"]["graph"] == "mesh" and row["case"]["traffic"] == "pairs" and row["case"]["size_bytes"] == 8]
                times = [round(each, -2) for each in row["topology"]["matrix_ns"][0][1:]]
                self.assertEqual(times, [1000] * 3 + [between(1000)] * 4)

    def kill_after_a_minute(self, child):
        """So that none of the waits for it lasts for ever."""
        timer = threading.Timer(60, child.kill)
        timer.start()
        self.addCleanup(timer.cancel)

    def test_a_signal_ends_it_at_once_and_keeps_the_rows_before(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                path = folder + "/result.json"
                # The first case takes no time, the second one minutes.
                child = subprocess.Popen([PROGRAM, "topo", "ring", "--ranks", "256", "--simulate", "delay:2us", "-o", path,
                                          "--traffic", "neighbours,pairs-bw", "--iterations", "100"],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.kill_after_a_minute(child)
                with child:
                    child.stdout.readline()  # of the first case, whose row is in the file by then
                    until = time.monotonic() + 30
                    begun = cpu_seconds(child.pid)
                    while cpu_seconds(child.pid) < begun + 0.5:
                        self.assertLess(time.monotonic(), until)
                        time.sleep(0.01)
                    used = cpu_seconds(child.pid)
                    child.send_signal(number)
                    _, status, usage = os.wait4(child.pid, 0)
                    child.returncode = os.waitstatus_to_exitcode(status)
                    self.assertEqual(child.returncode, INTERRUPTED, child.stderr.read())
                if not is_sanitized():  # it scans 700 MiB for leaks at the end, which takes seconds
                    self.assertLess(usage.ru_utime + usage.ru_stime - used, 1)
                with open(path, encoding="utf-8") as file:
                    rows = json.load(file)["benchmarks"]
                self.assertEqual([row["case"]["traffic"] for row in rows], ["neighbours"])

    def test_a_thousand_ranks_take_seconds_and_less_than_two_gibibytes(self):
        if is_sanitized():
            self.skipTest("a sanitizer's times are not the program's")
        # CPU time, so that other load does not count.
        for arguments, most_seconds, most_mib in ((("random:16", "--ranks", "1024", "--traffic", "flood"), 6, 1024),
                                                  (("mesh", "--ranks", "256", "--traffic", "neighbours"), 6, 1024)):
            with subprocess.Popen([PROGRAM, "topo", *arguments, "--iterations", "8", "--warmup", "0", "--simulate", "delay:2us"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
                said = child.stderr.read()
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(child.returncode, 0, said)
            self.assertLess(used.ru_utime + used.ru_stime, most_seconds, arguments)
            self.assertLess(used.ru_maxrss / 1024, most_mib, arguments)

    def test_tells_before_it_begins_if_it_takes_long(self):
        child = subprocess.Popen([PROGRAM, "topo", "ring", "--ranks", "256", "--simulate", "delay:2us", "--traffic", "pairs",
                                  "--iterations", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.kill_after_a_minute(child)
        with child:
            line = child.stderr.readline()
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=30)
        self.assertRegex(line, r"simulates [0-9]+ million messages, .* --pairs sampled:K")

    def test_what_cannot_be_simulated_is_skipped(self):
        result = run(*self.ARGUMENTS, "--transport", "uc")
        self.assertEqual(result.returncode, USAGE, result)
        self.assertIn("only RC is simulated", result.stdout)


class NoDevice(unittest.TestCase):
    def setUp(self):
        if has_device():
            self.skipTest("there is a verbs device")

    def test_is_status_77_and_says_what_to_do(self):
        for arguments in (["devices"], ["run", "--loopback", "write_lat"], ["check", "--loopback"]):
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
