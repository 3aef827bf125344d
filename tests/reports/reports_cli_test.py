#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rdmameter report, history and export as people and scripts call them.

Usage: reports_cli_test.py RDMAMETER WRITE_SAMPLES
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = WRITE_SAMPLES = None
USAGE, FAILED = 2, 99


def run(*arguments, **environment):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **environment})


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        samples = tempfile.TemporaryDirectory()
        cls.addClassCleanup(samples.cleanup)
        cls.samples = samples.name
        subprocess.run([WRITE_SAMPLES, cls.samples], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        shutil.copytree(self.samples, self.folder, dirs_exist_ok=True)
        self.base, self.new = self.path("base.json"), self.path("new.json")
        later = json.loads(self.text("new.json"))
        later["context"]["date"] = "2024-01-03T03:04:05+00:00"
        self.write("new.json", json.dumps(later))

    def path(self, name):
        return os.path.join(self.folder, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def passes(self, *arguments, **environment):
        result = run(*arguments, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
        return result.stdout

    def refused(self, *arguments, says, status=USAGE):
        result = run(*arguments)
        self.assertEqual(result.returncode, status, (arguments, result))
        self.assertEqual(result.stdout, "", arguments)
        self.assertIn(says, result.stderr, arguments)

    def test_help_is_for_eighty_columns_and_has_examples(self):
        for words in (["report"], ["export"], ["history"], ["history", "add"], ["history", "show"],
                      ["history", "check"], ["history", "ack"]):
            text = self.passes(*words, "--help")
            self.assertIn(f"rdmameter {words[0]}", text)
            self.assertIn("Examples:", text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_show_predicts_for_the_ranks_that_are_asked_for(self):
        topologies = self.path("topology.json")
        self.assertNotIn("predicted", self.passes("show", topologies))
        text = self.passes("show", topologies, "--predict", "1024,64,64")
        self.assertIn("predicted, not measured", text)
        for ranks in ("64", "1024"):
            self.assertRegex(text, rf"(?m)^ +{ranks} +ring +4096 ")
        for wrong in ("1", "x", "64,", ",", "64,,128", "1048577", "-4", "6.5"):
            self.refused("show", topologies, f"--predict={wrong}", says="takes numbers of ranks from 2 to 1048576")
        self.refused("show", topologies, "--predict=" + ",".join(map(str, range(2, 40))), says="at most 32")
        self.assertIn("rule out mesh from 4098 ranks", " ".join(text.split()))
        text = self.passes("show", topologies, "--memory-budget", "1M")
        self.assertIn("The memory budget of 1M a rank: Not known of mesh, ring, hypercube: their rows do not tell it", " ".join(text.split()))
        for wrong in ("0", "1Q", "-1"):
            self.refused("show", topologies, f"--memory-budget={wrong}", says="bytes from 1 on")
        self.refused("show", "--csv", topologies, "--predict=4", says="give one")

    def test_wrong_use_says_what_is_missing(self):
        self.refused("report", self.base, says="-o takes the name of the page")
        self.refused("report", "-o", "x.html", says="name at least one result file")
        self.refused("export", "--format", "bmf", says="name a result file")
        self.refused("export", self.base, says="--format is one of openmetrics, github-smaller")
        self.refused("export", self.base, "--format", "bmff", says="invalid value 'bmff' for --format")
        self.refused("export", self.base, self.new, "--format", "bmf", says="one result, and 2 are named")
        self.refused("export", self.base, "--format", "hgrm", says="--case NAME among:")
        self.refused("export", self.base, "--format", "bmf", "--case", "no_*", says="--case 'no_*' matches no case")
        self.refused("history", says="add, show, check or ack")
        self.refused("history", "add", self.base, says="--into")
        self.refused("history", "add", "--into", "x", says="name at least one result file")
        self.refused("history", "show", says="name one history")
        self.refused("history", "show", self.path("no.jsonl"), says="No such file")
        self.refused("history", "check", "x", "--lats", "5", says="did you mean '--last'?")
        self.refused("history", "remove", says="remove")
        self.refused("show", self.base, "--csv", "--percentiles", says="give one")

    def test_no_command_takes_a_row_without_a_name(self):
        result = json.loads(self.text("base.json"))
        del result["benchmarks"][0]["name"]
        path = self.write("nameless.json", json.dumps(result))
        for arguments in (["show", path], ["compare", path, self.new], ["compare", self.new, path],
                          ["report", path, "-o", self.path("r.html")], ["export", path, "--format", "bmf"],
                          ["merge", path, self.new, "-o", self.path("m.json")]):
            self.refused(*arguments, says='nameless.json: row 1: the key "name" is missing.')
        del result["benchmarks"]
        self.refused("show", self.write("no_rows.json", json.dumps(result)),
                     says='no_rows.json: the key "benchmarks" is missing: the file is not a result')

    def test_what_has_no_number_is_named(self):
        result = json.loads(self.text("base.json"))
        unmeasured = [row for row in result["benchmarks"] if "skipped" in row or "error_occurred" in row]
        self.assertTrue(unmeasured)
        for name, rows, says in (("none.json", [], "there are no rows"), ("skips.json", unmeasured, "no case was measured")):
            path = self.write(name, json.dumps({**result, "benchmarks": rows}))
            for arguments in (["report", path, "-o", self.path("r.html")], ["export", path, "--format", "bmf"],
                              ["show", "--csv", path]):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stderr), (0, f"rdmameter: {path}: {says}, so it has no numbers\n"))
        self.passes("export", self.base, "--format", "bmf")

    def test_files_that_are_no_results(self):
        text = self.text("base.json")
        files = {
            "cut.json": (text[:len(text) // 2], "Copy the whole file, or measure again"),
            "nan.json": (text.replace('"real_time":', '"real_time":NaN,"x":', 1), "is not JSON, at line"),
            "negative.json": (text.replace('"iterations":', '"iterations":-', 1), "is negative"),
            "other.json": (text.replace("rdmameter.result.v1", "rdmameter.result.v9"), "rdmameter.result.v9"),
            "empty.json": ("", "is empty"),
        }
        for name, (content, says) in files.items():
            path = self.write(name, content)
            for arguments in (["report", path, "-o", self.path("r.html")], ["export", path, "--format", "bmf"],
                              ["history", "add", path, "--into", self.path("h.jsonl")]):
                self.refused(*arguments, says=says)
                self.assertIn(name, run(*arguments).stderr)
        self.assertFalse(os.path.exists(self.path("r.html")))
        self.assertFalse(os.path.exists(self.path("h.jsonl")))

    def test_an_output_is_whole_or_as_it_was(self):
        self.write("r.html", "before")
        self.refused("report", self.path("no.json"), "-o", self.path("r.html"), says="no.json")
        self.assertEqual(self.text("r.html"), "before")
        self.refused("report", self.base, "-o", self.path("no/where.html"), says="No such file or directory")
        if os.path.exists("/dev/full"):
            self.refused("report", self.base, "-o", "/dev/full", says="/dev/full", status=FAILED)
        self.passes("report", self.base, "-o", self.path("r.html"))
        self.assertTrue(self.text("r.html").startswith("<!doctype html>"))
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".new")], [])
        self.assertEqual(self.passes("report", self.base, "-o", "-"), self.text("r.html"))

    def test_an_output_is_never_written_through_a_link(self):
        self.write("victim", "precious")
        os.symlink("victim", self.path("link"))
        link = self.path("link")
        for arguments in (["report", self.base, "-o", link], ["merge", self.base, "-o", link],
                          ["export", self.base, "--format", "bmf", "-o", link],
                          ["history", "add", self.base, "--into", link],
                          ["compare", self.base, self.new, "--markdown", link],
                          ["compare", self.base, self.new, "--junit", link]):
            result = run(*arguments)
            self.assertEqual(result.returncode, USAGE, (arguments, result))
            self.assertIn("it is a symbolic link; name the file that it leads to", result.stderr)
        self.assertEqual(self.text("victim"), "precious")

    def test_a_merge_that_fails_leaves_the_older_file(self):
        self.write("m.json", "before")
        self.refused("merge", self.base, self.path("none.json"), "-o", self.path("m.json"), says="none.json")
        self.assertEqual(self.text("m.json"), "before")

    def test_text_of_a_file_reaches_no_terminal_as_it_is(self):
        evil = "\x1b]0;title\x07\x1b[2J\u202e\x9b31m\nrdmameter: all is well"

        def poisoned(value):
            """Every text and every key that may be any; the others keep the file readable."""
            if isinstance(value, dict):
                return {key: value[key] if key in ("schema", "date") else poisoned(value[key]) for key in value} | {
                    evil: evil}
            if isinstance(value, list):
                return [poisoned(each) for each in value]
            return value + evil if isinstance(value, str) and not value.isdigit() else value

        result = json.loads(self.text("base.json"))
        files = [self.write("all.json", json.dumps(poisoned(result)))]
        for number, (key, value) in enumerate({"name": 7, "iterations": -1, "latency": {evil: 1}, "run_name": None,
                                               "case": evil, "time_unit": evil, "run_type": evil}.items()):
            files.append(self.write(f"{number}.json", json.dumps({**result, "benchmarks": [
                {**row, "name": row["name"] + evil, key: value} for row in result["benchmarks"]]})))
        context = result["context"]
        files += [self.write("schema.json", json.dumps({**result, "context": {
            **context, "rdmameter": {**context["rdmameter"], "schema": evil}}})),
                  self.write(evil.replace("/", "") + ".json", "{")]
        history = self.path("h.jsonl")
        for path in files:
            for arguments in (["show", path], ["show", path, "--percentiles"], ["show", path, "--csv"],
                              ["compare", self.base, path, "--all"], ["compare", path, self.base],
                              ["compare", path, path, "--allow-environment-change", "--gate", "work"],
                              ["compare", self.base, path, "--allow-environment-change", "--github"],
                              ["merge", self.base, path, "-o", self.path("m.json")],
                              ["history", "add", path, "--into", history], ["history", "show", history],
                              ["history", "check", history], ["report", path, "-o", self.path("r.html")],
                              ["export", path, "--format", "hgrm", "--case", evil], ["export", path, "--format", evil]):
                result = run(*arguments)
                self.assertIn(result.returncode, (0, 1, 2, 3), result)
                for text in (result.stdout, result.stderr):
                    harmful = [c for c in text if c != "\n" and (c < " " or "\x7f" <= c < "\xa0" or c == "\u202e")]
                    self.assertEqual(harmful, [], (arguments, text))

    def test_a_fifo_is_read_and_written(self):
        os.mkfifo(self.path("fifo"))
        with subprocess.Popen([PROGRAM, "merge", self.base, "-o", self.path("fifo")],
                              stdout=subprocess.DEVNULL) as writer:
            shown = self.passes("show", self.path("fifo"))
            self.assertEqual(writer.wait(60), 0)
        self.assertIn("send_lat over RC", shown)
        shell = subprocess.run(["bash", "-c", f"'{PROGRAM}' show <(cat '{self.base}'); cat '{self.base}' | '{PROGRAM}' "
                                "show /dev/stdin"], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(shell.stdout.count("\nsend_lat: half round trip"), 2)

    def test_waiting_for_a_fifo_ends_with_an_interrupt(self):
        os.mkfifo(self.path("fifo"))
        with subprocess.Popen([PROGRAM, "show", self.path("fifo")], stderr=subprocess.PIPE, text=True) as reader:
            # A writer whose open() returns has met the reader; it says nothing, and the reader waits for it.
            with open(self.path("fifo"), "w", encoding="utf-8"):
                reader.send_signal(signal.SIGINT)
                _, errors = reader.communicate(timeout=20)
        self.assertEqual((reader.returncode, errors), (130, "rdmameter: interrupted\n"))

    def test_nothing_that_show_prints_is_wider_than_the_terminal(self):
        shown = 0
        for name in os.listdir(self.samples):
            for columns in (60, 80):
                result = run("show", os.path.join(self.samples, name), "--predict", "64,1024", COLUMNS=str(columns))
                shown += result.returncode == 0
                # A path has no blank to break it at.
                lines = [line for line in result.stdout.splitlines() if self.samples not in line]
                self.assertLessEqual(max(map(len, lines), default=0), columns, (name, max(lines, key=len, default="")))
        self.assertGreaterEqual(shown, 12)

    def test_show_keeps_to_some_cases(self):
        whole, some = self.passes("show", self.base), self.passes("show", self.base, "--case", "write_bw/*")
        self.assertIn("send_lat over", whole)
        self.assertNotIn("send_lat over", some)
        self.assertIn("write_bw over", some)
        self.assertEqual(self.passes("show", self.base, "--case", "*"), whole)
        csv = self.passes("show", "--csv", self.base, "--case", "write_bw/*").splitlines()
        self.assertTrue(all("write_bw/" in line for line in csv[1:]), csv)
        self.assertGreater(len(csv), 1)
        self.refused("show", self.base, "--case", "no_*", says="--case 'no_*' matches no case")

    def test_case_keeps_to_some(self):
        text = self.passes("export", self.base, "--format", "bmf", "--case", "send_lat/rc/*", "--case", "write_bw/rc/size:64")
        self.assertEqual(list(json.loads(text)), ["send_lat/rc/size:2", "send_lat/rc/size:1024", "write_bw/rc/size:64"])

    def test_percentiles_go_as_far_as_the_samples(self):
        text = self.passes("show", self.base, "--percentiles", "--no-histogram")
        section = text[text.index("send_lat over RC, size 1024 B: half round trip, 3 repetitions merged"):]
        rows = [line.split() for line in section.split("\n\n")[0].splitlines()[3:-1]]
        self.assertEqual(rows[1][:3], ["p50", "2", "4.49"])
        self.assertEqual([row[0] for row in rows if row[0].startswith("p99.")], ["p99.5", "p99.9", "p99.95"])
        self.assertEqual(rows[1][-1], "15000", "samples beyond the median of 30000")
        self.assertEqual([row for row in rows if row[0] == "max"], [["max", "104.37", "–", "–", "0"]])

    def test_history_goes_into_a_directory_and_comes_out_again(self):
        self.passes("history", "add", self.base, self.new, "--into", self.folder, "--commit", "3f2a1bc")
        self.passes("history", "add", self.base, "--into", self.path("history.jsonl"))
        lines = [json.loads(line) for line in self.text("history.jsonl").splitlines()]
        self.assertEqual([line["commit"] for line in lines], ["3f2a1bc", "3f2a1bc", ""])
        shown = self.passes("history", "show", self.folder, "--case", "send_lat/*")
        self.assertIn("send_lat/rc/size:2, p50\n", shown)
        self.assertNotIn("write_bw", shown)
        self.assertRegex(self.passes("history", "check", self.folder),
                         r"0 changes in 0 of (\d+) series; \1 with fewer than 12 results")
        self.assertTrue(run("history", "show", self.folder, LC_ALL="C").stdout.isascii())

    def test_history_takes_a_result_once(self):
        add = ("history", "add", self.base, "--into", self.path("once.jsonl"), "--commit", "3f2a1bc")
        self.passes(*add)
        again = run(*add)
        self.assertEqual(again.returncode, 0, again)
        self.assertIn("base.json: ", again.stderr)
        self.assertIn("once.jsonl has this result already, so it is not added again", again.stderr)
        self.passes("history", "add", self.new, "--into", self.path("once.jsonl"), "--commit", "3f2a1bc")
        self.assertEqual(len(self.text("once.jsonl").splitlines()), 2)
        both = run("history", "add", self.base, self.new, self.base, "--into", self.path("twice.jsonl"))
        self.assertEqual((both.returncode, both.stderr.count("already")), (0, 1), both)  # one of this very call, too
        self.assertEqual(len(self.text("twice.jsonl").splitlines()), 2)

    def test_history_refuses_a_result_without_a_measured_case(self):
        result = json.loads(self.text(os.path.basename(self.base)))
        result["benchmarks"] = []
        self.write("norows.json", json.dumps(result))
        refused = run("history", "add", self.base, self.path("norows.json"), "--into", self.path("none.jsonl"))
        self.assertEqual(refused.returncode, 2, refused)
        self.assertIn("norows.json: no case of it has been measured", refused.stderr)
        self.assertFalse(os.path.exists(self.path("none.jsonl")))

    def test_history_names_a_broken_line_and_goes_on(self):
        self.passes("history", "add", self.base, self.new, "--into", self.path("h.jsonl"))
        first, second = self.text("h.jsonl").splitlines()
        self.write("h.jsonl", f"{first}\n{second[:100]}\n{second}\n")
        result = run("history", "show", self.path("h.jsonl"))
        self.assertEqual(result.returncode, 0)
        self.assertIn("h.jsonl: line 2: is not JSON, or cut off. The line is left out.", result.stderr)
        self.assertIn("send_lat/rc/size:2", result.stdout)
        self.write("h.jsonl", second[:100])
        self.assertEqual(run("history", "check", self.path("h.jsonl")).returncode, USAGE)

    def test_a_change_is_a_warning_and_no_gate(self):
        base = json.loads(self.text("base.json"))
        for number in range(16):
            base["context"]["date"] = f"2024-01-{number + 1:02}T00:00:00+00:00"
            for row in base["benchmarks"]:
                if "bandwidth" in row:
                    row["bandwidth"]["window_ns"] = int(1e7 * (1 if number < 8 else 1.3)) + number * 1000
            path = self.write("run.json", json.dumps(base))
            self.passes("history", "add", path, "--into", self.path("h.jsonl"), "--commit", f"c{number}")
        text = self.passes("history", "check", self.path("h.jsonl"))
        self.assertIn("write_bw/rc/size:64, bandwidth\n  worse -23.1 %", text)
        self.assertIn("since c8 (2024-01-09T00:00)", " ".join(text.split()))
        self.passes("history", "ack", self.path("h.jsonl"), "--case", "write_bw/rc/size:64", "--since", "c8", "--note", "known")
        self.assertIn("acknowledged (known): worse -23.1 %", self.passes("history", "check", self.path("h.jsonl")))
        self.assertIn("0 changes", self.passes("history", "check", self.path("h.jsonl"), "--since", "c9"))
        self.refused("history", "ack", self.path("h.jsonl"), "--case", "write_bw/rc/size:1", "--since", "c8", says="no result")
        self.refused("history", "ack", self.path("h.jsonl"), "--case", "write_bw/rc/size:64", "--since", "c8", "--quantity", "p50", says="p50_ns")
        self.refused("history", "check", self.path("h.jsonl"), "--since", "c99", says="a commit of this history")


if __name__ == "__main__":
    PROGRAM, WRITE_SAMPLES = (os.path.abspath(path) for path in (sys.argv.pop(1), sys.argv.pop(1)))
    unittest.main()
