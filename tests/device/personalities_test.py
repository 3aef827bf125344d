#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every test on every adapter that the software device plays: the right bytes, or the right reason why not; and the
time that the wire takes.

adapter_table.py says for each adapter which cases it skips, and by which rule. A case that is skipped for another reason,
or that fails, is a fault, and so is one that is measured where the adapter cannot.
"""
import collections
import fnmatch
import glob
import itertools
import os
import re
import subprocess
import time
import unittest
import unittest.mock

import rdmameter
from adapter_table import HAS_VERBS, LACKS, OPTIONAL_VERBS, idle_lines, lacking, may_be_skipped, wrong_rows

of_true_times = unittest.skipIf(rdmameter.LINKED, "a sanitized program's times are not the program's")

ALL = ("all", "--transport", "rc,uc,ud", "--iterations", "50", "--warmup", "10", "--depth", "16", "--rate", "20k",
       "--verify", "--loss-timeout", "500ms")
ONE_WAY_MS = 25
LATENCIES = ("send_lat", "send_imm_lat", "write_imm_lat", "read_lat", "fetch_add_lat")

# The least device: its queues take that much, and of UC and UD it loses what comes before the receiver has its turn.
OF_TINY = ("*_lat", "[!m]*_bw", "*_load", "*_mr", "*_cq", "*_qp", "modify_qp_*", "*_ah", "*_mw*", "connect", "cm_*", "--transport", "rc", "--depth", "8",
           "--rx-depth", "16", "--recv-post-list", "1", "--size", "64", *ALL[3:7], *ALL[9:])

# docs/running.md has a table: its columns, and what is typed for its first rows. A cell is "played...", "kernel", or why not.
RUNNING = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "running.md")
COLUMNS = {"mlx5 InfiniBand": "mlx5-ib", "its SR-IOV port": "mlx5-ib-vf", "mlx5 RoCE": "mlx5-roce", "bnxt_re (RoCE)": "bnxt",
           "irdma (RoCE)": "irdma-roce", "EFA": "efa", "iWARP": "iwarp", "rxe": "rxe"}
ABILITIES = {
    "RC: send, write, read": ("send_lat", "write_lat", "read_lat", "--transport", "rc"),
    "UC": ("send_lat", "write_lat", "--transport", "uc"),
    "UD: send": ("send_lat", "--transport", "ud"),
    "atomics": ("fetch_add_lat", "cmp_swap_lat"),
    "rdma_cm": ("cm_connect",),
    "multicast": ("mcast_lat",),
    "on-demand paging, by transport": ("write_lat", "--odp"),
    "device memory, small receives": ("write_bw", "--memory", "device"),
    "timestamps": ("send_lat", "--cq", "extended", "--timestamps", "on"),
}

# Axes of the path: a value that no axis has by itself, the word of the device's log, and what it must say there.
OF_PATHS = {"mtu": ("256", "mtu_bytes", 256), "sl": ("3", "service_level", 3), "tclass": ("104", "traffic_class", 104),
            "flow-label": ("5", "flow_label", 5), "pkey-index": ("1", "pkey_index", 1), "qp-timeout": ("15", "qp_timeout", 15),
            "retry-count": ("6", "retry_count", 6), "rnr-retry": ("5", "rnr_retry", 5), "min-rnr-timer": ("3", "min_rnr_timer", 3)}
OF_DATAGRAMS = {"sl", "tclass", "flow-label", "pkey-index"}  # others are of connections; the MTU bounds a datagram
WITH_TWO_PKEYS = {"mlx5-ib", "mlx5-ib-vf", "mlx5-xdr", "mlx5-ib-bare"}
IWARP, WITH_TOS = ("iwarp", "siw", "erdma", "cxgb4"), ("iwarp", "cxgb4")
# Axes whose values reach no path, and where it shows that they are heeded.
OF_NO_PATH = {
    "the loop of the program alone": "qps threads sharers bidirectional peers rate slo arrivals mix depth rx-depth recv-post-list post-list "
                                     "signal-every iterations duration warmup objects wait verify loss-timeout payload interval peak blame late size",
    "the choice of what is opened, which the row names": "transport device port-num gid-index peer-device peer-port-num peer-gid-index core "
                                                         "peer-core connect group",
    "objects: a device refuses them, or costs tell (adapters_test.py, axes_test.py)": "inline sge recv-sge sge-layout api cq cq-sharing cq-depth "
        "timestamps thread-domain recv comp-vector memory peer-memory gpu-registration mr-per-qp relaxed-ordering odp outstanding-reads",
    "the value of an entry that pkey-index names (adapters_test.py)": "pkey",
}

# Two ends of different kinds: limits, P_Keys, GIDs, MTUs and what they lack differ. Each pair in both directions.
UNLIKE = (("mlx5-ib", "mlx5-ib-vf"), ("mlx5-roce", "bnxt"), ("mlx5-roce", "rxe"), ("generic", "irdma-roce"), ("generic", "tiny"))
BETWEEN = ("send_lat", "send_imm_lat", "write_lat", "read_lat", "fetch_add_lat", "write_bw", "read_bw", "connect", "--transport", "rc,uc,ud",
           "--size", "64,4K", "--rx-depth", "16", "--depth", "8", "--iterations", "50", "--warmup", "10", "--verify", "--loss-timeout", "500ms",
           "--device", "soft0", "--peer-device", "soft1")
LESS_THAN_THE_PATH = [(r"send\w*/ud", r"a UD message is one packet", "4 KiB"), (r".*", r".* wanted, the device takes \d+; use a (smaller|--size)", "tiny")]


def first_table(page, head):
    """The rows below the one that begins with this cell, of a page's tables: [[cell]]."""
    with open(page, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[first:])
    return [re.split(r" *\| *", row.strip("|").strip()) for row in rows]


@rdmameter.on(rdmameter.SOFTWARE)
class EveryAdapter(rdmameter.Test):
    def test_each_test_is_measured_or_skipped_as_the_table_says(self):
        for name, lacks in LACKS.items():
            with self.subTest(name):
                self.play(name)
                rows = self.run_program("--loopback", *(OF_TINY if name == "tiny" else ALL)).rows
                self.assertEqual(wrong_rows(rows, lacks), [])
                self.assertEqual(idle_lines(rows, lacks), [])

    def test_each_has_the_verbs_of_its_provider(self):
        self.assertEqual(set(HAS_VERBS), set(LACKS))
        for name, has in HAS_VERBS.items():
            self.play(name)
            common = ("send_lat", "--transport", "ud" if name == "efa" else "rc", "--size", "64", "--rx-depth", "16",
                      "--recv-post-list", "1", "--iterations", "20", "--warmup", "2")
            for verb, options in OPTIONAL_VERBS.items():
                with self.subTest(name, verb=verb):
                    done = self.start("--loopback", *common, *options).end(60)
                    self.assertEqual(done.status, rdmameter.PASS if verb in has.split() else rdmameter.USAGE, done)

    def test_the_table_has_each_adapter_and_each_test(self):
        self.play("none")
        names = rdmameter.Started([rdmameter.program, "devices"], rdmameter.environment()).end(60).stderr.partition("it takes ")[2].strip().split(", ")
        self.assertEqual(set(names), set(LACKS))
        os.environ.pop("RDMAMETER_DEVICE_PERSONALITY")
        tests = {line.split()[0] for line in self.start("--list").end(60).stdout.splitlines()}
        self.assertLessEqual({"send_lat", "cm_connect"}, tests)
        left_out = {test for test in tests if not any(fnmatch.fnmatch(test, pattern) for pattern in OF_TINY[:OF_TINY.index("--transport")])}
        self.assertEqual(left_out, {"mcast_bw"})

    def test_a_row_that_differs_from_the_table_is_named(self):
        def row(test, transport, **more):
            return {"case": {"test": test, "transport": transport}, **more}
        of_uc = "soft0/1 has no QPs of uc: use another --transport"
        right = [row("send_lat", "rc"), row("send_lat", "uc", skipped=True, skip_message=f"the responder: {of_uc}")]
        self.assertEqual(wrong_rows(right, LACKS["bnxt"]), [])
        for wrong, said in ((row("send_lat", "uc"), "unexpected measurement"),
                            (row("send_lat", "rc", skipped=True, skip_message=of_uc), "unexpected skip"),
                            (row("send_lat", "uc", skipped=True, skip_message="soft0/1 has no multicast"), "skipped by another rule"),
                            (row("send_lat", "rc", error_occurred=True, error_message="timed out"), "error: timed out")):
            [text] = wrong_rows([*right, wrong], LACKS["bnxt"])
            self.assertIn(said, text)
        self.assertEqual(len(idle_lines(right, LACKS["bnxt"])), len(LACKS["bnxt"]) - 1)

    def test_what_is_asked_of_a_path_arrives_or_is_refused_by_name(self):
        shown = subprocess.run([rdmameter.program, "run", "--help"], check=True, capture_output=True, text=True).stdout
        axes = set(re.findall(r"--([a-z][a-z-]+)", re.search(r"^Axes \(.*?^Values:", shown, re.M | re.S)[0])) - {"help", "help-all", "list"}
        self.assertEqual(set(OF_PATHS) | set(" ".join(OF_NO_PATH.values()).split()), axes)
        few = ("send_lat", "--size", "8", "--rx-depth", "16", "--recv-post-list", "1", "--iterations", "5", "--warmup", "1")
        for name in LACKS:
            self.play(name)
            if name in IWARP:
                for option, (value, word, number) in OF_PATHS.items():
                    with self.subTest(name, axis=option):
                        if name in WITH_TOS and option == "tclass":
                            [row], arrived = self.logged(*few, "--tclass", value)
                            self.assertEqual(arrived[word], {number})
                            self.assertNotIn("mtu_bytes", row["case"])
                        else:
                            self.assertRegex(self.skipped(*few, f"--{option}", value), f"--{option} {value}: .*soft0/1")
                continue
            for connect in ("tcp",) if name == "efa" else ("tcp", "cm"):
                transport = "ud" if name == "efa" else "rc"
                asked = {option: each for option, each in OF_PATHS.items() if (option != "pkey-index" or name in WITH_TWO_PKEYS) and
                         (transport == "rc" or option in OF_DATAGRAMS)}
                with self.subTest(name, connect=connect):
                    _, arrived = self.logged(*few, "--transport", transport, "--connect", connect, *(word for option, (value, *_) in asked.items()
                                                                                          for word in (f"--{option}", value)))
                    self.assertEqual({word: arrived.get(word) for _, word, _ in asked.values()},
                                     {word: {number} for _, word, number in asked.values()})

    def logged(self, *arguments):
        """The rows of a run, and what its QPs and address handles were given."""
        log = f"{self.scratch}/log{self.files}"
        with unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_LOG": log}):
            rows = self.measure(*arguments)
        arrived = collections.defaultdict(set)
        for path in glob.glob(f"{log}.*"):
            with open(path, encoding="ascii") as file:
                for line in file:
                    word, _, number, _ = line.split()
                    arrived[word].add(int(number))
        return rows, arrived

    def test_rdma_cm_gives_a_tos_its_priority_of_the_vlan(self):
        few = ("send_lat", "--iterations", "5", "--warmup", "1", "--connect", "cm")
        self.play("mlx5-roce")
        for options, level in ((("--tclass", "104"), 2), (("--tclass", "104", "--sl", "5"), 5), ((), 0)):
            with self.subTest(options):
                _, arrived = self.logged(*few, *options)
                self.assertEqual(arrived["service_level"], {level})

    def test_the_priority_of_a_vlan_has_three_bits(self):
        few = ("send_lat", "--iterations", "5", "--warmup", "1", "--sl", "8")
        self.play("mlx5-ib")
        self.assertEqual(self.logged(*few)[1]["service_level"], {8})
        self.play("mlx5-roce")
        self.assertIn("priority of a VLAN, from 0 to 7", self.skipped(*few))

    def test_what_fits_the_least_of_them_has_the_right_bytes(self):
        """By default its queues are too short for most tests. (UC and UD lose what comes before the receiver has its turn.)"""
        self.play("tiny")
        short = ("--size", "64", "--iterations", "50", "--warmup", "10", "--verify")
        receives = ("--rx-depth", "16", "--recv-post-list", "1")
        rows = self.measure("send_lat", "send_imm_lat", "--transport", "rc,uc,ud", *receives, *short)
        rows += self.measure("write_lat", "write_imm_lat", "--transport", "rc,uc", *receives, *short)
        rows += self.measure("read_lat", "send_bw", "send_imm_bw", "write_bw", "write_imm_bw", "read_bw", "send_load", "write_load", "read_load",
                             "--rate", "20k", "--depth", "8", *receives, *short)
        rows += self.measure("mcast_lat", *receives, *short)
        self.assertEqual(len(rows), 20)
        self.measure("*_qp*", "*_cq", "reg_mr", "dereg_mr", "*_ah", "connect", "cm_*", "--depth", "8", "--rx-depth", "16", "--transport", "rc,uc,ud",
                     "--iterations", "5")

    def test_the_docs_say_what_each_provider_lacks(self):
        said = {}
        for *_, shown_by, words in first_table(RUNNING, "provider")[2:]:
            for name in re.findall(r"`([\w-]+)`", shown_by):
                said[name] = set(re.sub(r" \(.*?\)", "", words).split(", ")) - {"nothing"}
        self.assertEqual(said, {name: lacking(lacks) for name, lacks in LACKS.items() if name not in ("generic", "pod", "tiny")})

    def test_the_table_in_the_docs_says_what_each_can(self):
        columns, _, *table = first_table(RUNNING, "ability")
        self.assertEqual(columns[1:], list(COLUMNS))
        cells = {row[0]: dict(zip(COLUMNS, row[1:])) for row in table if row[0] in ABILITIES}
        self.assertEqual(list(cells), list(ABILITIES))
        for column, adapter in COLUMNS.items():
            self.play(adapter)
            for ability, arguments in ABILITIES.items():
                with self.subTest(ability, adapter=column):
                    done = self.start("--loopback", *arguments, "--iterations", "20", "--warmup", "2").end(60)
                    can = cells[ability][column].startswith(("played", "kernel"))
                    self.assertEqual([bool(row.get("skipped")) for row in done.rows], [not can] * len(done.rows), done)
                    self.assertEqual(done.status, rdmameter.PASS if can else rdmameter.USAGE, done)

    def test_unlike_ends_measure_what_both_can(self):
        for first, second in UNLIKE:
            cannot = [*LACKS[first], *LACKS[second], *LESS_THAN_THE_PATH]
            for pair in ((first, second), (second, first)):
                with self.subTest(pair):
                    self.play(",".join(pair))
                    rows = self.run_program("--loopback", *BETWEEN).rows
                    self.assertEqual([row["name"] for row in rows if row.get("error_occurred") and not row.get("skipped")], [])
                    wrong = [(row["name"], row["skip_message"]) for row in rows if row.get("skipped") and not may_be_skipped(row, cannot)]
                    self.assertEqual(wrong, [])
                    measured = {row["name"].split("/size")[0] for row in rows if not row.get("skipped")}
                    self.assertLessEqual({"send_lat/rc", "write_bw/rc", "read_bw/rc", "send_lat/ud"}, measured)

    @of_true_times
    def test_a_latency_is_that_of_the_table_of_delays(self):
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE", None)
        os.environ["RDMAMETER_DEVICE_WIRE"] = f"latency={ONE_WAY_MS}ms"
        started = {}  # all at once, since they mostly sleep; devices of several kinds are of several sessions
        for name in LACKS:
            self.play(name)
            usual = ("--rx-depth", "16") if name == "tiny" else ()
            session = f"test-{os.getpid()}-{name}"
            started[name] = self.start("--loopback", *LATENCIES, "--transport", "rc,uc,ud", "--size", "8", "--iterations",
                                       "10", "--warmup", "1", "--wait", "event", "--core", "off", *usual,
                                       prefix=("env", f"RDMAMETER_DEVICE_SESSION={session}"))
        for name, run in started.items():
            with self.subTest(name):
                done = run.end(60)
                measured = [row for row in done.rows if "latency" in row]
                self.assertTrue(measured, done)
                for row in measured:
                    # The least of a round's latencies: the rest is how busy this machine is, and how late it wakes who sleeps.
                    there_and_back = "half_round_trip" in row["latency"]
                    least = row["latency"]["half_round_trip"]["min"] if there_and_back else row["latency"]["min"] / 2
                    self.assertTrue(1 <= least / (ONE_WAY_MS * 1e6) <= 1.5, (row["name"], least))

    @of_true_times
    def test_half_a_round_trip_over_ud_takes_no_longer_than_over_rc(self):
        """Within 5 %, by the least medians of pairs in turns, both ends on one CPU. What else runs here only adds, and may do so for
        seconds: so there are 20 pairs, and more where they do not show it."""
        medians, enough = {"rc": [], "ud": []}, time.monotonic() + 60
        for pair in range(200):
            for row in self.measure("send_lat", "--transport", "rc,ud", "--size", "64", "--iterations", "2000", "--warmup", "100"):
                medians[row["case"]["transport"]].append(row["latency"]["half_round_trip"]["p50"])
            rc, ud = (min(medians[transport]) for transport in ("rc", "ud"))
            if pair >= 20 and (ud <= 1.05 * rc or time.monotonic() > enough):
                break
        rdmameter.note(f"{ud:.0f} ns over UD, {rc:.0f} ns over RC, by {pair + 1} pairs")
        self.assertLessEqual(ud, 1.05 * rc)


if __name__ == "__main__":
    rdmameter.main()
