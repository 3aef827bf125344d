#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what readers make of stored results: tests/data/corpus, each file by each reader, format and width.

Usage: corpus_test.py RDMAMETER [--write] [--each N] [-k PATTERN] [--save FOLDER]
  --write        makes tests/data/corpus/hashes.txt anew: for a change of what is printed that was meant, in the commit that makes it
  --each N       only every N-th command, for builds that are slow
  -k PATTERN     only commands that have this text in them
  --save FOLDER  writes what each command printed into FOLDER: `diff -r` of two of them, of a program before and after a change,
                 shows what is different

The hash is of exit status, stdout and stderr. What is the program's own and not the file's is left out: its version, and the page's
style and scripts. The program runs in a folder with a copy of the corpus, with TZ=UTC
and LC_ALL=C.UTF-8 (or C, of a width with /C).
"""
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

CORPUS = f"{os.path.dirname(os.path.abspath(__file__))}/../data/corpus"
TABLE = f"{CORPUS}/hashes.txt"
WIDTHS = (60, 80, 120, 200)
OUT = "OUT"  # in a command: a file of its own, whose content is part of the output
FORMATS = ("openmetrics", "github-smaller", "github-bigger", "bmf", "otava", "hgrm", "hdr-log")
PAIRS = (("base", "slower"), ("slower", "base"), ("base", "base"), ("latency", "latency"),
         ("bandwidth", "load"), ("topo_scale", "topo_scale"), ("failed", "failed"), ("mix", "mix"),
         ("per_device", "per_device"), ("ab", ""), ("ab_aa", ""))
ASCII = "80/C"  # such a terminal has no other characters


def a_latency_of(file):
    """The first case that has one, since a table of percentiles is of one case; else any."""
    with open(f"{CORPUS}/{file}", encoding="utf-8") as opened:
        return next((row["run_name"] for row in json.load(opened)["benchmarks"] if "latency" in row), "*")


def shown(name):
    """Commands of one result, each with the width of the terminal."""
    file = f"{name}.json"
    for width in (*WIDTHS, ASCII):
        yield width, f"show {file}"
    for options in ("--all", "--histogram", "--percentiles", "--loss-report"):
        yield 80, f"show {options} {file}"
    yield 80, f"show --csv {file}"
    yield 80, f"show --csv --tidy {file}"
    if name.startswith("topo_"):
        for width in WIDTHS:
            yield width, f"show --predict 16,1024 --memory-budget 1M --judge-shared {file}"
    yield 80, f"report {file} -o -"
    for each in FORMATS:
        yield 80, f"export {file} --format {each}" + (f" --case {a_latency_of(file)}" if each == "hgrm" else "")
    yield 80, f"merge {file} -o -"
    yield 80, f"history add {file} --commit c1 --into {OUT}"


def commands():
    names = sorted(name.removesuffix(".json") for name in os.listdir(CORPUS) if name.endswith(".json"))
    for name in names:
        yield from shown(name)
    for base, other in PAIRS:
        files = f"{base}.json {other}.json" if other else f"{base}.json"
        for width in (*WIDTHS, ASCII):
            yield width, f"compare {files} --all"
        yield 80, f"compare {files}"
        for options in ("--gate work --github", f"--markdown {OUT}", f"--junit {OUT}"):
            yield 80, f"compare {files} {options}"
        if other:
            yield 80, f"report {files} -o -"
    yield 80, "compare base.json slower.json --noise ab_aa.json --margin 20 --floor 5 --batch-noise 6"
    yield 80, "show base.json slower.json"
    yield 80, "show --csv base.json latency.json topo_scale.json"
    yield 80, "merge base.json slower.json -o -"
    yield 80, "export base.json slower.json --format otava"
    for width in WIDTHS:
        yield width, "history show history.jsonl"
        yield width, "history check history.jsonl"


def neutral(output, version):
    """Without what is not of the file."""
    output = re.sub(rb"<style>.*?</style>|<script>.*?</script>", b"", output, flags=re.DOTALL)
    return output.replace(b"<footer>rdmameter " + version + b"</footer>", b"").replace(b'"version":"' + version + b'"', b'"version":"its own"')


class Corpus:
    def __init__(self, program, folder, save):
        self.program, self.folder, self.save, self.numbers = os.path.abspath(program), folder, save, itertools.count(1)
        self.version = subprocess.run([program, "--version"], check=True, capture_output=True).stdout.split()[1].rstrip(b",")
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "RDMAMETER_"))
                    and name not in ("NO_COLOR", "TERM", "CI", "GITHUB_ACTIONS")} | {"TZ": "UTC", "PATH": os.path.dirname(self.program)}

    def render(self, terminal, command):
        """The line of the table."""
        width, _, locale = str(terminal).partition("/")
        own = f"{OUT}.{next(self.numbers)}"
        # What is not a terminal has no width unless COLUMNS says so.
        done = subprocess.run(["rdmameter", *(own if word == OUT else word for word in command.split())], executable=self.program, cwd=self.folder,
                              env=self.env | {"COLUMNS": width, "LC_ALL": locale or "C.UTF-8"}, check=False, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
        output = b"status %d\n" % done.returncode + neutral(done.stdout, self.version) + b"--- stderr\n" + done.stderr
        if os.path.exists(f"{self.folder}/{own}"):
            with open(f"{self.folder}/{own}", "rb") as file:
                output += b"--- file\n" + neutral(file.read(), self.version)
        output = output.replace(own.encode(), OUT.encode())
        if self.save:
            with open(f"{self.save}/{re.sub(r'[^a-zA-Z0-9._-]+', '_', command)}.{width}{locale}", "wb") as file:
                file.write(output)
        return f"{hashlib.sha256(output).hexdigest()} {terminal} {command}"


def has_charts(program):
    """A program without ECharts makes other pages."""
    page = subprocess.run([program, "report", f"{CORPUS}/base.json", "-o", "-"], check=True, capture_output=True).stdout
    return b"built without ECharts" not in page


def by_command(lines):
    return {line.split(" ", 1)[1]: line.split(" ", 1)[0] for line in lines}


def as_typed(command):
    terminal, words = command.split(" ", 1)
    width, _, locale = terminal.partition("/")
    return f"COLUMNS={width} LC_ALL={locale or 'C.UTF-8'} rdmameter {words}"


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    chosen = list(commands())
    assert len(set(chosen)) == len(chosen)
    pattern, each, save = option("-k", ""), int(option("--each", "1")), option("--save", "")
    if save:
        os.makedirs(save, exist_ok=True)
    if not has_charts(sys.argv[1]):
        print("pages are left out: this program has no charts (tools/install-npm)")
        chosen = [one for one in chosen if not one[1].startswith("report ")]
    some = [one for one in chosen if pattern in one[1]][::each]
    with tempfile.TemporaryDirectory(prefix="rdmameter-corpus-") as folder:
        shutil.copytree(CORPUS, folder, dirs_exist_ok=True)
        corpus = Corpus(sys.argv[1], folder, save and os.path.abspath(save))
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            lines = list(pool.map(lambda one: corpus.render(*one), some))
    if "--write" in sys.argv:
        if len(some) < len(list(commands())):
            sys.exit("corpus_test.py: --write takes neither -k nor --each, and a program with charts: the table has all commands")
        with open(TABLE, "w", encoding="ascii") as file:
            file.write("".join(f"{line}\n" for line in sorted(lines, key=lambda line: line.split(" ", 1)[1])))
        return 0
    with open(TABLE, encoding="ascii") as file:
        expected = by_command(file.read().splitlines())
    found = by_command(lines)
    different = [command for command in found if found[command] != expected.get(command)]
    missing = [] if len(some) < len(list(commands())) else [command for command in expected if command not in found]
    for command in different:
        print(f"other output: {as_typed(command)}")
    for command in missing:
        print(f"in hashes.txt alone: {command}")
    if different or missing:
        print(f"{len(different)} of {len(found)} commands print something else than hashes.txt (tests/data/corpus) says. To see it, run this test with "
              "--save FOLDER with the program before the change and after it, and `diff -r` the folders. If it was meant, --write makes the table anew.")
    return 1 if different or missing else 0


if __name__ == "__main__":
    sys.exit(main())
