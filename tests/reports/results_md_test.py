#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python of docs/results.md on real files and compares it with what the program reported.
The page names every field of a row.

Usage: results_md_test.py WRITE_SAMPLES
"""
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PER_MILLE = {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999}


def example():
    with open(os.path.join(ROOT, "docs/results.md"), encoding="utf-8") as file:
        text = file.read()
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return text, code


def keys_of(value):
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(inner)


def main(write_samples):
    text, code = example()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([write_samples, directory], check=True)
        names = {"path": os.path.join(directory, "base.json")}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "docs/results.md", "exec"), names)
        with open(names["path"], encoding="utf-8") as file:
            rows = [row for row in json.load(file)["benchmarks"] if "latency" in row]
        with open(os.path.join(directory, "every_field.json"), encoding="utf-8") as file:
            (every_field,) = json.load(file)["benchmarks"]
    del every_field["case"]  # docs/running.md describes axes
    missing = [key for key in keys_of(every_field) if f"`{key}`" not in text]
    assert not missing, f"docs/results.md lacks {missing}"
    index_of, lowest, merge, percentile = (names[name] for name in
                                           ("index_of", "lowest", "merge", "percentile"))

    # The rule by itself: every bucket begins where the one before it ends, and the last below 2^41.
    for index in range(32768):
        assert index_of(lowest(index)) == index, index
        assert index_of(lowest(index + 1) - 1) == index, index
    assert lowest(32768) == 2**41

    # The program's percentiles, row by row.
    compared = 0
    for row in rows:
        buckets = merge([row["latency"]["histogram"]])
        for key, per_mille in PER_MILLE.items():
            if row["latency"][key] is not None:
                assert percentile(buckets, per_mille) == row["latency"][key], (row["name"], key)
                compared += 1
    assert compared > 20, compared

    # Merging adds up; what the example prints lies among its parts.
    everything = merge(row["latency"]["histogram"] for row in rows)
    assert sum(n for _, n in everything) == sum(row["latency"]["count"] for row in rows)
    tails = [row["latency"]["p99.9"] for row in rows if row["latency"]["p99.9"] is not None]
    assert min(tails) <= int(printed.getvalue()) <= max(tails), printed.getvalue()

    # The worked example.
    value, index, low, high, reported = map(int, re.search(
        r"For example (\d+) ns .*?= (\d+)\. That bucket holds the\s+values (\d+) to (\d+)\. .*?reported as (\d+)\.",
        text, re.DOTALL).groups())
    assert (index_of(value), lowest(index), lowest(index + 1) - 1) == (index, low, high)
    assert percentile([(index, 1)], 500) == reported
    print(f"{compared} percentiles agree")


if __name__ == "__main__":
    main(sys.argv[1])
