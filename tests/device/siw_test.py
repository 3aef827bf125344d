#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program on siw, the kernel's software iWARP, a second real provider beside rxe: `tools/rxe-vm run --siw`.

What it has and lacks, sends that would find no receive, ends that die, and perftest's command lines.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import unittest

import rdmameter

TESTS = ("send_lat", "write_lat", "read_lat", "send_bw", "write_bw", "read_bw")
FEW = ("--iterations", "100", "--warmup", "10")
BETWEEN_BOTH = ("--device", "siw0", "--peer-device", "siw1")


def terminates():
    """How often the kernel has ended a connection with an error (RFC 5040, Terminate)."""
    log, lines = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK), 0
    with contextlib.suppress(BlockingIOError):
        while True:
            with contextlib.suppress(BrokenPipeError):  # the ring has passed this place
                lines += b"TERMINATE" in os.read(log, 8192)  # one record at a time
    os.close(log)
    return lines


class Siw(rdmameter.Test):
    def setUp(self):
        super().setUp()
        before = terminates()
        self.addCleanup(lambda: self.assertEqual(terminates(), before, "a connection ended with an error"))


@rdmameter.on(rdmameter.SIW)
@rdmameter.everyday
class EveryDay(Siw):
    def test_six_tests_are_measured_and_every_byte_is_as_it_was_sent(self):
        rows = self.measure(*TESTS, "--size", "8,64K", *FEW, "--verify", *BETWEEN_BOTH)
        for row in rows:
            self.assertEqual(row["case"]["connect"], "cm", row["name"])
            self.assertNotIn("mtu_bytes", row["case"])

    def test_a_send_never_finds_no_receive(self):
        self.measure("send_bw", "--rx-depth", "1,3,16", "--size", "64K", *FEW, "--verify")
        self.measure("send_bw", "--qps", "4", "--size", "64K", "--rx-depth", "16", *FEW, "--verify")
        self.measure("send_load", "--rate", "200K", "--iterations", "500")

    def test_what_the_responder_has_sent_arrives_though_it_ends_first(self):
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                busy = stack.enter_context(subprocess.Popen(["sh", "-c", "while :; do :; done"]))
                stack.callback(busy.kill)
            for _ in range(3):
                self.measure("send_bw", "--bidirectional", *FEW, "--verify")

    def test_what_it_lacks_is_skipped_with_the_reason(self):
        for options, why in ((("send_lat", "--transport", "ud", "--size", "64"), "which has no UD"), (("fetch_add_lat",), "has no atomic operations"),
                             (("send_lat", "--tclass", "104"), "--tclass 104: siw./1 is an iWARP device whose driver is not known to heed it"),
                             (("write_bw", "--mtu", "1024"), "--mtu 1024: .*TCP and the driver choose that")):
            with self.subTest(options):
                self.assertRegex(self.skipped(*options), why)

    def test_doctor_finds_nothing_of_roce_there(self):
        done = subprocess.run([rdmameter.program, "doctor"], capture_output=True, text=True, timeout=120, check=False)
        self.assertNotIn("RoCE", done.stdout + done.stderr)
        shown = subprocess.run([rdmameter.program, "devices"], capture_output=True, text=True, timeout=120, check=False).stdout
        self.assertRegex(shown, r"siw0  driver siw,")


@rdmameter.on(rdmameter.SIW)
class Whole(Siw):
    def test_sizes(self):
        self.measure(*TESTS, "--size", "1,4K,1M", "--iterations", "10", "--warmup", "2", "--verify", timeout=300)

    def test_axes_that_iwarp_has(self):
        for options in (("--depth", "1,16,256"), ("--post-list", "4", "--depth", "64"), ("--signal-every", "1,16"), ("--sge", "1,3"), ("--recv-sge", "2"),
                        ("--inline", "off,max", "--size", "16"), ("--qps", "1,4", "--cq-sharing", "shared,per-qp"), ("--threads", "2"),
                        ("--bidirectional",), ("--wait", "spin,yield,event"), ("--memory", "host,huge"), ("--mr-per-qp", "--qps", "2"),
                        ("--recv", "rq,srq", "--qps", "2"), ("--outstanding-reads", "1,4"), ("--peak",)):
            for test in ("send_bw", "write_bw", "read_bw"):
                only = {"--recv": ["send_bw"], "--recv-sge": ["send_bw"], "--outstanding-reads": ["read_bw"], "--inline": ["send_bw", "write_bw"]}
                if test not in only.get(options[0], [test]):
                    continue
                with self.subTest(test, options=options):
                    done = self.start("--loopback", test, *options, *FEW, "--verify").end(120)
                    self.assertTrue(done.rows, done)
                    for row in done.rows:
                        self.assertNotIn("error_message", row, done)
                        if "skip_message" in row:
                            self.assertRegex(row["skip_message"], r"huge page|SGEs per request", done)

    def test_an_srq_has_credits_for_all_that_share_it(self):
        self.measure("send_bw", "--recv", "srq", "--qps", "3", "--rx-depth", "5", *FEW, "--verify")

    def test_above_what_the_receiver_can_an_open_loop_waits(self):
        [row] = self.measure("send_load", "--rate", "2M", "--qps", "2", "--iterations", "2000")
        self.assertGreater(row["load"]["backlog_max"], 0, row["load"])
        self.measure("mix_load", "--mix", "send:50,write:25,read:25", "--rate", "500K", "--iterations", "1000")

    def test_control_path_and_connecting(self):
        self.measure("connect", "cm_connect", "cm_resolve_addr", "create_qp", "reg_mr", "--iterations", "5")

    def test_a_killed_client_leaves_the_server_as_it_was(self):
        server = self.serve()
        for test in ("send_bw", "write_lat"):
            client = self.start(f"127.0.0.1:{server.port}", test, "--duration", "60")
            self.assertTrue(rdmameter.wait_until(lambda: server.footprint() != server.idle))
            rdmameter.wait_until(lambda: False, 2)
            client.process.send_signal(signal.SIGKILL)
            client.process.wait()
            self.assertTrue(rdmameter.wait_until(lambda: server.footprint() == server.idle, 60), server.log)
        self.run_program(f"127.0.0.1:{server.port}", "send_bw", *FEW)

    def test_a_killed_server_ends_its_client(self):
        server = self.serve()
        client = self.start(f"127.0.0.1:{server.port}", "send_bw", "--duration", "60")
        self.assertTrue(rdmameter.wait_until(lambda: server.footprint() != server.idle))
        rdmameter.wait_until(lambda: False, 2)
        server.stop(signal.SIGKILL)
        done = client.end(30)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.run_program("--loopback", "send_bw", *FEW)

    def test_topologies(self):
        path = self.output()
        started = rdmameter.Started([rdmameter.program, "topo", "mesh", "ring", "--ranks", "4", "--traffic", "pairs,flood", "--size", "8,4K", "--verify",
                                     "--iterations", "20", "--warmup", "2", "-o", path], rdmameter.environment(), path)
        self.addCleanup(started.end, 0)
        done = started.end(300)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertEqual(len(done.rows), 8, done)
        for row in done.rows:
            self.assertNotIn("error_message", row)
            self.assertNotIn("skip_message", row)
            self.assertGreater(row["verified_bytes"], 0)

    @unittest.skipUnless(shutil.which("ib_send_bw"), "perftest is not installed")
    def test_perftest_s_tables_are_those_of_its_own_tools(self):
        for words in (("ib_send_bw", "-R", "-q", "4", "-s", "65536", "-n", "50"), ("ib_write_bw", "-R", "-n", "50"), ("ib_send_lat", "-R", "-n", "50"),
                      ("ib_read_lat", "-R", "-n", "50")):
            with self.subTest(words):
                theirs, ours = (self.table_of(prefix, words) for prefix in ((), (rdmameter.program, "perftest")))
                self.assertEqual(ours, theirs)

    def table_of(self, prefix, words):
        """Of both ends: the set-up block and the header of the table, without numbers that differ from run to run."""
        server = subprocess.Popen([*prefix, *words, "-d", "siw0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.kill)
        rdmameter.wait_until(lambda: False, 4)
        client = subprocess.run([*prefix, *words, "-d", "siw1", "10.9.0.1"], capture_output=True, text=True, timeout=120, check=False)
        said = server.communicate(timeout=60)[0]
        self.assertEqual((client.returncode, server.returncode), (0, 0), (client, said))
        return [[re.sub(r"[0-9][0-9a-fx.:]*", "N", line).replace("MiB", "MB").split() for line in text.splitlines()
                 if re.match(r"\s*(Dual-port|Number of qps|Transport type|Connection type|Link type|rdma_cm|Data ex|#bytes|\*)", line)]
                for text in (client.stdout, said)]


if __name__ == "__main__":
    rdmameter.main()
