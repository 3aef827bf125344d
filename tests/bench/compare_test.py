#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `compare`, `merge`, `ab` and plans say and return for good and bad input; how much time and
memory a comparison of large files takes. Needs no device.

Usage: compare_test.py PATH_OF_RDMAMETER timed|untimed [unittest's arguments]
"""
import copy
import json
import os
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
        self.assertRegex(result.stdout, r"fail +write_lat/rc/size:64\n +p50 +5\.\d\d µs +6\.\d\d µs +\+(19|20)")

    def test_a_file_against_itself_ends_with_0(self):
        base = self.runs("base.json", 5000)
        result = run("compare", base, base)
        self.assertEqual(result.returncode, PASS, result)
        self.assertIn("2 cases: 2 pass", result.stdout)

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
        self.assertEqual(run("compare", base, slower, "--gate", "work").returncode, PASS)

    def test_one_repetition_is_inconclusive_and_says_why(self):
        base = self.write("base.json", [latency_row(64, 5000)])
        result = run("compare", base, base)
        self.assertEqual(result.returncode, INCONCLUSIVE)
        self.assertIn("one repetition says nothing", result.stdout)

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
        suite = xml.etree.ElementTree.parse(self.path("j.xml")).getroot()[0]
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "2"))
        with open(self.path("m.md"), encoding="utf-8") as file:
            self.assertIn("❌ fail | write\\_lat/rc/size:64 |", file.read())

    def test_show_compare_prints_every_metric_and_no_verdict_of_the_whole(self):
        base, slower = self.runs("base.json", 5000), self.runs("slower.json", 6000)
        result = run("show", "--compare", base, slower)
        self.assertEqual(result.returncode, PASS, result.stderr)
        self.assertIn("mean", result.stdout)


class StoredResults(unittest.TestCase):
    """Measured by this suite on rxe; tests/data/README.md says how."""
    BASE, SLOWER = (os.path.join(ROOT, "tests/data", name) for name in ("base.json", "slower.json"))

    def test_the_slower_one_fails_and_its_cases_are_named(self):
        result = run("compare", self.BASE, self.SLOWER)
        self.assertEqual(result.returncode, REGRESSION, result.stderr)
        self.assertRegex(result.stdout, r"fail +write_lat/rc/size:4096")
        self.assertRegex(result.stdout, r"fail +write_bw/rc/size:4096")

    def test_the_base_against_itself_passes(self):
        self.assertEqual(run("compare", self.BASE, self.BASE).returncode, PASS)

    def test_work_per_message_is_the_same(self):
        result = run("compare", self.BASE, self.SLOWER, "--gate", "work")
        self.assertEqual(result.returncode, PASS, result.stdout)
        self.assertIn("wrs per message 1, were 1", " ".join(result.stdout.split()))

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
        self.refused("merge", self.good, self.write("x.json", [row]), "-o", self.path("m.json"),
                     says="n[0] is negative")

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
        result = run("compare", self.good, other, "--allow-environment-change", "--gate", "work")
        self.assertEqual(result.returncode, PASS, result)

    def test_wrong_use(self):
        self.refused("compare", says="BASE and NEW")
        self.refused("compare", self.good, says="one side only")
        self.refused("compare", self.good, self.good, self.good, says="BASE and NEW")
        self.refused("compare", self.good, self.good, "--floor", "lots", says="--floor does not take 'lots'")
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
            file.truncate(1 << 33)
        self.refused("compare", self.good, self.path("x.json"), says="is larger than 512 MiB")


class LargeFiles(Files):
    def test_ten_thousand_rows_of_three_hundred_buckets_take_no_second(self):
        if not TIMED:
            self.skipTest("a sanitizer's time and memory are not the program's")
        row = latency_row(64, 5000)
        row["latency"]["histogram"].update(index=list(range(3000, 3300)), n=[123] * 300)
        row["device_counters"] = {end: {f"counter_number_{i}": i for i in range(20)}
                                  for end in ("initiator", "responder")}
        names = [json.dumps({**row, "name": f"write_lat/rc/size:{size}", "run_name": f"write_lat/rc/size:{size}",
                             "case": {**row["case"], "size_bytes": size}}) for size in range(1, 1001)]
        with open(self.path("large.json"), "w", encoding="utf-8") as file:
            file.write('{"context": ' + json.dumps(context()) + ',\n"benchmarks": [\n')
            file.write(",\n".join(line for line in names for _ in range(10)) + "\n]}\n")
        with open(self.path("out.txt"), "w+", encoding="utf-8") as out:
            child = subprocess.Popen([PROGRAM, "compare", self.path("large.json"), self.path("large.json")],
                                     stdout=out)
            _, _, used = os.wait4(child.pid, 0)
            child.returncode = 0  # waited for already
            out.seek(0)
            self.assertIn("1000 cases", out.read())
        # Time of the CPU: other tests may run beside this one.
        seconds = used.ru_utime + used.ru_stime
        print(f"{seconds:.2f} s, {used.ru_maxrss >> 10} MiB", file=sys.stderr)
        self.assertLess(seconds, 1)
        self.assertLess(used.ru_maxrss, 300 << 10)


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
                ("tests = ['write_lat']\naxes = { size = '8kk' }", "line 2: --size does not take '8kk'"),
                ("tests = ['write_lat']\nrepetitions = 0", "repetitions takes a whole number from 1"),
                ("tests = ['write_lat']\ngates = ['fast']", "line 2: --gate 'fast': has too few words"),
                ("tests = ['write_lat'\n", "is not TOML"),
                ("repetitions = 3", "names no test"),
                ("[[suite]]\naxes = {}", "the suite names no tests"),
                ("suite = 3", "suite is a list of tables"),
                ("tests = 'write_lat'\n[[suite]]\ntests = 'write_lat'", "two suites measure the same case"),
        ):
            self.refused("run", "--dry-run", "--plan", self.plan(text), says=says)
        self.refused("run", "--dry-run", "--plan", self.path("none.toml"), says="none.toml")


class AB(Files):
    COMMON = ("--device", "null", "write_lat", "--iterations", "200")

    def test_measures_in_turns_and_keeps_both_sides(self):
        result = run("ab", "--a", "--wait spin", "--b", "--wait yield", "--repetitions", "6", "-o",
                     self.path("ab.json"), "--", *self.COMMON)
        self.assertIn(result.returncode, (PASS, REGRESSION), result.stderr)
        self.assertIn("B (--wait yield) against A (--wait spin)", result.stdout)
        with open(self.path("ab.json"), encoding="utf-8") as file:
            made = json.load(file)
        self.assertEqual("".join(row["side"] for row in made["benchmarks"]), "abbaabbaabba")
        self.assertEqual(run("compare", self.path("ab.json")).returncode, result.returncode)

    def test_a_real_difference_is_found_and_confirmed(self):
        result = run("ab", "--a", "--post-list 32", "--b", "--post-list 1 --signal-every 1", "--confirm",
                     "--repetitions", "6", "-o", self.path("ab.json"), "--", "--device", "null", "send_bw",
                     "--duration", "50ms", "--size", "64")
        self.assertEqual(result.returncode, REGRESSION, result)
        self.assertIn("measured again, confirmed", result.stdout)
        self.assertTrue(os.path.exists(self.path("ab.json.confirm.json")))

    def test_against_itself_records_noise_for_later(self):
        noise = self.path("noise.json")
        result = run("ab", "--aa", "--repetitions", "6", "-o", noise, "--", *self.COMMON)
        self.assertEqual(result.returncode, PASS, result)
        with open(noise, encoding="utf-8") as file:
            recorded = json.load(file)["context"]["rdmameter"]["noise"]
        self.assertEqual(list(recorded), ["write_lat/rc/iterations:200/device:null"])
        base = self.path("base.json")
        self.assertEqual(run("run", *self.COMMON, "--repetitions", "3", "-o", base).returncode, PASS)
        result = run("compare", base, base, "--noise", noise)
        self.assertIn("taken from the noise", " ".join(result.stdout.split()))

    def test_two_environments(self):
        result = run("ab", "--b", "LD_LIBRARY_PATH=/nowhere", "--repetitions", "1", "--", *self.COMMON)
        self.assertEqual(result.returncode, INCONCLUSIVE, result)
        self.assertIn("cannot confirm a regression", result.stderr)

    def test_wrong_use(self):
        self.refused("ab", "--", *self.COMMON, says="--a and --b are the same")
        self.refused("ab", "--b", "--wait spin", says="after --")
        self.refused("ab", "--b", "/no/such/program", "--", *self.COMMON, says="cannot be executed")
        self.refused("ab", "--b", "--sizes 3", "--", *self.COMMON, says="did you mean '--size'?")
        self.refused("ab", "--b", "--size 1,2", "--", *self.COMMON, says="side A measures 1 cases, side B 2")
        self.refused("ab", "--b", "'--size 3", "--", *self.COMMON, says="never closed")
        self.refused("ab", "--aa", "--b", "x", "--", *self.COMMON, says="takes no --b")


if __name__ == "__main__":
    PROGRAM, TIMED = sys.argv.pop(1), sys.argv.pop(1) == "timed"
    unittest.main()
