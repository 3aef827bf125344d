#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Flow labels decide the UDP source port of RoCE v2, and a slow path slows the QPs that take it. On the pair rxe0 - rxe1 of
tools/rxe-vm: the ports are those of captured packets."""
import socket
import struct
import subprocess
import threading

from wire import rdmameter

PAIR = ("--device", "rxe0", "--peer-device", "rxe1")
ROCE_PORT = 4791
OWN_ADDRESS = bytes((10, 9, 0, 1))
SLOW = (2, 5, 9, 14)


def ports_by_formula(labels):
    return [((label & 0x3fff) ^ (label >> 14)) | 0xc000 for label in labels]


class Capture(threading.Thread):
    """UDP source ports of what leaves v0 for RoCE v2."""

    def __init__(self):
        super().__init__()
        self.ports, self.ended = set(), threading.Event()
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        self.socket.bind(("v0", 0))
        self.socket.settimeout(0.2)

    def run(self):
        while True:
            try:
                frame = self.socket.recv(256)
            except TimeoutError:
                if self.ended.is_set():
                    return
                continue
            if frame[12:14] != b"\x08\x00" or frame[23] != 17 or frame[26:30] != OWN_ADDRESS:
                continue
            begin = 14 + 4 * (frame[14] & 15)
            source, destination = struct.unpack("!HH", frame[begin:begin + 4])
            if destination == ROCE_PORT:
                self.ports.add(source)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join(10)
        self.socket.close()


def tc(command):
    subprocess.run(["tc", *command.split()], check=True, capture_output=True, text=True)


class FlowLabels(rdmameter.Test):
    def captured(self, *axes):
        with Capture() as capture:
            (row,) = self.measure(*PAIR, "send_lat", "--qps", "16", "--iterations", "160", "--warmup", "16", *axes)
        return capture.ports, row["per_qp"]

    @rdmameter.everyday
    def test_each_qp_sends_from_the_port_of_its_label(self):
        for transport in ("rc", "uc"):
            with self.subTest(transport):
                ports, per_qp = self.captured("--flow-label", "spread", "--transport", transport)
                self.assertEqual(len(set(per_qp["flow_labels"])), 16)
                self.assertEqual(per_qp["udp_source_ports"], ports_by_formula(per_qp["flow_labels"]))
                self.assertEqual(sorted(ports), sorted(per_qp["udp_source_ports"]))

    def test_labels_of_more_than_14_bits_are_folded(self):
        labels = [1, 0x4002, 0xfffff, 0xabcde, *range(20, 32)]
        ports, per_qp = self.captured("--flow-label", "per-qp:" + ",".join(map(str, labels)))
        self.assertEqual(per_qp["flow_labels"], labels)
        self.assertEqual(per_qp["udp_source_ports"], ports_by_formula(labels))
        self.assertEqual(sorted(ports), sorted(per_qp["udp_source_ports"]))

    def test_without_a_label_the_port_is_of_both_qpns(self):
        ports, per_qp = self.captured()
        self.assertEqual(set(per_qp["flow_labels"]), {0})
        self.assertEqual(sorted(ports), sorted(set(per_qp["udp_source_ports"])))

    def test_qps_on_a_slow_path_are_named(self):
        (row,) = self.measure(*PAIR, "send_lat", "--qps", "16", "--flow-label", "spread", "--iterations", "16")
        ports = row["per_qp"]["udp_source_ports"]
        tc("qdisc add dev v0 root handle 1: prio priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0")
        self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", "v0", "root"], check=False)
        tc("qdisc add dev v0 parent 1:3 netem delay 15ms")
        for qp in SLOW:
            tc(f"filter add dev v0 parent 1: protocol ip u32 match ip protocol 17 0xff match ip sport {ports[qp]} 0xffff "
               "flowid 1:3")
        # Not of a ping-pong: its responder waits for the acknowledgement of a pong before it takes the next QP's ping.
        done = self.run_program("--loopback", *PAIR, "read_load", "--qps", "16", "--flow-label", "spread", "--rate", "200",
                                "--iterations", "480", "--warmup", "16")
        self.assert_valid(done.path)
        per_qp = done.rows[0]["per_qp"]
        rdmameter.note(f"{per_qp}")
        self.assertEqual(per_qp["udp_source_ports"], ports)
        # The slowest first. An emulated machine delays some others, too, but not by 15 ms.
        self.assertEqual(sorted(per_qp["slow"][:len(SLOW)]), list(SLOW))
        self.assertGreater(min(per_qp["p50_ns"][qp] for qp in SLOW), 15e6)
        self.assertLess(max(p50 for qp, p50 in enumerate(per_qp["p50_ns"]) if qp not in SLOW), 7.5e6)


if __name__ == "__main__":
    rdmameter.main(devices=2, in_vm=True)
