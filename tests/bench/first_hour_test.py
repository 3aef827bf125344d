#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first hour: what somebody who has only README.md, docs/ and --help types, and what must be seen then.

Each test is a task. told() checks that a page leads there: it holds the words that are typed.
"""
import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "device"))
import rdmameter  # noqa: E402
from terminal import at_terminal  # noqa: E402

ROOT = HERE.parent.parent
SHORT = ("--iterations", "1000", "--warmup", "10")
REGRESSION, INCONCLUSIVE = 1, 3


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def twice_as_slow(result):
    """As if each sample had been twice as long: how busy this machine is makes no difference between the two."""
    for row in result["benchmarks"]:
        latency = row["latency"]
        for part in (latency, latency["half_round_trip"], latency["histogram"]):
            for key in part.keys() - {"count", "overflow", "precision_bits"}:
                if isinstance(part[key], (int, float)):
                    part[key] *= 2
        buckets = latency["histogram"]
        buckets["index"] = [index + (1 << buckets["precision_bits"]) for index in buckets["index"]]
    return result


class FirstHour(rdmameter.Test):
    """README.md and docs/ are what the user has."""

    def types(self, *arguments, status=rdmameter.PASS, **environment):
        """What `rdmameter ARGUMENTS` prints on stdout and stderr."""
        done = subprocess.run([rdmameter.program, *arguments], capture_output=True, text=True, timeout=300, check=False,
                              cwd=self.scratch, stdin=subprocess.DEVNULL,
                              env={**rdmameter.environment(), "LC_ALL": "C.UTF-8", **environment})
        self.assertEqual(done.returncode, status, (arguments, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def told(self, name, *words):
        text = " ".join(page(name).split())
        for each in words:
            self.assertIn(each, text, f"{name} does not lead here")

    def result(self, name, *arguments, repetitions=3):
        self.types("run", "--loopback", *arguments, *SHORT, "--repetitions", str(repetitions), "-o", name)
        return name

    def test_which_device_would_be_measured(self):
        self.told("README.md", "rdmameter devices")
        self.assertIn("soft0 is taken unless --device says otherwise", self.types("devices").splitlines()[0])

    def test_a_first_number_without_a_device(self):
        self.told("docs/running.md", "run --device null")
        self.assertRegex(self.types("run", "--device", "null", "write_lat"), r"write_lat/rc\S* +half RTT p50 [\d.]+ (ns|µs)")

    def test_between_two_machines_by_what_the_server_prints(self):
        self.told("README.md", "serve` prints the client's command")
        server = self.serve("--bind", "127.0.0.2")
        command = server.client_command
        self.assertEqual(command, f"rdmameter run 127.0.0.2:{server.port} write_lat")  # on loopback the token is found
        self.assertIn("half RTT p50", self.types(*command.split()[1:], *SHORT))

    def test_p99_of_sizes_from_2_to_4k(self):
        self.told("README.md", "--size 2..4K -o result.json", "rdmameter show result.json")
        shown = self.types("show", self.result("result.json", "write_lat", "--size", "2..4K"))
        head = next(line.split() for line in shown.splitlines() if line.split()[:1] == ["size"])
        lines = [line.split() for line in shown.splitlines() if re.match(r" +\d+ +\d+ ", line)]
        self.assertIn("p99", head)
        self.assertEqual([line[0] for line in lines if len(line) == len(head)], [str(2**i) for i in range(1, 13)], shown)
        self.assertEqual(len(re.findall("iterations", shown)), 2, "the constant axis once, and in the command\n" + shown)

    def test_how_far_from_line_rate(self):
        self.play("mlx5-roce")  # 100 Gb/s
        os.environ["RDMAMETER_DEVICE_WIRE"] = "rate=50G"  # more than the line would not be shown
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE", None)
        self.told("docs/reports.md", "share of the line rate")
        self.types("report", self.result("bw.json", "write_bw", "--peer-device", "soft1", "--size", "64K"), "-o", "bw.html")
        html = (pathlib.Path(self.scratch) / "bw.html").read_text(encoding="utf-8")
        page_says = re.search(r"<span>(\d+\.\d) % of the line(?:&#39;|')s 100 Gb/s", html)
        self.assertTrue(page_says, html[html.index("<main>"):html.index("<section id=summary")])
        self.told("docs/results.md", "share of the line rate (`of line`)", "`bandwidth_line_percent`")
        self.assertRegex(self.types("show", "bw.json"), r"(?m) of line .*\n.*\[%\]")
        for form in ((), ("--tidy",)):
            rows = list(csv.DictReader(io.StringIO(self.types("show", "--csv", *form, "bw.json"))))
            shares = [float(row["bandwidth_line_percent"]) for row in rows]
            for share, row in zip(shares, rows, strict=True):
                self.assertAlmostEqual(share, float(row["bandwidth_gbps"]), delta=share / 1000)
            self.assertAlmostEqual(statistics.median(shares), float(page_says[1]), delta=0.1)

    def at_terminal(self, columns, *arguments):
        """The lines that a terminal of so many columns shows."""
        environment = {key: value for key, value in rdmameter.environment().items() if key != "CI"}
        text, status = at_terminal(columns, [rdmameter.program, *arguments], environment, self.scratch)
        self.assertEqual(status, rdmameter.PASS, text)
        return [line.rsplit("\r\033[K", 1)[-1] for line in text.split("\n")]

    def test_topologies_are_no_wider_than_the_terminal(self):
        self.told("README.md", "rdmameter topo mesh ring hypercube")
        traffics = ("--traffic", "pairs,alltoall,flood", "--size", "8,4K", "--iterations", "50")
        commands = [("devices",), ("topo", "--list"), ("topo", "mesh", "ring", "--ranks", "16", *traffics, "--verify", "--dry-run"),
                    ("topo", "connections", "--loopback", "--dry-run"), ("show", "topo.json", "--predict", "64,1024", "--histogram")]
        if shutil.which("mpirun"):
            commands.insert(0, ("topo", "mesh", "ring", "--ranks", "4", *traffics, "-o", "topo.json"))
        else:
            commands.pop()
        for columns in (60, 80, 200):
            for arguments in commands:
                lines = self.at_terminal(columns, *arguments)
                self.assertGreater(len(lines), 2, (arguments, lines))
                self.assertLessEqual(max(map(len, lines)), columns, (arguments, max(lines, key=len)))

    def test_many_axes_are_no_wider_than_the_terminal(self):
        axes = [word for axis in ("size 64,4K", "signal-every 1,4", "qps 1,2", "depth 4,8", "post-list 1,2", "wait spin,yield")
                for word in f"--{axis}".split()]
        run = ("run", "--loopback", "write_lat", "send_bw", *axes, "--iterations", "50", "--warmup", "0", "-o", "many.json")
        for columns in (60, 80, 200):
            for arguments in (*[run] * (columns < 200), ("show", "many.json"), ("show", "--all", "many.json")):
                lines = self.at_terminal(columns, *arguments)
                self.assertLessEqual(max(map(len, lines)), columns, (arguments, max(lines, key=len)))

    def test_mean_and_p99_as_csv_into_pandas(self):
        self.told("docs/results.md", "rdmameter show --csv --tidy result.json > result.csv")
        self.result("result.json", "write_lat", "write_bw", "--size", "64,4K")
        text = self.types("show", "--csv", "--tidy", "result.json")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), 2 * 2 * 3)
        self.assertTrue(all(float(row["mean_ns"]) > 0 for row in rows if row["test"] == "write_lat"), text)
        if importlib.util.find_spec("pandas"):  # else what it would read has been read
            (pathlib.Path(self.scratch) / "result.csv").write_text(text, encoding="utf-8")
            recipe = re.search(r"```\n(import pandas\n.*?)```", page("docs/results.md"), re.S)[1]
            table = subprocess.run([sys.executable, "-c", recipe], cwd=self.scratch, capture_output=True, text=True, timeout=60,
                                   check=True).stdout
            self.assertRegex(table, r"write_lat +rc +64\b.*\n +4096\b")

    def test_a_table_by_jq(self):
        if not shutil.which("jq"):
            self.skipTest("jq is not installed")
        self.result("result.json", "write_lat", "--size", "64,4K")
        recipe = re.search(r"```\n(jq -r '.*?' result.json)\n```", page("docs/results.md"))[1]
        lines = subprocess.run(["sh", "-c", recipe], cwd=self.scratch, capture_output=True, text=True, timeout=60, check=True)
        self.assertRegex(lines.stdout, r"^(write_lat\t64\t\d[\d.]*\n){3}(write_lat\t4096\t\d[\d.]*\n){3}$")

    def test_one_row_per_repetition(self):
        self.told("docs/results.md", "`--csv` prints one line for each row")
        self.result("result.json", "write_lat", repetitions=4)
        rows = list(csv.DictReader(io.StringIO(self.types("show", "--csv", "--tidy", "result.json"))))
        self.assertEqual(len(rows), 4)
        self.assertEqual(len({row["repetition"] for row in rows}), 4)

    def test_percentiles_as_far_as_samples_go(self):
        self.told("docs/reports.md", "rdmameter show result.json --percentiles")
        self.result("result.json", "write_lat")
        self.assertRegex(self.types("show", "--percentiles", "result.json"), r"(?m)^ +(p?99(\.\d+)?)\b.*\d")

    def test_a_job_that_fails_where_p99_is_a_tenth_worse(self):
        self.told("docs/comparing.md", "--gate 'p99=20%'")
        self.result("base.json", "send_lat", "--wait", "event", repetitions=5)
        with open(f"{self.scratch}/base.json", encoding="utf-8") as file:
            base = json.load(file)
        with open(f"{self.scratch}/new.json", "w", encoding="utf-8") as file:
            json.dump(twice_as_slow(base), file)
        text = self.types("compare", "base.json", "new.json", "--gate", "p99=10%", status=REGRESSION)
        self.assertRegex(text, r"(?ms)^gates$\s*fail\b.* p99 .*\(p99=10%\)$")
        self.types("compare", "new.json", "base.json", "--gate", "p99=10%", "--inconclusive-ok")

    def test_compare_two_results(self):
        self.told("README.md", "rdmameter compare base.json new.json")
        self.result("a.json", "write_lat")
        shutil.copy(f"{self.scratch}/a.json", f"{self.scratch}/b.json")
        self.assertIn("write_lat/rc", self.types("compare", "a.json", "b.json", "--all", status=INCONCLUSIVE))

    def test_the_command_line_of_perftest(self):
        self.told("README.md", "rdmameter perftest ib_write_bw -d mlx5_0 -s 65536 -D 5")
        text = self.types("perftest", "ib_write_bw", "-d", "null", "-s", "65536", "-n", "1000", "--report_gbits", "localhost")
        self.assertRegex(text, r"#bytes +#iterations +BW peak\[Gb/sec\] +BW average\[Gb/sec\] +MsgRate\[Mpps\]\s*\n +65536 +\d+ ")

    def test_an_option_that_perftest_has_and_this_program_lacks(self):
        self.told("docs/perftest.md", "refused by name, with what to use instead")
        text = self.types("perftest", "ib_write_bw", "--use_mlu=0", "-d", "null", status=1)
        self.assertIn("--use_mlu", text)
        self.assertIn("use perftest itself", text)

    def test_what_a_cross_product_would_take(self):
        self.told("README.md", "--signal-every 1,16 --dry-run")
        text = self.types("run", "--loopback", "send_bw", "--size", "2..1M", "--transport", "rc,uc", "--signal-every", "1,16",
                          "--dry-run")
        self.assertRegex(text, r"80 cases")
        self.assertRegex(text, r"(?m)\b[\d.:]+ ?(s|min|minutes|seconds|ms)\b")

    def test_why_a_case_was_skipped(self):
        self.told("README.md", "the result has a skipped row with the reason")
        text = self.types("run", "--loopback", "send_lat", "--transport", "ud", "--size", "64,8K", *SHORT, "-o", "s.json")
        self.assertRegex(text, r"size:8192\S* +skipped: .*MTU")
        self.assertRegex(self.types("show", "s.json"), r"(?s)skipped\n.*MTU")

    def test_a_page_that_names_device_and_tests(self):
        self.told("README.md", "rdmameter report old.json new.json -o report.html")
        self.types("report", self.result("result.json", "write_lat", "--size", "64,4K"), "-o", "report.html")
        html = (pathlib.Path(self.scratch) / "report.html").read_text(encoding="utf-8")
        self.assertRegex(html, r"<title>soft0, [^:<]*: write_lat · rdmameter</title>")
        first = html[html.index("<main>"):html.index("<section id=summary")]
        for word in ("2 cases of write_lat over RC", "iterations:1000", "MTU", "settings"):
            self.assertIn(word, first)

    def test_ctrl_c_keeps_what_was_measured(self):
        self.told("docs/running.md", "What was measured until then becomes a row")
        run = self.start("--loopback", "write_lat", "--duration", "60")
        rdmameter.wait_until(run.handles_interrupts)
        run.work(0.3)
        run.process.send_signal(signal.SIGINT)
        done = run.end(30)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        [row] = done.rows
        self.assertTrue(row["interrupted"] and row["latency"]["count"] > 0, row)
        self.assert_valid(done.path)

    def test_what_an_axis_means(self):
        self.told("docs/running.md", "run --help depth")
        self.assertIn("requests in flight per QP", " ".join(self.types("run", "--help", "depth").split()))
        self.assertLess(len(self.types("run", "--help").splitlines()), 130)

    def test_a_mistyped_option(self):
        self.assertIn("did you mean '--size'", self.types("run", "--loopback", "write_lat", "--sice", "64", status=rdmameter.USAGE))

    def test_which_tests_there_are(self):
        self.told("README.md", "rdmameter run --list")
        text = self.types("run", "--list")
        for test in ("send_lat", "write_bw", "fetch_add_lat", "send_load", "reg_mr"):
            self.assertRegex(text, rf"(?m)^ *{test}\b")

    def test_a_server_that_is_not_there(self):
        self.told("docs/running.md", "99 | a measurement failed")
        text = self.types("run", "127.0.0.1:1", "write_lat", *SHORT, status=rdmameter.FAILED)
        self.assertRegex(text, r"127\.0\.0\.1:1.*refused|127\.0\.0\.1:1.*nobody|cannot .*127\.0\.0\.1:1")

    def test_how_latency_grows_with_load(self):
        self.told("README.md", "rdmameter run 192.0.2.1 send_load --rate 50k")
        text = self.types("run", "--loopback", "send_load", "--rate", "2k", "--iterations", "200")
        self.assertRegex(text, r"send_load/rc\S* +response .*offered \d+/s reached \d+/s")

    def test_results_over_time(self):
        self.told("README.md", "rdmameter history add new.json --into history.jsonl")
        self.result("new.json", "write_lat")
        self.types("history", "add", "new.json", "--into", "history.jsonl", "--commit", "3f2a1bc")
        self.assertIn("write_lat/rc", self.types("history", "show", "history.jsonl"))

    def test_numbers_for_prometheus(self):
        self.told("docs/reports.md", "rdmameter export result.json --format openmetrics -o rdmameter.prom")
        self.result("result.json", "write_lat")
        self.types("export", "result.json", "--format", "openmetrics", "-o", "rdmameter.prom")
        text = (pathlib.Path(self.scratch) / "rdmameter.prom").read_text(encoding="utf-8")
        self.assertTrue(text.endswith("# EOF\n"))

    def test_the_first_lines_of_a_long_table(self):
        self.told("docs/running.md", "the reader of stdout goes away")
        self.result("result.json", "write_lat", "--size", "1..1M")
        done = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" show result.json | head -n 1', rdmameter.program],
                              cwd=self.scratch, capture_output=True, text=True, timeout=60, check=False, env=os.environ)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("result.json\n", "", 0))


if __name__ == "__main__":
    rdmameter.main()
