#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds result files to reports/result.schema.json, and to what a schema cannot say.

Usage: schema_test.py FILE|FOLDER...      each file, and those of each folder, must pass
       schema_test.py --samples PROGRAM   PROGRAM DIRECTORY writes samples; they must pass, and each of
                                          the mutations below must be refused
"""
import copy
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../reports/result.schema.json")
PERCENTILES = {"p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9, "p99.99": 99.99}


def load(path):
    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse)


def lowest(index):
    shift = max((index >> 10) - 1, 0)
    return (index - (shift << 10)) << shift


def midpoint(histogram, index):
    low = lowest(index)
    middle = low + (lowest(index + 1) - low) // 2
    return min(max(middle, int(histogram["min"])), int(histogram["max"]))


def percentile(histogram, percent):
    rank = max(1, math.ceil(percent * 1000 * int(histogram["count"]) / 100000 - 1e-9))
    seen = 0
    for index, n in zip(histogram["index"], map(int, histogram["n"])):
        seen += n
        if seen >= rank:
            return midpoint(histogram, index)
    return int(histogram["max"])


def wrong_histogram(histogram):
    count, index, n = int(histogram["count"]), histogram["index"], [int(n) for n in histogram["n"]]
    if len(index) != len(n):
        yield "index and n are not equally long"
    if index != sorted(set(index)):
        yield "index is not ascending"
    if sum(n) + int(histogram["overflow"]) != count:
        yield "n and overflow do not sum to count"
    if count and not int(histogram["min"]) * count <= int(histogram["sum"]) <= int(histogram["max"]) * count:
        yield "sum is not between min * count and max * count"
    if index and not lowest(index[0]) <= int(histogram["min"]) < lowest(index[0] + 1):
        yield "min is not in the first bucket"


def wrong_statistics(statistics, histogram, divisor):
    """What does not follow from the histogram."""
    count = int(histogram["count"])
    if int(statistics["count"]) != count:
        yield "count is not the histogram's"
    if not count:
        return
    expected = {"min": int(histogram["min"]), "max": int(histogram["max"]),
                "mean": int(histogram["sum"]) / count}
    expected.update({key: percentile(histogram, percent) for key, percent in PERCENTILES.items()
                     if statistics[key] is not None})
    for key, value in expected.items():
        if not math.isclose(statistics[key], value / divisor, rel_tol=1e-9):
            yield f"{key} is {statistics[key]}, by the histogram {value / divisor}"


def wrong_bandwidth(bandwidth):
    window = int(bandwidth["window_ns"])
    per_ns = (lambda amount: int(amount) / window) if window else (lambda amount: 0)
    expected = {"gbps": 8 * per_ns(bandwidth["bytes"]), "mib_per_s": per_ns(bandwidth["bytes"]) * 1e9 / 2**20,
                "mmsg_per_s": per_ns(bandwidth["messages"]) * 1e3}
    if "lost" in bandwidth:
        once = int(bandwidth["received"]) - int(bandwidth.get("duplicated", 0))
        expected["lost"] = max(int(bandwidth["sent"]) - once, 0)
    for key, value in expected.items():
        if not math.isclose(int(bandwidth[key]) if key == "lost" else bandwidth[key], value, rel_tol=1e-9):
            yield f"{key} is {bandwidth[key]}, by its parts {value}"


def wrong_topology(topology):
    ranks = topology["ranks"]
    for key in ("qps_per_rank", "rank_gbps", "matrix_ns"):
        if len(topology.get(key, [0] * ranks)) != ranks:
            yield f"{key} has not one element for each rank"
    if any(len(row) != ranks for row in topology.get("matrix_ns", [])):
        yield "matrix_ns is not square"
    if any(rank >= ranks for edge in topology.get("edges", []) for rank in edge):
        yield "edges name a rank that is not there"
    if any(max(pair["from"], pair["to"]) >= ranks for pair in topology.get("failed_pairs", [])):
        yield "failed_pairs name a rank that is not there"
    if "qps_total" in topology and sum(topology.get("qps_per_rank", [topology["qps_total"]])) != topology["qps_total"]:
        yield "qps_total is not the sum of qps_per_rank"
    if "hops" in topology and topology["hops"]["mean"] > topology["hops"]["max"] * (1 + 1e-9):
        yield "hops: the mean is beyond the max"
    hops = [distance["hops"] for distance in topology.get("by_hops", [])]
    if hops != sorted(set(hops)):
        yield "by_hops is not ascending"
    for distance in topology.get("by_hops", []):
        yield from wrong_latency(distance["latency"])
    if "jain" in topology:
        rates = topology["rank_gbps"]
        sending = [rate for rate in rates if rate > 0]
        jain = sum(sending) ** 2 / (len(sending) * sum(rate * rate for rate in sending))
        if not math.isclose(topology["jain"], jain, rel_tol=1e-9):
            yield f"jain is {topology['jain']}, by rank_gbps {jain}"


def wrong_latency(latency):
    yield from wrong_histogram(latency["histogram"])
    yield from wrong_statistics(latency, latency["histogram"], 1)
    if "half_round_trip" in latency:
        yield from wrong_statistics(latency["half_round_trip"], latency["histogram"], 2)


def wrong_row(row):
    """What is wrong with a row, though the schema has nothing against it."""
    suffix = "/error" if "error_occurred" in row else "/skipped" if "skipped" in row else ""
    if row["name"] != row["run_name"] + suffix:
        yield "name is not run_name and its suffix"
    if row["repetition_index"] >= row["repetitions"]:
        yield "repetition_index is not below repetitions"
    if "latency" in row:
        yield from wrong_latency(row["latency"])
    if "bandwidth" in row:
        yield from wrong_bandwidth(row["bandwidth"])
    if "topology" in row:
        yield from wrong_topology(row["topology"])


def faults(result, validator):
    """Everything that is wrong with a result."""
    found = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
             for error in validator.iter_errors(result)]
    if not found:  # else the keys below may not be there
        for number, row in enumerate(result["benchmarks"], 1):
            found += [f"row {number} ({row['name']}): {fault}" for fault in wrong_row(row)]
    return found


GONE = object()
HISTOGRAM = ("latency", "histogram")
# (row, or None for the whole; way to the value; what it becomes)
MUTATIONS = [
    (None, ("extra",), 1),
    (None, ("context",), GONE),
    (None, ("benchmarks",), {}),
    (None, ("context", "rdmameter"), GONE),
    (None, ("context", "num_cpus"), "two"),
    (None, ("context", "rdmameter", "schema"), "rdmameter.result.v2"),
    (None, ("context", "rdmameter", "version"), GONE),
    (None, ("context", "rdmameter", "command"), GONE),
    (None, ("context", "rdmameter", "floor"), GONE),
    (None, ("context", "rdmameter", "floor", "clock_read_ns"), -1),
    (None, ("context", "rdmameter", "responder"), "beta"),
    (None, ("context", "rdmameter", "extra"), 1),
    *[("latency", (key,), GONE) for key in (
        "name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
        "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit", "case", "latency")],
    ("latency", ("extra",), 1),
    ("latency", ("name",), "send_lat/rc/size:3"),
    ("latency", ("name",), ""),
    ("latency", ("run_type",), "aggregate"),
    ("latency", ("repetitions",), 0),
    ("latency", ("repetition_index",), 3),
    ("latency", ("threads",), 2),
    ("latency", ("iterations",), 1.5),
    ("latency", ("real_time",), -1),
    ("latency", ("real_time",), None),
    ("latency", ("time_unit",), "us"),
    ("latency", ("error_message",), "why?"),
    ("latency", ("skipped",), False),
    ("latency", ("lost",), -1),
    ("latency", ("case", "transport"), "xrc"),
    ("latency", ("case", "transport"), GONE),
    ("latency", ("case", "size_bytes"), 0),
    ("latency", ("case", "size_bytes"), "2"),
    ("latency", ("case", "Depth"), 1),
    ("latency", ("case", "other"), -1),
    ("latency", ("case", "other"), 1.5),
    ("latency", ("work", "wrs"), -1),
    ("latency", ("work", "extra"), 1),
    ("latency", ("resources", "qps"), "many"),
    ("latency", ("device_counters", "initiator", "sent_pkts"), -1),
    ("latency", ("device_counters", "switch"), {}),
    *[("latency", ("placement", "initiator", key), GONE) for key in (
        "pinned", "reason", "cpus", "numa_nodes", "device_numa_node", "device_cpus")],
    ("latency", ("placement", "responder"), GONE),
    ("latency", ("placement", "responder", "reason"), None),  # neither pinned nor a reason
    ("latency", ("placement", "initiator", "reason"), "pinned and a reason"),
    ("latency", ("placement", "initiator", "cpus", 0), -1),
    ("latency", ("placement", "initiator", "device_numa_node"), -1),
    ("latency", ("placement", "initiator", "extra"), 1),
    ("latency", ("placement",), {}),
    *[("latency", ("latency", key), GONE) for key in (
        "definition", "unit", "count", "min", "max", "mean", "stddev", *PERCENTILES, "histogram")],
    ("latency", ("latency", "definition"), "completion"),  # beside half_round_trip
    ("latency", ("latency", "definition"), "call"),
    ("latency", ("latency", "definition"), "exchange"),
    ("latency", ("latency", "definition"), "one_way"),
    ("latency", ("case", "objects"), -1),
    ("latency", ("latency", "unit"), "us"),
    ("latency", ("latency", "count"), 9999),
    ("latency", ("latency", "mean"), 1),
    ("latency", ("latency", "mean"), None),
    ("latency", ("latency", "min"), 1),
    ("latency", ("latency", "p50"), 1),
    ("latency", ("latency", "p99"), None),  # enough samples
    ("latency", ("latency", "p99.99"), 99999),  # too few
    ("latency", ("latency", "p75"), 1),
    ("latency", ("latency", "half_round_trip", "p50"), 8200),
    ("latency", ("latency", "half_round_trip", "max"), GONE),
    *[("latency", (*HISTOGRAM, key), GONE) for key in (
        "type", "precision_bits", "count", "sum", "min", "max", "overflow", "index", "n")],
    ("latency", (*HISTOGRAM, "type"), "linear"),
    ("latency", (*HISTOGRAM, "precision_bits"), 11),
    ("latency", (*HISTOGRAM, "count"), 10001),
    ("latency", (*HISTOGRAM, "sum"), 5),
    ("latency", (*HISTOGRAM, "sum"), "1e9"),
    ("latency", (*HISTOGRAM, "sum"), 2**53),  # a number that not every reader keeps exact
    ("latency", (*HISTOGRAM, "overflow"), 1),
    ("latency", (*HISTOGRAM, "n", 0), 0),
    ("latency", (*HISTOGRAM, "n", 0), 10**6),
    ("latency", (*HISTOGRAM, "n", 0), GONE),
    ("latency", (*HISTOGRAM, "index", 0), 32768),
    ("latency", (*HISTOGRAM, "index", 0), -1),
    ("latency", (*HISTOGRAM, "index", 0), 32767),
    ("latency", (*HISTOGRAM, "index", 0), 7.5),
    *[("bandwidth", ("bandwidth", key), GONE) for key in (
        "messages", "bytes", "window_ns", "gbps", "mib_per_s", "mmsg_per_s", "counted_by")],
    ("bandwidth", ("bandwidth",), GONE),
    ("bandwidth", ("bandwidth", "gbps"), 1e9),
    ("bandwidth", ("bandwidth", "mib_per_s"), None),
    ("bandwidth", ("bandwidth", "mmsg_per_s"), -1),
    ("bandwidth", ("bandwidth", "window_ns"), 1),
    ("bandwidth", ("bandwidth", "counted_by"), "switch"),
    ("bandwidth", ("bandwidth", "injected"), False),
    ("bandwidth", ("bandwidth", "lost"), 0),  # of how many?
    ("received", ("bandwidth", "lost"), 1),
    ("received", ("bandwidth", "duplicated"), 1),  # without reordered
    ("received", ("bandwidth", "reordered"), -1),
    ("received", ("bandwidth", "injected"), True),
    *[("pairs", ("topology", key), GONE) for key in ("graph", "traffic", "schedule", "ranks")],
    ("pairs", ("topology", "extra"), 1),
    ("pairs", ("placement", "ranks"), GONE),
    ("pairs", ("placement", "ranks", "pinned"), -1),
    ("pairs", ("placement", "ranks", "cpus", 0), "0"),
    ("pairs", ("topology", "graph"), 7),
    ("pairs", ("topology", "ranks"), 0),
    ("pairs", ("topology", "ranks"), 3),
    ("pairs", ("topology", "edges", 0), [0]),
    ("pairs", ("topology", "edges", 0), [0, 2]),
    ("pairs", ("topology", "edges", 0), [1, 1]),
    ("pairs", ("topology", "hops", "mean"), 9),
    ("pairs", ("topology", "hops", "max"), GONE),
    ("pairs", ("topology", "qps_per_rank", 0), -1),
    ("pairs", ("topology", "qps_per_rank", 0), 9),
    ("pairs", ("topology", "qps_total"), 9),
    ("pairs", ("topology", "barrier_qps"), 1.5),
    ("pairs", ("topology", "setup_ns", "connect"), -1),
    ("pairs", ("topology", "connection_bytes", "QPs"), 1),
    ("pairs", ("topology", "kernel"), 7),
    ("pairs", ("topology", "kernel", "qps"), -1),
    ("pairs", ("topology", "barrier_ns"), "1"),
    ("pairs", ("topology", "matrix_ns", 0), [None]),
    ("pairs", ("topology", "matrix_ns", 0, 1), -1),
    ("pairs", ("topology", "matrix_ns"), []),
    ("pairs", ("topology", "failed_pairs"), [{"from": 0, "to": 99, "reason": "no answer"}]),
    ("pairs", ("topology", "by_hops", 0, "hops"), -1),
    ("pairs", ("topology", "by_hops", 0, "latency", "p50"), 1),
    ("pairs", ("topology", "by_hops", 0, "latency"), GONE),
    ("pairs", ("topology", "yielding"), False),
    ("alltoall", ("topology", "rank_gbps", 0), -1),
    ("alltoall", ("topology", "rank_gbps", 0), GONE),
    ("alltoall", ("topology", "jain"), 1.5),
    ("alltoall", ("topology", "jain"), 0.5),
    ("alltoall", ("topology", "model_share"), -1),
    ("error", ("error_message",), GONE),
    ("error", ("error_message",), ""),
    ("error", ("error_occurred",), GONE),
    ("error", ("error_occurred",), 1.5),
    ("error", ("name",), "read_lat/rc/size:64"),
    ("error", ("real_time",), 1),
    ("error", ("iterations",), 1),
    ("error", ("skipped",), True),
    ("error", ("lost",), 0),
    ("skipped", ("skip_message",), GONE),
    ("skipped", ("skipped",), GONE),
    ("skipped", ("name",), "send_lat/ud/size:8192/error"),
    ("skipped", ("cpu_time",), 1),
]


def find_rows(rows):
    """The first row of each kind."""
    kinds = {"latency": lambda row: "latency" in row, "bandwidth": lambda row: "bandwidth" in row,
             "received": lambda row: row.get("bandwidth", {}).get("counted_by") == "receiver",
             "error": lambda row: "error_occurred" in row, "skipped": lambda row: "skipped" in row,
             "pairs": lambda row: "matrix_ns" in row.get("topology", {}),
             "alltoall": lambda row: "jain" in row.get("topology", {})}
    return {kind: next(row for row in rows if test(row)) for kind, test in kinds.items()}


def mutate(context, row, kind, way, value):
    """One row alone, so that validating does not take long."""
    result = {"context": context, "benchmarks": [row]}
    changed = copy.deepcopy(result)
    place = changed if kind is None else changed["benchmarks"][0]
    for step in way[:-1]:
        place = place[step]
    if value is GONE:
        del place[way[-1]]
    else:
        place[way[-1]] = value
    assert changed != result, f"{way} is no mutation"
    return changed


def check_files(paths, validator):
    failed = False
    for path in paths:
        try:
            found = faults(load(path), validator)
        except ValueError as error:
            found = [str(error)]
        print(f"{'FAIL' if found else 'ok  '}  {path}")
        for fault in found[:20]:
            print(f"      {fault}")
        failed = failed or bool(found)
    return failed


def unknown_fields(path, validator):
    """Of a result whose values may be any: the fields that the schema does not have."""
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}"
            for error in validator.iter_errors(load(path)) if error.validator == "additionalProperties"]


def check_samples(program, validator):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([program, directory], check=True)
        every_field = os.path.join(directory, "every_field.json")
        failed = unknown_fields(every_field, validator)
        print("\n".join(f"FAIL  the schema lacks {fault}" for fault in failed))
        paths = sorted(os.path.join(directory, name) for name in os.listdir(directory))
        failed = check_files([path for path in paths if path != every_field], validator) or bool(failed)
        result = load(os.path.join(directory, "base.json"))
        topologies = load(os.path.join(directory, "topology.json"))
    rows = find_rows(result["benchmarks"] + topologies["benchmarks"])
    for kind, way, value in MUTATIONS:
        if not faults(mutate(result["context"], rows[kind or "bandwidth"], kind, way, value), validator):
            print(f"FAIL  accepted: {kind or 'the whole'} {way} {'taken away' if value is GONE else value!r}")
            failed = True
    print(f"{len(MUTATIONS)} mutations tried")
    return failed


def main(arguments):
    schema = load(SCHEMA)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    if arguments[:1] == ["--samples"] and len(arguments) == 2:
        return check_samples(arguments[1], validator)
    if not arguments or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    return check_files([path for each in arguments for path in (sorted(glob.glob(f"{each}/*.json")) if os.path.isdir(each) else [each])],
                       validator)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
