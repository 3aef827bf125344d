#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Faults between and below the ends: the link, the device, the disk. On the pair rxe0 - rxe1 of tools/rxe-vm."""
import os
import subprocess
import time

import wire
from wire import rdmameter

# rxe says LOC_QP_OP_ERR of packets that it finds no way for.
UNREACHABLE = "IBV_EVENT_PORT_ERR|RETRY_EXC|no message got through|LOC_QP_OP_ERR.*link"
PAIR = ("--device", "rxe0", "--peer-device", "rxe1")


def sh(command, check=True):
    return subprocess.run(["sh", "-c", command], check=check, capture_output=True, text=True)


def restore_link():
    """What the end of an interface takes with it: routes, IPv6 addresses."""
    sh("ip link set v0 up; ip link set v1 up")
    sh("ip -6 address replace fd00:9::1/64 dev v0 nodad; ip -6 address replace fd00:9::2/64 dev v1 nodad")
    for family, net in (("-4", "10.9.0."), ("-6", "fd00:9::"), ("-6", "fe80::ff:fe09:")):
        sh(f"ip {family} route replace {net}2 dev v0 table 101; ip {family} route replace {net}1 dev v1 table 102")


class Netem(rdmameter.Test):
    def shape(self, how, links=("v0", "v1")):
        for link in links:
            sh(f"tc qdisc replace dev {link} root netem {how}")
            self.addCleanup(sh, f"tc qdisc del dev {link} root", False)

    @rdmameter.everyday
    def test_a_delay_is_in_the_latency(self):
        self.shape("delay 20ms", ("v0",))
        for row in self.measure(*PAIR, "send_lat", "write_lat", "read_lat", "--iterations", "30", "--warmup", "2"):
            with self.subTest(row["name"]):
                self.assertGreater(row["latency"]["min"], 20e6)
                # The quickest: where the machine is busy, each of two ends waits for a CPU in most of the others.
                self.assertLess(row["latency"]["min"], 20e6 + 20e6 * rdmameter.SLOW)

    def intact_where_reliable(self):
        # Shallow: rxe sends all that is outstanding again for each packet that is missing.
        for row in self.measure(*PAIR, *rdmameter.RC_LATENCIES, *rdmameter.RC_BANDWIDTHS, "tcp_*", "--transport", "rc", "--size", "64,8K", "--iterations", "60",
                                "--verify", "--warmup", "8", "--depth", "8", "--signal-every", "4"):
            self.assertGreater(row["verified_bytes"], 0)
        done = self.run_program("--loopback", *PAIR, "send_bw", "send_lat", "--transport", "uc,ud", "--size", "64",
                                "--iterations", "300", "--verify", "--loss-timeout", "50ms")
        self.assert_valid(done.path)
        return done.rows

    def bandwidths(self, *more):
        """Of messages that carry numbers. Each has a receive, copies too: a receiver that gets no CPU for a while, as
        on a busy machine, loses none."""
        axes = ("--size", "64", "--iterations", "2000", "--rx-depth", "4096", "--verify", *more)
        rows = self.measure(*PAIR, "send_bw", "send_imm_bw", "--transport", "uc,ud", *axes)
        rows += self.measure(*PAIR, "write_imm_bw", "--transport", "uc", *axes)
        for row in rows:
            bandwidth = row["bandwidth"]
            rdmameter.note(f"{row['name']}: {bandwidth}")
            yield row["name"], bandwidth

    def test_packets_out_of_order_are_put_right_or_counted(self):
        self.shape("delay 1ms reorder 75%")
        self.intact_where_reliable()
        for name, bandwidth in self.bandwidths("--qps", "2"):
            with self.subTest(name):
                self.assertGreater(bandwidth["reordered"], 100)
                self.assertEqual(bandwidth["duplicated"], 0)
                self.assertLess(bandwidth["lost"], 0.3 * bandwidth["sent"])

    def test_packets_that_come_twice_are_put_right_or_counted(self):
        self.shape("duplicate 20%")
        self.intact_where_reliable()
        for name, bandwidth in self.bandwidths():
            with self.subTest(name):
                copies = bandwidth["duplicated"] / bandwidth["sent"]
                self.assertTrue(0.1 < copies < 0.3, copies)
                self.assertEqual(bandwidth["reordered"], 0)
                self.assertEqual(bandwidth["lost"], bandwidth["sent"] - bandwidth["received"] + bandwidth["duplicated"])
                self.assertLess(bandwidth["lost"], 0.05 * bandwidth["sent"])

    def test_all_of_it_at_once_ends(self):
        self.shape("delay 1ms 1ms loss 1% duplicate 2% reorder 10%")
        self.intact_where_reliable()


class Link(rdmameter.Test):
    def test_a_link_that_goes_down_and_up_again_ends_or_resumes_the_run_and_the_next_is_well(self):
        self.addCleanup(restore_link)
        for transport, *axes in (("rc",), ("ud", "--loss-timeout", "100ms")):
            with self.subTest(transport):
                run = self.start("--loopback", *PAIR, "send_lat", "--transport", transport, "--duration", "0.05,5", *axes)
                run.await_text("stdout", "duration:50ms")
                time.sleep(0.5)
                sh("ip link set v1 down")
                time.sleep(1)
                restore_link()
                done = run.end(60)
                self.assertIn(done.status, (rdmameter.PASS, rdmameter.FAILED), done)
                first, second = done.rows
                self.assertIn("latency", first)
                rdmameter.note(second.get("error_message", "resumed"))
                if done.status == rdmameter.FAILED:
                    self.assertRegex(second["error_message"], UNREACHABLE)
                self.assert_valid(done.path)
                self.measure(*PAIR, "send_lat", "--transport", transport, "--iterations", "50", "--verify")

    @rdmameter.everyday
    def test_a_link_that_stays_down_ends_the_run_with_the_reason(self):
        self.addCleanup(restore_link)
        run = self.start("--loopback", *PAIR, "write_lat", "--duration", "0.05,60")
        run.await_text("stdout", "duration:50ms")
        time.sleep(0.3)
        sh("ip link set v1 down")
        down = rdmameter.fair_time()
        done = run.end(40)
        seconds = rdmameter.fair_time() - down
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.rows[1]["error_message"], r"rxe[01]/1 reports IBV_EVENT_PORT_ERR: the port went down")
        self.assertLess(seconds, 12)
        self.assert_valid(done.path)


class Device(rdmameter.Test):
    def test_a_device_deleted_in_mid_run_ends_the_run(self):
        run = self.start("--loopback", *PAIR, "send_lat", "--duration", "0.05,4")
        run.await_text("stdout", "duration:50ms")
        time.sleep(0.3)
        deleting = subprocess.Popen(["rdma", "link", "delete", "rxe1"])  # it may wait for the device's users
        try:
            done = run.end(60)
        finally:
            deleting.wait(30)
            sh("rdma link add rxe1 type rxe netdev v1")
        self.assertIn(done.status, (rdmameter.PASS, rdmameter.FAILED), done)
        self.assertIn("latency", done.rows[0])
        rdmameter.note(done.rows[1].get("error_message", "ran on to its end"))
        self.assert_valid(done.path)
        self.measure(*PAIR, "send_lat", "--iterations", "50", "--verify")


class Disk(rdmameter.Test):
    def test_a_full_disk_under_the_result_ends_the_run_and_keeps_the_rows_that_fit(self):
        folder = f"{self.scratch}/small"
        os.mkdir(folder)
        sh(f"mount -t tmpfs -o size=32k none {folder}")
        self.addCleanup(sh, f"umount {folder}")
        path = f"{folder}/result.json"
        run = rdmameter.Started([rdmameter.program, "run", "--loopback", "write_lat", "--iterations", "2000",
                                 "--benchmark_repetitions=50", "-o", path], rdmameter.environment(), path)
        self.addCleanup(run.end, 0)
        done = run.end(120)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, f"{path}: .*No space left on device")
        self.assertTrue(0 < len(done.rows) < 50, done)
        self.assertEqual(len(done.stdout.splitlines()) - len(done.rows) in (0, 1), True, done)
        self.assert_valid(path)


if __name__ == "__main__":
    rdmameter.main(devices=2, in_vm=True)
