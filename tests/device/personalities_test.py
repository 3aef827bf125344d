#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every test on every adapter that the software device plays: the right bytes, or the right reason why not; and the
time that the wire takes.

A reason is named here by the tests and transports that it is for. A case that is skipped for another reason, or that
fails, is a fault, and so is one that is measured where the adapter cannot.
"""
import collections
import glob
import os
import re
import subprocess
import unittest
import unittest.mock

import rdmameter

of_true_times = unittest.skipIf(rdmameter.LINKED, "a sanitized program's times are not the program's")

ALL = ("all", "--transport", "rc,uc,ud", "--iterations", "50", "--warmup", "10", "--depth", "16", "--rate", "20k",
       "--verify", "--loss-timeout", "500ms")
ONE_WAY_MS = 10
LATENCIES = ("send_lat", "send_imm_lat", "write_imm_lat", "read_lat", "fetch_add_lat")

# What no device can, by the standard: (case, its reason).
STANDARD = [
    (r"(write|read|fetch|cmp)\w*/ud/", "UD carries sends only"),
    (r"read\w*/uc/", "UC has no reads"),
    (r"(fetch|cmp)\w*/uc/", "UC has no atomics"),
    (r"\w+_load/u[cd]/", "UD carries sends only|UC has no|an open loop tells requests apart"),
    (r"send\w*_bw/ud/", "a UD message is one packet: 65536 bytes"),
]
NO_UC = [(r"\w+/uc/", "has no QPs of uc: use another --transport")]
NO_UD = [(r"\w+/ud/", "has no QPs of ud: use another --transport")]
RC_ALONE = r"(send|write|read)_(lat|bw|load)/rc/|cm_connect/rc/|(reg|dereg)_mr/"
NO_ATOMICS = [(r"(fetch|cmp)\w*/rc/", "has no atomic operations")]
NO_MULTICAST = [(r"mcast\w*/", "has no multicast")]
# rdma_cm where the port has no IP address.
NO_ADDRESS = [(r"cm_\w+/", "rdma_cm needs IP addresses here")]
NO_WINDOWS = [(r"(bind_mw_1|bind_mw_2|invalidate_mw)/", "has no memory windows of type [12]")]
# The adapter: (what it cannot, what is certainly measured).
EVERYTHING = r"(send|write|read|fetch_add|cmp_swap)_(lat|bw|load)/rc/|send_(imm_)?lat/u[cd]/|write_lat/uc/|(reg|dereg)_mr/"
ADAPTERS = {
    "generic": ([], EVERYTHING + r"|mcast_lat/|cm_connect/rc/"),
    "rxe": ([], EVERYTHING + r"|mcast_lat/|cm_connect/rc/"),
    "mlx5-ib": ([], EVERYTHING + r"|mcast_lat/|cm_connect/rc/"),
    "mlx5-ib-vf": ([], EVERYTHING + r"|mcast_lat/|cm_connect/rc/"),
    "mlx5-ib-bare": ([(r"mcast\w*/", "by the IP address of its interface of IPoIB")], EVERYTHING + r"|cm_connect/rc/"),
    "pod": ([], EVERYTHING + r"|mcast_lat/|cm_connect/rc/"),
    "mlx5-roce": ([], EVERYTHING + r"|mcast_lat/|cm_connect/rc/"),
    "bnxt": (NO_UC + NO_ATOMICS + NO_MULTICAST, r"(send|write|read)_(lat|bw|load)/rc/|send_(imm_)?lat/ud/|cm_connect/rc/|(reg|dereg)_mr/"),
    "irdma-roce": (NO_UC + NO_ATOMICS, r"(send|write|read)_(lat|bw|load)/rc/|send_(imm_)?lat/ud/|mcast_lat/|cm_connect/rc/|(reg|dereg)_mr/"),
    "hns": (NO_UC + NO_UD + NO_ATOMICS + NO_MULTICAST, RC_ALONE),
    "mana": (NO_UC + NO_UD + NO_ATOMICS + NO_MULTICAST, RC_ALONE),
    "siw": ([(r".*", "is an iWARP device"), (r"(create|destroy|modify)_qp\w*/u[cd]/", "has no QPs of u[cd]: use another --transport")],
            r"(send|write|read)_(lat|bw)/rc/|create_qp/rc/|connect/rc/|cm_connect/rc/|(reg|dereg)_mr/"),
    "erdma": ([(r".*", "is an iWARP device"), (r"(create|destroy|modify)_qp\w*/u[cd]/", "has no QPs of u[cd]: use another --transport")],
              r"(send|write|read|fetch_add|cmp_swap|send_imm|write_imm)_(lat|bw)/rc/|create_qp/rc/|connect/rc/|cm_connect/rc/|(reg|dereg)_mr/"),
    "cxgb4": ([(r".*", "is an iWARP device"), (r"(create|destroy|modify)_qp\w*/u[cd]/", "has no QPs of u[cd]: use another --transport")],
              r"(send|write|read|write_imm)_(lat|bw)/rc/|create_qp/rc/|connect/rc/|cm_connect/rc/|(reg|dereg)_mr/"),
    "iwarp": ([(r".*", "is an iWARP device"), (r"(create|destroy|modify)_qp\w*/u[cd]/", "has no QPs of u[cd]: use another --transport")],
              r"(send|write|read)_(lat|bw)/rc/|create_qp/rc/|connect/rc/|cm_connect/rc/|(reg|dereg)_mr/"),
    "efa": ([(r"\w+/[ru]c/", "has no QPs of [ru]c: use another --transport"), (r"(write|read|mix)\w*/[ru]c/", "opens no memory to peers"),
             *NO_ATOMICS, *NO_MULTICAST, *NO_ADDRESS, *NO_WINDOWS], r"send_(imm_)?lat/ud/|(create|destroy)_(qp/ud|ah)/|connect/ud/|(reg|dereg)_mr/"),
    "tiny": ([(r".*", r"wanted, the device takes \d+; use a (smaller|--size)|WRs: soft0/1 takes at most 16|"
                      r"entries: soft0/1 takes at most"), *NO_ATOMICS, *NO_MULTICAST, *NO_WINDOWS],
             r"create_ah/|(reg|dereg)_mr/"),
}

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
WITH_TWO_PKEYS = {"mlx5-ib", "mlx5-ib-vf", "mlx5-ib-bare"}
IWARP, WITH_TOS = ("iwarp", "siw", "erdma", "cxgb4"), ("iwarp", "cxgb4")
# Axes whose values reach no path, and where it shows that they are heeded.
OF_NO_PATH = {
    "the loop of the program alone": "qps threads sharers bidirectional peers rate slo arrivals mix depth rx-depth recv-post-list post-list "
                                     "signal-every iterations duration warmup objects wait verify loss-timeout payload interval peak blame late size",
    "the choice of what is opened, which the row names": "transport device port-num gid-index peer-device peer-port-num peer-gid-index core "
                                                         "peer-core connect group",
    "objects: a device refuses them, or costs tell (adapters_test.py, axes_test.py)": "inline sge recv-sge sge-layout api cq cq-sharing cq-depth "
        "timestamps thread-domain recv comp-vector memory peer-memory mr-per-qp relaxed-ordering odp outstanding-reads",
    "the value of an entry that pkey-index names (adapters_test.py)": "pkey",
}

# Two ends of different kinds: limits, P_Keys, GIDs, MTUs and what they lack differ. Each pair in both directions.
UNLIKE = (("mlx5-ib", "mlx5-ib-vf"), ("mlx5-roce", "bnxt"), ("mlx5-roce", "rxe"), ("generic", "irdma-roce"), ("generic", "tiny"))
BETWEEN = ("send_lat", "send_imm_lat", "write_lat", "read_lat", "fetch_add_lat", "write_bw", "read_bw", "connect", "--transport", "rc,uc,ud",
           "--size", "64,4K", "--rx-depth", "16", "--depth", "8", "--iterations", "50", "--warmup", "10", "--verify", "--loss-timeout", "500ms",
           "--device", "soft0", "--peer-device", "soft1")
LESS_THAN_THE_PATH = [(r"send\w*/ud/size:4096", "a UD message is one packet"), (r".*", r"wanted, the device takes \d+; use a (smaller|--size)"),
                      (r".*/uc/", "has no QPs of uc")]


def reason_is_right(row, adapter):
    return any(re.match(case, row["name"]) and re.search(reason, row["skip_message"])
               for case, reason in STANDARD + adapter)


@rdmameter.on(rdmameter.SOFTWARE)
class EveryAdapter(rdmameter.Test):
    def test_each_test_has_the_right_bytes_or_the_right_reason(self):
        for name, (cannot, can) in ADAPTERS.items():
            with self.subTest(name):
                self.play(name)
                rows = self.run_program("--loopback", *ALL).rows
                self.assertEqual([row["name"] for row in rows if row.get("error_occurred") and not row.get("skipped")], [])
                wrong = [(row["name"], row["skip_message"]) for row in rows
                         if row.get("skipped") and not reason_is_right(row, cannot)]
                self.assertEqual(wrong, [])
                lacking = [row["name"] for row in rows if row.get("skipped") and re.match(can, row["name"])
                           and not reason_is_right(row, [])]
                self.assertEqual(lacking, [])
                self.assertTrue(any(re.match(can, row["name"]) and not row.get("skipped") for row in rows))

    def test_what_is_asked_of_a_path_arrives_or_is_refused_by_name(self):
        shown = subprocess.run([rdmameter.program, "run", "--help"], check=True, capture_output=True, text=True).stdout
        axes = set(re.findall(r"--([a-z][a-z-]+)", re.search(r"^Axes \(.*?^Values:", shown, re.M | re.S)[0])) - {"help", "help-all", "list"}
        self.assertEqual(set(OF_PATHS) | set(" ".join(OF_NO_PATH.values()).split()), axes)
        few = ("send_lat", "--size", "8", "--rx-depth", "16", "--recv-post-list", "1", "--iterations", "5", "--warmup", "1")
        for name in ADAPTERS:
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

    def test_the_table_in_the_docs_says_what_each_can(self):
        with open(RUNNING, encoding="utf-8") as page:
            table = [re.split(r" *\| *", line.strip().strip("|").strip()) for line in page if line.startswith("| ")]
        columns = next(row for row in table if row[0] == "ability")
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
            cannot = [*ADAPTERS[first][0], *ADAPTERS[second][0], *LESS_THAN_THE_PATH]
            for pair in ((first, second), (second, first)):
                with self.subTest(pair):
                    self.play(",".join(pair))
                    rows = self.run_program("--loopback", *BETWEEN).rows
                    self.assertEqual([row["name"] for row in rows if row.get("error_occurred") and not row.get("skipped")], [])
                    wrong = [(row["name"], row["skip_message"]) for row in rows
                             if row.get("skipped") and not reason_is_right(row, cannot)]
                    self.assertEqual(wrong, [])
                    measured = {row["name"].split("/size")[0] for row in rows if not row.get("skipped")}
                    self.assertLessEqual({"send_lat/rc", "write_bw/rc", "read_bw/rc", "send_lat/ud"}, measured)

    @of_true_times
    def test_a_latency_is_that_of_the_table_of_delays(self):
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE", None)
        os.environ["RDMAMETER_DEVICE_WIRE"] = f"latency={ONE_WAY_MS}ms"
        started = {}  # all at once, since they mostly sleep; devices of several kinds are of several sessions
        for name in ADAPTERS:
            self.play(name)
            usual = ("--rx-depth", "16") if name == "tiny" else ()
            session = f"test-{os.getpid()}-{name}"
            started[name] = self.start("--loopback", *LATENCIES, "--transport", "rc,uc,ud", "--size", "8", "--iterations",
                                       "20", "--warmup", "1", "--wait", "event", "--core", "off", *usual,
                                       prefix=("env", f"RDMAMETER_DEVICE_SESSION={session}"))
        for name, run in started.items():
            with self.subTest(name):
                done = run.end(60)
                measured = [row for row in done.rows if "latency" in row]
                self.assertTrue(measured, done)
                for row in measured:
                    # The least of a round's latencies: the rest is how busy this machine is.
                    there_and_back = "half_round_trip" in row["latency"]
                    least = row["latency"]["half_round_trip"]["min"] if there_and_back else row["latency"]["min"] / 2
                    self.assertTrue(1 <= least / (ONE_WAY_MS * 1e6) <= 1.05, (row["name"], least))

    @of_true_times
    def test_half_a_round_trip_over_ud_takes_no_longer_than_over_rc(self):
        """Within 5 %, by the least medians of 20 pairs in turns: what else runs here only adds. Both ends on one CPU."""
        medians = {"rc": [], "ud": []}
        for _ in range(20):
            for row in self.measure("send_lat", "--transport", "rc,ud", "--size", "64", "--iterations", "2000", "--warmup", "100"):
                medians[row["case"]["transport"]].append(row["latency"]["half_round_trip"]["p50"])
        rc, ud = (min(medians[transport]) for transport in ("rc", "ud"))
        rdmameter.note(f"{ud:.0f} ns over UD, {rc:.0f} ns over RC")
        self.assertLessEqual(ud, 1.05 * rc)


if __name__ == "__main__":
    rdmameter.main()
