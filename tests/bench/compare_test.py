#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `compare`, `merge`, `ab` and plans say and return for good and bad input; how much time and
memory a comparison of large files takes. Needs no device.

Usage: compare_test.py PATH_OF_RDMAMETER timed|untimed [unittest's arguments]
"""
import copy
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM, TIMED = None, False
PASS, REGRESSION, USAGE, INCONCLUSIVE = 0, 1, 2, 3
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"}, **options)


def histogram(p50):
    return {"type": "log_linear", "precision_bits": 10, "count": 50, "sum": 50 * p50, "min": p50, "max": p50,
            "overflow": 0, "index": [index_of(p50)], "n": [50]}


def index_of(ns):
    shift = max(ns.bit_length() - 11, 0)
    return (shift << 10) + (ns >> shift)


def latency_row(size, p50, repetition=0, repetitions=1, **more):
    statistics = {"unit": "ns", "count": 50, "min": p50, "max": p50, "mean": p50, "stddev": 0, "p50": p50,
                  "p90": None, "p99": None, "p99.9": None, "p99.99": None}
    name = f"write_lat/rc/size:{size}"
    return {"name": name, "family_index": 0, "per_family_instance_index": 0, "run_name": name,
            "run_type": "iteration", "repetitions": repetitions, "repetition_index": repetition, "threads": 1,
            "iterations": 100, "real_time": p50, "cpu_time": p50, "time_unit": "ns",
            "case": {"transport": "rc", "size_bytes": size, "qps": 1},
            "latency": {"definition": "completion", **statistics, "histogram": histogram(p50)},
            "work": {"wrs": 100, "doorbells": 100, "cqes": 100, "polls": 1000 + p50}, **more}


def context(number=0, **more):
    end = {"version": "0.1.0", "kernel": "Linux 6.1", "cpu_model": "Example", "device": {"firmware": "1.2"}}
    return {"date": f"2024-01-01T00:00:{number:02}+00:00",
            "rdmameter": {"schema": "rdmameter.result.v1", "version": "0.1.0", "command": "rdmameter run",
                          "floor": None, "initiator": end, "responder": end, **more}}


class Files(unittest.TestCase):
    """A directory of its own, and results in it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, rows, head=None):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump({"context": head or context(), "benchmarks": rows}, file)
        return self.path(name)

    def write_text(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def runs(self, name, typical, sizes=(64, 4096), runs=5):
        """Merged from files of one run each, as a user would."""
        parts = []
        for number in range(runs):
            rows = [latency_row(size, typical + 7 * number + repetition % 3, repetition, 10)
                    for size in sizes for repetition in range(10)]
            parts.append(self.write(f"{name}.{number}", rows, context(number + hash(name) % 7)))
        result = run("merge", *parts, "-o", self.path(name))
        self.assertEqual(result.returncode, PASS, result.stderr)
        return self.path(name)

    def junit(self, path):
        """The suite of a file that is as Jenkins' junit-10.xsd wants it. No package has that schema (its plugin's sources
        do): where RDMAMETER_JUNIT_XSD names it, xmllint checks by it, too."""
        if schema := os.environ.get("RDMAMETER_JUNIT_XSD"):
            subprocess.run(["xmllint", "--noout", "--schema", schema, path], check=True, capture_output=True)
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual((root.tag, len(root)), ("testsuites", 1))
        self.assertLessEqual(set(root.attrib), {"name", "time", "tests", "failures", "errors"})
        suite = root[0]
        required = {"name", "tests", "failures", "errors"}
        self.assertLessEqual(required, set(suite.attrib))
        self.assertLessEqual(set(suite.attrib), required | {"skipped"})
        for case in suite:
            self.assertEqual((case.tag, set(case.attrib)), ("testcase", {"classname", "name"}))
            for part in case:
                self.assertIn(part.tag, ("skipped", "error", "failure", "system-out"))
                self.assertLessEqual(set(part.attrib), {"type", "message"})
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            self.assertEqual(suite.get(key), str(len(list(suite.iter(tag)))), key)
        return suite

    def refused(self, *arguments, says):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (USAGE, ""), result)
        self.assertIn(says, result.stderr)
        return result.stderr


class Verdicts(Files):
    def test_a_slow_down_ends_with_1_and_names_the_cases(self):
        base, slower = self.runs("base.json", 5000), self.runs("slower.json", 6000)
        result = run("compare", base, slower)
        self.assertEqual(result.returncode, REGRESSION, result.stderr)
        self.assertIn("2 cases: 2 fail", result.stdout)
        self.assertRegex(result.stdout, r"fail +write_lat/rc/size:64\n +(p50|mean): fail +5\.\d\d µs +6\.\d\d µs +\+(19|20)")

    def test_a_file_against_itself_ends_with_0(self):
        base = self.runs("base.json", 5000)
        result = run("compare", base, base)
        self.assertEqual(result.returncode, PASS, result)
        self.assertIn("pass; 2 cases: 2 pass", result.stdout)

    def test_better_is_told_and_passes(self):
        result = run("compare", self.runs("base.json", 6000), self.runs("new.json", 5000))
        self.assertEqual(result.returncode, PASS)
        self.assertIn("2 better", result.stdout)

    def test_single_runs_say_so_and_end_with_3(self):
        base = self.runs("base.json", 5000, runs=1)
        slower = self.runs("slower.json", 6000, runs=1)
        result = run("compare", base, slower)
        self.assertEqual(result.returncode, INCONCLUSIVE, result)
        self.assertIn("2 suspect", result.stdout)
        self.assertIn("cannot confirm a regression", " ".join(result.stdout.split()))
        self.assertIn("write_lat/rc/size:64, write_lat/rc/size:4096: 5 runs a side", " ".join(result.stdout.split()))
        self.assertEqual(run("compare", base, slower, "--gate", "work").returncode, PASS)

    def test_one_repetition_proves_nothing_and_says_so(self):
        base = self.write("base.json", [latency_row(64, 5000)])
        result = run("compare", base, base)
        self.assertEqual(result.returncode, INCONCLUSIVE)
        self.assertIn("not proven; 1 case: 1 inconclusive", result.stdout)
        self.assertIn("1 run a side cannot confirm", " ".join(result.stdout.split()))
        self.assertEqual(run("compare", base, base, "--inconclusive-ok").returncode, PASS)

    def test_relative_gates(self):
        base, slower = self.runs("base.json", 5000), self.runs("slower.json", 6000)
        for gate, status in (("p50=30%", PASS), ("p50=5%", REGRESSION), ("write_lat/* mean=5%", REGRESSION)):
            result = run("compare", base, slower, "--gate", gate, "--gate", "work")
            self.assertEqual(result.returncode, status, result)
        self.refused("compare", base, slower, "--gate", "p98=30%", says="there is no metric 'p98'")

    def test_most_repetitions_failing_in_every_run_are_a_regression(self):
        def parts(name, failing):
            rows = lambda: [latency_row(64, 5000 + i, i, 3) for i in range(3)]
            for number in range(5):
                made = rows()
                for row in made[:failing]:
                    row.update(name=row["run_name"] + "/error", error_occurred=True, error_message="the peer died")
                    del row["latency"], row["work"]
                yield self.write(f"{name}{number}", made, context(number))
        for name, failing in (("base.json", 0), ("failing.json", 2)):
            self.assertEqual(run("merge", *parts(name, failing), "-o", self.path(name)).returncode, PASS)
        result = run("compare", self.path("base.json"), self.path("failing.json"))
        self.assertEqual(result.returncode, REGRESSION, result)
        self.assertIn("10 of 15 repetitions failed (the peer died), 0 of 15 in BASE", " ".join(result.stdout.split()))

    def test_limits(self):
        base = self.runs("base.json", 5000)
        for limit, status in (("* latency.p50 <= 6us", PASS), ("* latency.p50 <= 4us", REGRESSION)):
            result = run("compare", base, base, "--gate", limit)
            self.assertEqual(result.returncode, status, result)
            self.assertIn("5.01 µs over 50 repetitions", result.stdout)
        self.refused("compare", base, base, "--gate", "* latency.p50 <= 6", says="ns, us, ms or s")
        self.refused("compare", base, base, "--gate", "read* latency.p50 <= 6us", says="write_lat/rc/size:64")

    def test_more_work_per_message_fails_under_the_work_gate(self):
        row = latency_row(64, 5000)
        base = self.write("base.json", [row])
        row["work"]["doorbells"] *= 2
        more = self.write("more.json", [row])
        self.assertEqual(run("compare", base, base, "--gate", "work").returncode, PASS)
        result = run("compare", base, more, "--gate", "work")
        self.assertEqual(result.returncode, REGRESSION)
        self.assertIn("doorbells per message 2, were 1", result.stdout)

    def test_gates_of_the_plan_travel_in_the_result(self):
        new = self.write("new.json", [latency_row(64, 5000)], context(gates=["* latency.p50 <= 4us"]))
        self.assertEqual(run("compare", new, new).returncode, REGRESSION)
        self.assertEqual(run("compare", new, new, "--gate", "work").returncode, PASS)

    def test_files_for_ci(self):
        base, slower = self.runs("base.json", 5000), self.runs("slower.json", 6000)
        result = run("compare", base, slower, "--junit", self.path("j.xml"), "--markdown", self.path("m.md"),
                     "--github")
        self.assertEqual(result.returncode, REGRESSION)
        self.assertEqual(result.stdout.count("::error title="), 2)
        suite = self.junit(self.path("j.xml"))
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "3"))  # the last is the conclusion
        self.assertEqual(suite[2][0].get("message"), "fail: 2 cases: 2 fail")
        with open(self.path("m.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("### ❌ fail: ", text)
        self.assertIn("❌ fail | write\\_lat/rc/size:64 |", text)

    def test_markdown_is_added_to_what_is_there(self):
        base = self.runs("base.json", 5000)
        page = self.write_text("m.md", "before\n")
        run("compare", base, base, "--markdown", page)
        with open(page, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"^before\n### ✅ pass: ")

    def test_what_is_not_proven_is_never_green(self):
        base = self.write("base.json", [latency_row(64, 5000)])
        result = run("compare", base, base, "--junit", self.path("j.xml"), "--markdown", self.path("m.md"), "--github")
        self.assertEqual(result.returncode, INCONCLUSIVE)
        self.assertIn("::warning title=rdmameter%3A not proven::", result.stdout)
        suite = self.junit(self.path("j.xml"))
        self.assertEqual(suite.get("errors"), "1")
        with open(self.path("m.md"), encoding="utf-8") as file:
            self.assertIn("### 🟡 not proven: ", file.read())


class StoredResults(unittest.TestCase):
    """Measured by this suite on rxe; tests/data/README.md says how."""
    BASE, SLOWER = (os.path.join(ROOT, "tests/data", name) for name in ("base.json", "slower.json"))

    def test_the_slower_one_fails_and_its_cases_are_named(self):
        result = run("compare", self.BASE, self.SLOWER)
        self.assertEqual(result.returncode, REGRESSION, result.stderr)
        self.assertRegex(result.stdout, r"fail +write_lat/rc/size:4096")
        self.assertRegex(result.stdout, r"fail +write_bw/rc/size:4096")

    def test_the_base_against_itself_passes(self):
        self.assertIn(run("compare", self.BASE, self.BASE).returncode, (PASS, INCONCLUSIVE))  # tails of rxe are wild

    def test_work_per_message_is_the_same(self):
        result = run("compare", self.BASE, self.SLOWER, "--gate", "work")
        self.assertEqual(result.returncode, PASS, result.stdout)
        self.assertIn("wrs per message 1, were 1", " ".join(result.stdout.split()))

    def test_an_older_result_pairs_with_one_that_names_the_test_in_its_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "named.json")
            with open(self.BASE, encoding="utf-8") as file:
                named = json.load(file)
            for row in named["benchmarks"]:
                self.assertNotIn("test", row["case"])
                row["case"] = {"test": row["name"].split("/")[0], **row["case"]}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(named, file)
            result = run("compare", self.BASE, path)
            self.assertIn(result.returncode, (PASS, INCONCLUSIVE), result.stderr)  # tails of rxe are wild
            self.assertNotIn("only in", result.stdout)
            for run_number, context in enumerate(named["context"]["rdmameter"]["runs"]):
                context["date"] = f"2020-01-01T00:00:0{run_number}+00:00"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(named, file)
            both = os.path.join(folder, "both.json")
            result = run("merge", self.BASE, path, "-o", both)
            self.assertEqual(result.returncode, PASS, result.stderr)
            with open(both, encoding="utf-8") as file:
                merged = json.load(file)
            self.assertEqual({row["family_index"] for row in merged["benchmarks"]}, {0, 1})
            self.assertEqual(run("show", both).stdout.count("\nwrite_lat over RC: half round trip\n"), 1)

    def test_they_hold_five_runs_of_ten_repetitions(self):
        for path in (self.BASE, self.SLOWER):
            with open(path, encoding="utf-8") as file:
                made = json.load(file)
            self.assertEqual(len(made["context"]["rdmameter"]["runs"]), 5)
            self.assertEqual(len(made["benchmarks"]), 100)


class BadInput(Files):
    def setUp(self):
        super().setUp()
        self.row = latency_row(64, 5000)
        self.good = self.write("good.json", [self.row, self.row])

    def test_what_is_no_json(self):
        self.refused("compare", self.good, self.write_text("x.json", "{\"context\": nonsense}"),
                     says="x.json: is not JSON, at line 1, column 14")
        self.refused("compare", self.good, "no-such-file.json", says="no-such-file.json: cannot be read")
        self.refused("compare", "/dev/null", self.good, says="is empty")

    def test_what_is_cut_off(self):
        with open(self.good, encoding="utf-8") as file:
            text = file.read()
        for end in (30, len(text) // 2, text.index("histogram") + 40, len(text) - 2):
            self.refused("compare", self.good, self.write_text("x.json", text[:end]), says="is cut off in the middle")

    def test_another_schema(self):
        head = context()
        head["rdmameter"]["schema"] = "rdmameter.result.v2"
        self.refused("compare", self.good, self.write("x.json", [self.row], head),
                     says="is \"rdmameter.result.v2\", and this version reads \"rdmameter.result.v1\"")
        self.refused("compare", self.good, self.write_text("x.json", '{"context": {}, "benchmarks": []}'),
                     says="not a result of rdmameter")

    def test_no_common_case(self):
        text = self.refused("compare", self.good, self.write("x.json", [latency_row(128, 5000)]),
                            says="no case in common")
        self.assertIn("good.json has: write_lat/rc/size:64", text)
        self.assertIn("x.json has: write_lat/rc/size:128", text)

    def test_not_a_number_and_less_than_none(self):
        with open(self.good, encoding="utf-8") as file:
            text = file.read()
        for number in ("NaN", "Infinity", "1e999"):
            self.refused("compare", self.good, self.write_text("x.json", text.replace('"p50": 5000', f'"p50": {number}')),
                         says="is not JSON")
        for way, says in ((("latency", "p50"), "p50 is negative"), (("work", "cqes"), "cqes is negative"),
                          (("iterations",), "iterations is negative")):
            row = copy.deepcopy(self.row)
            place = row
            for step in way[:-1]:
                place = place[step]
            place[way[-1]] = -1
            self.refused("compare", self.good, self.write("x.json", [row]), says=says)
        row = copy.deepcopy(self.row)
        row["latency"]["histogram"]["n"] = [-1]
        self.refused("merge", self.good, self.write("x.json", [row], context(1)), "-o", self.path("m.json"),
                     says="n[0] is negative")
        self.assertFalse(os.path.exists(self.path("m.json")))

    def test_rows_that_are_none(self):
        for rows in ([3], [None], [[]], [{}], {}, "none"):
            self.refused("compare", self.good, self.write("x.json", rows), says="x.json")

    def test_context_after_its_rows_is_read_too(self):
        text = json.dumps({"benchmarks": [self.row], "context": context()})
        self.assertEqual(run("compare", self.good, self.write_text("x.json", text), "--gate", "work").returncode, PASS)

    def test_other_environments(self):
        head = context()
        head["rdmameter"]["initiator"] = {**head["rdmameter"]["initiator"], "kernel": "Linux 7"}
        other = self.write("x.json", [self.row, self.row], head)
        self.refused("compare", self.good, other, says="initiator: kernel: Linux 6.1 in BASE, Linux 7 in NEW")
        head["rdmameter"]["initiator"] = {**context()["rdmameter"]["initiator"], "device": {"vendor_part_id": 4129}}
        self.refused("compare", self.good, self.write("y.json", [self.row, self.row], head),
                     says="initiator: part id: unknown in BASE, 4129 in NEW")
        result = run("compare", self.good, other, "--allow-environment-change", "--gate", "work")
        self.assertEqual(result.returncode, PASS, result)

    def test_wrong_use(self):
        self.refused("compare", says="BASE and NEW")
        self.refused("compare", self.good, says="one side only")
        self.refused("compare", self.good, self.good, self.good, says="BASE and NEW")
        self.refused("compare", self.good, self.good, "--floor", "lots", says="invalid value 'lots' for --floor")
        self.refused("compare", self.good, self.good, "--noise", self.good, says="records no noise")
        self.refused("compare", self.good, self.good, "--junit", self.path("no/where.xml"), says="No such file")
        self.refused("merge", self.good, says="-o takes")
        self.refused("merge", self.good, self.good, "-o", self.path("m.json"), says="the same run")

    def test_a_name_with_markup_in_it(self):
        row = latency_row(64, 5000)
        row["name"] = row["run_name"] = "<script>alert(1)</script>\x1b[31m"
        odd = self.write("x.json", [row, row])
        run("compare", odd, odd, "--markdown", self.path("m.md"), "--junit", self.path("j.xml"))
        for name in ("m.md", "j.xml"):
            with open(self.path(name), encoding="utf-8") as file:
                text = file.read()
            self.assertNotIn("<script>", text)
            self.assertNotIn("\x1b", text)
        xml.etree.ElementTree.parse(self.path("j.xml"))

    def test_a_file_too_large_for_any_result(self):
        with open(self.path("x.json"), "wb") as file:
            file.truncate(1 << 37)
        self.refused("compare", self.good, self.path("x.json"), says="is larger than 65536 MiB")


# Linux counts as a program's memory what the process had that became it: one that is small.
MEASURED = """import os, sys
used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)[2]
print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)"""


class LargeFiles(Files):
    """Ten rows of three hundred buckets for each case."""

    def setUp(self):
        super().setUp()
        if not TIMED:
            self.skipTest("a sanitizer's time and memory are not the program's")

    def large_file(self, cases):
        row = latency_row(64, 5000)
        row["latency"]["histogram"].update(index=list(range(3000, 3300)), n=[123] * 300)
        row["device_counters"] = {end: {f"counter_number_{i}": i for i in range(20)}
                                  for end in ("initiator", "responder")}
        names = [json.dumps({**row, "name": f"write_lat/rc/size:{size}", "run_name": f"write_lat/rc/size:{size}",
                             "case": {**row["case"], "size_bytes": size}}) for size in range(1, cases + 1)]
        path = self.path(f"{cases}.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"context": ' + json.dumps(context()) + ',\n"benchmarks": [\n')
            file.write(",\n".join(line for line in names for _ in range(10)) + "\n]}\n")
        return path

    def instructions(self, cases):
        path = self.large_file(cases)
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", PROGRAM, "compare", path,
                               path], capture_output=True, text=True, timeout=120, check=False)
        self.assertIn(f"{cases} cases", done.stdout, done.stderr)
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])

    def resources(self, path, cases):
        """What comparing a file with itself uses: time of the CPU [s], resident memory [MiB]."""
        done = subprocess.run([sys.executable, "-c", MEASURED, PROGRAM, "compare", path, path], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertIn(f"{cases} cases", done.stdout, done.stderr)
        seconds, kib = done.stderr.split()[-2:]
        return float(seconds), int(kib) >> 10

    @unittest.skipUnless(shutil.which("valgrind"), "it needs valgrind")
    def test_a_row_takes_few_instructions(self):
        # GCC 12: 517,000, of two rows of 5 kB: ten thousand rows take half a second of an idle 2.5 GHz CPU.
        few, many = self.instructions(10), self.instructions(30)
        per_row = (many - few) / 200
        print(f"{per_row:.0f} instructions for a row", file=sys.stderr)
        self.assertLess(per_row, 700_000)

    def test_time_grows_with_the_rows_and_memory_by_little(self):
        # One ratio for each pair of neighbours in time: what else runs on the machine slows both down.
        small, large = self.large_file(100), self.large_file(1000)
        ratios = []
        for _ in range(3):
            some = sum(self.resources(small, 100)[0] for _ in range(10))
            seconds, mib = self.resources(large, 1000)
            ratios.append(seconds / some)
            self.assertLess(mib, os.path.getsize(large) >> 20, "a file need not stand in memory")
        print(f"{ratios} times ten tenths, {mib} MiB", file=sys.stderr)
        self.assertLess(statistics.median(ratios), 2)


class Plans(Files):
    def plan(self, text):
        return self.write_text("plan.toml", text)

    def cases(self, *arguments):
        result = run("run", *arguments, "--benchmark_list_tests")
        self.assertEqual(result.returncode, PASS, result.stderr)
        return result.stdout.split()

    def test_names_tests_axes_and_repetitions(self):
        plan = self.plan('repetitions = 3\n[axes]\ntransport = ["rc", "uc"]\n'
                         '[[suite]]\ntests = ["write_lat"]\naxes = { size = [64, "4K"] }\n'
                         '[[suite]]\ntests = "write_bw"\naxes = { transport = "rc", size = "1..4" }\n')
        self.assertEqual(self.cases("--plan", plan), [
            "write_lat/rc/size:64", "write_lat/rc/size:4096", "write_lat/uc/size:64", "write_lat/uc/size:4096",
            "write_bw/rc/size:1", "write_bw/rc/size:2", "write_bw/rc/size:4"])
        self.assertIn("7 x 3 repetitions", run("run", "--plan", plan, "--dry-run").stdout)

    def test_is_overridden_by_the_command_line(self):
        plan = self.plan('repetitions = 3\ntests = ["write_lat"]\n[axes]\nsize = 64\nduration = 1\n')
        self.assertEqual(self.cases("--plan", plan, "--size", "8"), ["write_lat/rc/size:8/duration:1s"])
        self.assertEqual(self.cases("--plan", plan, "send_lat"), ["send_lat/rc/size:64/duration:1s"])
        self.assertEqual(self.cases("--plan", plan, "--iterations", "5"), ["write_lat/rc/size:64/iterations:5"])
        self.assertIn("1 x 2 repetitions", run("run", "--plan", plan, "--dry-run", "--repetitions", "2").stdout)

    def test_measures_and_its_gates_stand_in_the_result(self):
        plan = self.plan('tests = "write_lat"\ngates = ["work", "* latency.p50 <= 1s"]\naxes = { iterations = 100 }\n')
        result = run("run", "--plan", plan, "--device", "null", "-o", self.path("r.json"))
        self.assertEqual(result.returncode, PASS, result.stderr)
        with open(self.path("r.json"), encoding="utf-8") as file:
            head = json.load(file)["context"]["rdmameter"]
        self.assertEqual(head["gates"], ["work", "* latency.p50 <= 1s"])

    def test_that_comes_with_the_program_is_one(self):
        self.assertEqual(len(self.cases("--plan", os.path.join(ROOT, "bench/plans/ci.toml"))), 12)

    def test_with_what_it_cannot_have_is_refused_by_line(self):
        for text, says in (
                ("tests = ['write_lat']\nrepetition = 3", "line 2: a plan has no key 'repetition'; did you mean 'repetitions'?"),
                ("tests = ['write_lat']\n[axes]\nsizes = 3", "line 3: axes has no key 'sizes'; did you mean 'size'?"),
                ("[[suite]]\ntest = 'write_lat'", "line 2: a suite has no key 'test'; did you mean 'tests'?"),
                ("tests = ['write_latt']", "line 1: there is no test 'write_latt'; did you mean 'write_lat'?"),
                ("tests = ['write_lat']\naxes = { size = '8kk' }", "line 2: invalid value '8kk' for --size"),
                ("tests = ['write_lat']\nrepetitions = 0", "repetitions takes a whole number from 1"),
                ("tests = ['write_lat']\ngates = ['fast']", "line 2: --gate 'fast': has too few words"),
                ("tests = ['write_lat'\n", "is not TOML"),
                # Each part of a key takes a frame of the parser's stack.
                (".".join(["a"] * 50000) + " = 1", "line 1: a key has more than 16 parts"),
                (f"tests = 'write_lat' # a comment.\n[{' . '.join(['a'] * 50000)}]", "line 2: a key has more than 16 parts"),
                ("x = [\"\"\"don't\\\"\"\"\"\", {" + ".".join(["'a'"] * 50000) + " = 1}]", "line 1: a key has more than 16 parts"),
                ("repetitions = 3 # " + "." * 100, "names no test"),
                ("gates = ['" + "." * 100 + "']\nrepetitions = 3", "line 1: --gate '"),
                ("repetitions = 3", "names no test"),
                ("[[suite]]\naxes = {}", "the suite names no tests"),
                ("suite = 3", "suite is a list of tables"),
                ("tests = 'write_lat'\n[[suite]]\ntests = 'write_lat'", "two suites measure the same case"),
        ):
            self.refused("run", "--dry-run", "--plan", self.plan(text), says=says)
        self.refused("run", "--dry-run", "--plan", self.path("none.toml"), says="none.toml")

    def test_says_the_line_of_a_value_of_no_kind_once(self):
        plan = self.plan("tests = ['write_lat']\n[axes]\nsize = []")
        said = self.refused("run", "--dry-run", "--plan", plan, says="size takes a text")
        self.assertEqual(said.count("line 3: "), 1, said)


class AB(Files):
    COMMON = ("--device", "null", "write_lat", "--iterations", "200")

    def test_measures_in_turns_and_keeps_both_sides(self):
        result = run("ab", "--a", "--wait spin", "--b", "--wait yield", "--blocks", "6", "-o",
                     self.path("ab.json"), "--", *self.COMMON)
        self.assertIn(result.returncode, (PASS, REGRESSION, INCONCLUSIVE), result.stderr)
        self.assertIn("B (--wait yield) against A (--wait spin)", result.stdout)
        with open(self.path("ab.json"), encoding="utf-8") as file:
            made = json.load(file)
        sides = "".join(row["side"] for row in made["benchmarks"])
        self.assertEqual(["".join(sorted(sides[i:i + 2])) for i in range(0, 12, 2)], ["ab"] * 6)
        self.assertEqual(run("compare", self.path("ab.json")).returncode, result.returncode)

    def test_a_real_difference_is_found_and_confirmed(self):
        # One that no other work of the machine hides: 8 bytes against 4 MiB.
        result = run("ab", "--a", "--size 8", "--b", "--size 4M", "--confirm", "--blocks", "8", "-o",
                     self.path("ab.json"), "--", "--loopback", "tcp_lat", "--iterations", "20", "--warmup", "1",
                     "--wait", "event")
        self.assertEqual(result.returncode, REGRESSION, result)
        self.assertIn("measured again, confirmed", " ".join(result.stdout.split()))
        self.assertTrue(os.path.exists(self.path("ab.json.confirm.json")))

    def test_against_itself_records_noise_for_later(self):
        noise = self.path("noise.json")
        # Of five blocks none can be a regression: all signs alike have a chance of 1 in 32.
        result = run("ab", "--aa", "--blocks", "5", "-o", noise, "--", *self.COMMON)
        self.assertIn(result.returncode, (PASS, INCONCLUSIVE), result)
        with open(noise, encoding="utf-8") as file:
            recorded = json.load(file)["context"]["rdmameter"]["noise"]
        self.assertEqual(list(recorded), ["write_lat/rc/iterations:200/device:null"])
        base = self.path("base.json")
        self.assertEqual(run("run", *self.COMMON, "--repetitions", "3", "-o", base).returncode, PASS)
        self.assertIn(run("compare", base, base, "--noise", noise).returncode, (PASS, INCONCLUSIVE))

    def test_cases_of_several_sizes_are_each_measured_on_both_sides_in_an_order_that_is_drawn(self):
        result = run("ab", "--a", "--wait spin", "--b", "--wait yield", "--blocks", "20", "-o", self.path("ab.json"), "--",
                     "--device", "null", "write_lat", "--iterations", "200", "--size", "8,64")
        self.assertNotEqual(result.returncode, USAGE, result.stderr)
        self.assertRegex(result.stderr, r"(?m)^rdmameter: block 1 of 20, 2 cases, 0:\d\d elapsed$")
        with open(self.path("ab.json"), encoding="utf-8") as file:
            rows = json.load(file)["benchmarks"]
        rows = [(row["repetition_index"], row["case"]["size_bytes"], row["side"]) for row in rows]
        first = {(block, size): side for block, size, side in reversed(rows)}
        blocks = range(20)  # in which a fair draw is one-sided, or the same for both cases, with a chance of 5 in a million
        for size in (8, 64):
            self.assertEqual({first[block, size] for block in blocks}, {"a", "b"}, size)
        self.assertTrue(any(first[block, 8] != first[block, 64] for block in blocks))
        for block in blocks:
            measured = [(size, side) for at, size, side in rows if at == block]
            self.assertEqual(sorted(measured), [(8, "a"), (8, "b"), (64, "a"), (64, "b")])
            self.assertEqual([size for size, _ in measured], [8, 8, 64, 64])

    def test_the_gates_of_the_plan_hold_unless_others_are_given(self):
        """Of one block no times are proven, and with `work` alone none are asked for: nor at any look of the twelve."""
        sides = ("ab", "--a", "--wait spin", "--b", "--wait yield")
        rest = ("--", "--device", "null", "--iterations", "200", "--plan")
        work = self.write_text("work.toml", 'tests = "write_lat"\ngates = ["work"]\n')
        self.assertEqual(run(*sides, "--blocks", "1", *rest, work).returncode, PASS)
        self.assertEqual(run(*sides, "--blocks", "1", "--gate", "times", *rest, work).returncode, INCONCLUSIVE)
        result = run(*sides, "-o", self.path("ab.json"), *rest, work)
        self.assertEqual(result.returncode, PASS, result)
        with open(self.path("ab.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["benchmarks"]), 24)
        limit = self.write_text("limit.toml", 'tests = "write_lat"\ngates = ["work", "* latency.p50 <= 1ns"]\n')
        result = run(*sides, "--blocks", "6", *rest, limit)
        self.assertEqual(result.returncode, REGRESSION, result)
        self.assertIn("(* latency.p50 <= 1ns)", " ".join(result.stdout.split()))  # where a line ends depends on the times

    def test_of_two_plans_the_gates_are_those_of_b_whichever_side_is_first(self):
        plans = [self.write_text(f"{gate}.toml", f'tests = "write_lat"\ngates = ["{gate}"]\n') for gate in ("times", "work")]
        for _ in range(6):  # the order is drawn
            self.assertEqual(run("ab", "--a", f"--plan {plans[0]}", "--b", f"--plan {plans[1]}", "--blocks", "1", "-o",
                                 self.path("ab.json"), "--", "--device", "null", "--iterations", "200").returncode, PASS)
            with open(self.path("ab.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file)["context"]["rdmameter"]["gates"], ["work"])

    def test_two_environments(self):
        result = run("ab", "--b", "LD_LIBRARY_PATH=/nowhere", "--blocks", "1", "--", *self.COMMON)
        self.assertEqual(result.returncode, INCONCLUSIVE, result)
        self.assertIn("cannot be confirmed among 1: it takes 6", result.stderr)

    def test_a_budget_that_ends_before_the_first_block_is_refused_and_no_old_result_is_judged(self):
        old = self.write("ab.json", [latency_row(64, 5000, side=side) for side in "ab"])
        with open(old, encoding="utf-8") as file:
            before = file.read()
        for output in ((), ("-o", old)):
            result = run("ab", "--aa", "--budget", "1ns", *output, "--", *self.COMMON)
            self.assertEqual((result.returncode, result.stdout), (USAGE, ""), result)
            self.assertIn("--budget: it was spent before the first block", result.stderr)
        with open(old, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)

    def test_wrong_use(self):
        self.refused("ab", "--", *self.COMMON, says="--a and --b are the same")
        self.refused("ab", "--b", "--wait spin", says="after --")
        self.refused("ab", "--b", "/no/such/program", "--", *self.COMMON, says="cannot be executed")
        self.refused("ab", "--b", "--sizes 3", "--", *self.COMMON, says="did you mean '--size'?")
        self.refused("ab", "--b", "--size 1,2", "--", *self.COMMON, says="side A measures 1 cases, side B 2")
        self.refused("ab", "--b", "'--size 3", "--", *self.COMMON, says="never closed")
        self.refused("ab", "--aa", "--b", "x", "--", *self.COMMON, says="takes no --b")
        self.refused("ab", "--aa", "--", *self.COMMON, "-o", "x", says="ab: -o cannot stand after --: give -o before it")
        self.refused("ab", "--aa", "--", *self.COMMON, "-ox", says="ab: -o cannot stand after --: give -o before it")
        self.refused("ab", "--aa", "--", *self.COMMON, "--output=x", says="ab: --output cannot stand after --")
        self.refused("ab", "--aa", "--", *self.COMMON, "--repetitions=2", says="--blocks says how often")
        self.refused("ab", "--aa", "--", "--device", "null", "no_test", says="mend --a, or what stands after --")


if __name__ == "__main__":
    PROGRAM, TIMED = sys.argv.pop(1), sys.argv.pop(1) == "timed"
    unittest.main()
