#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lost packets: runs end, and the loss is a figure. On the pair rxe0 - rxe1, whose link drops packets; on the software device, of
messages' numbers and of the price."""
import collections
import glob
import os
import re
import subprocess
import time
import unittest.mock

import rdmameter
from topo_test import Topo

PAIR = ("--loopback", "--device", "rxe0", "--peer-device", "rxe1")
MS = {"ns": 1e-6, "µs": 1e-3, "us": 1e-3, "ms": 1.0, "s": 1e3}


def causes(test, done):
    """cause: (samples, median [ms] or None, timer [ms] or None), from what --loss-report prints."""
    found = {}
    for line in done.stdout.splitlines():
        match = re.match(r" +(timeout|RNR NAK|sequence NAK|unknown) +(\d+)(.*)$", line)
        if match:
            times = re.findall(r"(?:([\d.]+) (\w?s|µs)|–|-)(?= |$)", match[3])
            median, _, timer = (float(value) * MS[unit] if value else None for value, unit in times)
            found[match[1]] = (int(match[2]), median, timer)
    test.assertEqual(len(found), 4, done.stdout)
    return found


@rdmameter.on(rdmameter.RXE)
class Loss(rdmameter.Test):
    def lose(self, percent, of_neighbours=True):
        """From here to the end of the test, so many of the packets are dropped, each way."""
        if of_neighbours:
            self.know_each_other()
        for link in ("v0", "v1"):
            subprocess.run(["tc", "qdisc", "replace", "dev", link, "root", "netem", "loss", f"{percent}%"], check=True)
            self.addCleanup(subprocess.run, ["tc", "qdisc", "del", "dev", link, "root"], check=True)

    def know_each_other(self):
        """Until the test ends, no end asks for the other's MAC address: that can be lost, too, and fail the set-up."""
        for link, peer in (("v0", 2), ("v1", 1)):
            subprocess.run(["ip", "neigh", "replace", f"10.9.0.{peer}", "lladdr", f"02:00:00:09:00:0{peer}", "dev",
                            link, "nud", "permanent"], check=True)
            self.addCleanup(subprocess.run, ["ip", "neigh", "del", f"10.9.0.{peer}", "dev", link], check=True)

    def forget_each_other(self):
        for link in ("v0", "v1"):
            subprocess.run(["ip", "neigh", "flush", "dev", link], check=True)

    def test_a_ping_pong_under_1_percent_ends_and_says_how_many_were_lost(self):
        self.lose(1)
        for test, transports in (("send_lat", "uc,ud"), ("write_lat", "uc")):
            done = self.run_program(*PAIR, test, "--transport", transports, "--iterations", "1000",
                                    "--loss-timeout", "50ms", "--verify")
            for row in done.rows:
                with self.subTest(row["name"]):
                    # Each way drops 1 %, and nothing at all once in 10^8 runs.
                    self.assertGreater(row["lost"], 0)
                    self.assertLess(row["lost"], 100)
                    self.assertEqual(row["latency"]["count"], 1000 - row["lost"])
            self.assert_valid(done.path)

    def test_messages_of_many_packets_are_lost_whole(self):
        self.lose(1)
        [row] = self.measure(*PAIR[1:], "send_lat", "--transport", "uc", "--size", "32K", "--iterations", "200",
                             "--loss-timeout", "50ms", "--verify")
        self.assertGreater(row["lost"], 0)

    def test_writes_of_many_packets_end_even_where_the_driver_does_not_recover(self):
        # rxe of Linux 6.1: a UC write whose middle was lost can leave the QP waiting for its end for ever
        # (rxe_resp.c, do_class_d1e_error: it resets `opcode` only where there is a receive).
        self.lose(2)
        done = self.start(*PAIR, "write_lat", "--transport", "uc", "--size", "32K", "--iterations", "800",
                          "--loss-timeout", "20ms").end(100)
        [row] = done.rows
        if done.status == rdmameter.PASS:
            self.assertGreater(row["lost"], 0)
        else:
            self.assertEqual(done.status, rdmameter.FAILED, done)
            self.assertRegex(row["error_message"], "no message got through on rxe0/1 for 20 s|none of the")

    def test_where_the_peer_cannot_even_be_found_the_error_says_how_to_look(self):
        self.lose(100, of_neighbours=False)
        self.forget_each_other()
        done = self.run_program(*PAIR, "send_lat", "--transport", "rc,ud", status=rdmameter.FAILED)
        for row in done.rows:
            self.assertRegex(row["error_message"], "No route to the peer's GID was found: look at `ip route get`")

    def test_where_every_packet_is_lost_it_ends_with_an_error(self):
        self.lose(100)
        began = time.monotonic()
        lossy = ("--loss-timeout", "20ms")
        runs = {transport: self.start(*PAIR, "send_lat", "--transport", transport, "--iterations", "1000000", *axes)
                for transport, axes in (("uc", lossy), ("ud", lossy), ("rc", ()))}  # they wait
        for transport, run in runs.items():
            done = run.end(120)
            with self.subTest(transport):
                self.assertEqual(done.status, rdmameter.FAILED, done)
                [row] = done.rows
                self.assertRegex(row["error_message"], "no message got through|RETRY_EXC")
                self.assert_valid(done.path)
        self.assertLess(time.monotonic() - began, 3 * 20 * 1.5)

    def test_not_one_answer_is_an_error_and_no_latency_of_zero(self):
        self.lose(100)
        done = self.run_program(*PAIR, "send_lat", "--transport", "uc,ud", "--loss-timeout", "5ms", "--warmup", "0",
                                "--iterations", "10", status=rdmameter.FAILED)
        for row in done.rows:
            self.assertRegex(row["error_message"], "none of the 10 pings was answered within --loss-timeout")
        done = self.run_program(*PAIR, "send_bw", "--transport", "uc,ud", "--size", "64", "--iterations", "100",
                                status=rdmameter.FAILED)
        for row in done.rows:
            self.assertRegex(row["error_message"], "of [0-9]+ messages 0 arrived")

    def test_goodput_is_what_the_receiver_counted(self):
        self.lose(5)
        done = self.run_program(*PAIR, "send_bw", "--transport", "uc,ud", "--size", "1K", "--iterations", "3000",
                                "--verify")
        for row in done.rows:
            with self.subTest(row["name"]):
                bandwidth = row["bandwidth"]
                self.assertEqual(bandwidth["counted_by"], "receiver")
                self.assertEqual(bandwidth["lost"], bandwidth["sent"] - bandwidth["received"])
                self.assertTrue(0.01 < bandwidth["lost"] / bandwidth["sent"] < 0.5, bandwidth)
                self.assertLessEqual(bandwidth["messages"], bandwidth["received"])
                self.assertEqual(bandwidth["bytes"], bandwidth["messages"] * 1024)
        self.assert_valid(done.path)

    def test_a_uc_write_is_called_injected_since_nobody_knows_what_arrived(self):
        self.lose(5)
        [row] = self.measure(*PAIR[1:], "write_bw", "--transport", "uc", "--size", "1K", "--iterations", "500")
        self.assertIs(row["bandwidth"]["injected"], True)
        self.assertEqual(row["bandwidth"]["counted_by"], "initiator")

    def test_verified_uc_writes_are_counted_by_the_places_they_reached(self):
        self.lose(5)
        for row in self.measure(*PAIR[1:], "write_bw", "--transport", "uc", "--size", "1,1K", "--iterations", "2000",
                                "--qps", "1,3", "--verify"):
            with self.subTest(row["name"]):
                bandwidth = row["bandwidth"]
                self.assertNotIn("injected", bandwidth)
                self.assertTrue(0.01 < bandwidth["lost"] / bandwidth["sent"] < 0.2, bandwidth)

    @rdmameter.everyday
    def test_lost_messages_are_not_taken_for_late_ones_or_copies(self):
        self.lose(5)
        for row in self.measure(*PAIR[1:], "send_bw", "send_imm_bw", "--transport", "uc,ud", "--size", "64",
                                "--iterations", "3000", "--qps", "1,3", "--verify"):
            with self.subTest(row["name"]):
                bandwidth = row["bandwidth"]
                self.assertEqual((bandwidth["duplicated"], bandwidth["reordered"]), (0, 0))
                self.assertGreater(bandwidth["lost"], 0)

    def test_a_reliable_connection_repeats_and_delivers_all(self):
        self.lose(1)
        rows = self.measure(*PAIR[1:], *rdmameter.RC_LATENCIES, *rdmameter.RC_BANDWIDTHS, "--size", "64,8K", "--iterations", "300", "--verify", timeout=240)
        self.assertEqual(sum(not row["case"]["test"].startswith(("atomic_write", "flush")) for row in rows), 12 * 2 + 4)  # of atomics there is one size
        repeated = 0
        for row in rows:
            self.assertNotIn("lost", row)
            counters = row["device_counters"]["initiator"]
            repeated += counters.get("completer_retry_err", 0) + counters.get("rcvd_seq_err", 0)
        self.assertGreater(repeated, 0)

    def test_the_price_of_loss_is_the_timeout_that_was_set(self):
        self.lose(0.5)
        for code, timer_ms, iterations in ((12, 16.8, 2000), (14, 67.1, 2000), (16, 268.4, 2000)):
            done = self.run_program(*PAIR, "send_lat", "--qp-timeout", str(code), "--iterations", str(iterations), "--loss-report")
            with self.subTest(code, output=done.stdout):
                samples, median_ms, said_ms = causes(self, done)["timeout"]
                self.assertEqual(said_ms, timer_ms)
                # Of 2000 packets about 10 are lost, and of acknowledgements of pings nobody waits for one.
                self.assertGreater(samples, 0)
                # A single loss. Two in a row take twice as long, and are rare; a jiffy is 4 ms.
                self.assertLess(median_ms, 1.1 * timer_ms + 8)
                self.assertGreater(median_ms, 0.95 * timer_ms)
                # Each of those stalls ended by a repetition, which the device of the end that repeated has counted.
                counters = done.rows[0]["device_counters"]
                repeated = sum(counters[end].get("completer_retry_err", 0) for end in ("initiator", "responder"))
                self.assertIn("completer_retry_err", done.stdout)
                self.assertGreaterEqual(repeated, samples)
                rdmameter.note(f"{code}: {samples} stalls, {repeated} repetitions")

    def test_without_loss_nothing_is_its_price(self):
        done = self.run_program(*PAIR, "send_lat", "--iterations", "2000", "--loss-report")
        if " of 2000 samples took" in done.stdout and "cause" in done.stdout:
            found = causes(self, done)
            self.assertEqual([found[cause][0] for cause in ("timeout", "RNR NAK", "sequence NAK")], [0, 0, 0])
        else:
            self.assertIn("0 of 2000 samples took more", done.stdout)

    def test_a_receiver_without_receives_costs_what_its_rnr_timer_says(self):
        done = self.run_program("--loopback", "send_bw", "--rx-depth", "1", "--depth", "4", "--signal-every", "1",
                                "--min-rnr-timer", "0", "--iterations", "10", "--warmup", "0", "--loss-report")
        found = causes(self, done)
        self.assertEqual(found["RNR NAK"][2], 655.4)
        self.assertGreater(found["RNR NAK"][0], 0)
        self.assertGreater(found["RNR NAK"][1], 0.95 * 655.4)  # more, where messages wait behind one that waits
        self.assertEqual((found["timeout"][0], found["sequence NAK"][0]), (0, 0))
        self.assertIn("RNR NAKs: the peer had no receive", done.stdout)


def device_of_losses(folder, wire, held="poll_cq@40=10ms"):
    """A device on which a receiver shows up late, and which knows which messages it had no receive for, and what the wire did.
    @param held  each CQ of a receiver, when 40 messages have been taken from it
    @return  the settings, and the function that then counts how often what became of a message"""
    log = f"{folder}/fates{len(os.listdir(folder))}"

    def fates():
        counted = collections.Counter()
        for path in glob.glob(f"{log}.*"):  # of each process
            with open(path, encoding="ascii") as file:
                counted.update(line.split()[0] for line in file)
        return counted

    return {"RDMAMETER_DEVICE_FAULTS": held, "RDMAMETER_DEVICE_LOG": log, "RDMAMETER_DEVICE_WIRE": wire}, fates


@rdmameter.on(rdmameter.SOFTWARE)
class Numbers(rdmameter.Test):
    def figures(self, *arguments, wire=""):
        """Measures. @return  the rows' figures, and how often the device has done what (duplicated, lost...) to all of them"""
        settings, fates = device_of_losses(self.scratch, wire)
        with unittest.mock.patch.dict(os.environ, settings):
            rows = self.measure(*arguments)
        figures = {row["name"]: row["bandwidth"] for row in rows}
        for name, each in figures.items():
            self.assertEqual(each["lost"], each["sent"] - each["received"] + each["duplicated"], name)
        return figures, fates()

    def assert_true(self, *arguments):
        figures, fates = self.figures(*arguments)
        wrong = {name: each for name, each in figures.items() if (each["duplicated"], each["reordered"]) != (0, 0)}
        self.assertEqual(wrong, {})
        self.assertEqual(sum(each["lost"] for each in figures.values()), fates["unreceived"])

    # Of the fewest receives that are posted, 64, two polls' worth is there when the warm-up is over.
    FEW = ("--iterations", "300", "--warmup", "20", "--signal-every", "1")

    def test_what_a_held_receiver_has_not_read_no_other_message_overwrites(self):
        self.assert_true("send_bw", "--transport", "uc,ud", "--size", "4,64,1K,4K", "--depth", "1,16,128", *self.FEW)
        self.assert_true("send_bw", "--transport", "uc", "--size", "16K,64K,512K", "--depth", "1", *self.FEW)
        self.assert_true("mcast_bw", "--size", "4K", "--depth", "16", *self.FEW)

    def test_nor_where_it_verifies_polls_otherwise_or_sends_itself(self):
        self.assert_true("send_bw", "--transport", "uc,ud", "--size", "4K", "--bidirectional", "on,off", "--verify",
                         "--cq", "classic,extended", *self.FEW)

    def test_nor_where_qps_share_receives_and_are_polled_one_after_the_other(self):
        self.assert_true("send_bw", "--transport", "uc,ud", "--size", "4K", "--qps", "1,8", "--recv", "rq,srq", "--rx-depth", "64,512",
                         "--cq-sharing", "shared,per-qp", "--depth", "16", *self.FEW)

    def test_nor_in_a_long_run_with_true_losses(self):
        self.assert_true("send_bw", "--transport", "uc,ud", "--size", "64,4K", "--qps", "1,3", "--recv", "rq,srq", "--iterations", "5000")

    def test_what_the_wire_does_is_counted_to_the_last(self):
        wire = "latency=20us,loss=0.1,duplicate=0.2,reorder=0.1,seed=3"
        figures, fates = self.figures("send_bw", "--transport", "ud", "--size", "64,4K", "--depth", "1,128", "--rx-depth", "1024",
                                      *self.FEW, wire=wire)
        self.assertEqual(fates["unreceived"], 0)
        for fate, figure in (("lost", "lost"), ("duplicated", "duplicated"), ("overtaken", "reordered")):
            self.assertGreater(fates[fate], 40)
            self.assertEqual(sum(each[figure] for each in figures.values()), fates[fate], fate)
        figures, fates = self.figures("send_bw", "--transport", "uc", "--size", "4K,64K", "--depth", "8", *self.FEW, wire=wire)
        self.assertEqual(sum(each["lost"] for each in figures.values()), fates["lost"] + fates["unreceived"])
        self.assertEqual([(each["duplicated"], each["reordered"]) for each in figures.values()], [(0, 0)] * 2)

    def test_a_queue_that_is_shallower_than_asked_for_is_told(self):
        done = self.run_program("--loopback", "send_bw", "send_lat", "--transport", "uc", "--size", "64,1M", "--depth", "1",
                                "--rx-depth", "100", "--iterations", "60", "--warmup", "5")
        self.assert_valid(done.path)
        rows = done.rows
        told = [(row["case"]["rx_depth"], row.get("rx_depth_asked"), row["case"]["recv_post_list"]) for row in rows]
        self.assertEqual(told, [(100, None, 10), (56, 100, 14), (100, None, 10), (2, 100, 1)])
        self.assertEqual(rows[3]["resources"]["recv_wrs_per_qp"], 2)
        self.assertEqual(rows[3]["lost"], 0)


@rdmameter.on(rdmameter.SOFTWARE)
class NumbersAmongRanks(Topo):
    def lost(self, *arguments, wire=""):
        """@return  what each traffic says that it has lost, and how often the device has done what"""
        settings, fates = device_of_losses(self.scratch, wire)
        with unittest.mock.patch.dict(os.environ, settings):
            done = self.topo(*arguments, "--warmup", "0", "--loss-timeout", "1s", "--verify")
        rows = {row["case"]["traffic"]: row for row in done.rows}
        return {name: row["bandwidth"]["lost"] if "bandwidth" in row else row["lost"] for name, row in rows.items()}, fates()

    def test_what_a_held_rank_has_not_read_no_other_message_overwrites(self):
        """A credit is a promise of a receive. A flood of datagrams has none, and loses what finds no receive."""
        words = ("--ranks", "3", "--traffic", "pairs,token,alltoall,flood", "--size", "4K", "--iterations", "200")
        for graph in (("mesh", "--transport", "uc"), ("ring", "--transport", "uc"), ("udmesh",)):
            lost, fates = self.lost(*graph, *words)
            self.assertEqual(lost, {"pairs": 0, "token": 0, "alltoall": 0, "flood": fates["unreceived"]}, graph)
        self.assertGreater(fates["unreceived"], 0)

    def test_what_the_wire_does_is_counted_to_the_last(self):
        lost, fates = self.lost("udmesh", "--ranks", "3", "--traffic", "pairs,token", "--size", "64", "--iterations", "20",
                                wire="loss=0.03,seed=3")
        self.assertGreater(fates["lost"], 3)
        self.assertEqual((sum(lost.values()), fates["unreceived"]), (fates["lost"], 0))


@rdmameter.on(rdmameter.SOFTWARE)
class Price(rdmameter.Test):
    def test_a_lost_message_costs_4096_ns_times_2_to_the_timeout(self):
        wire = unittest.mock.patch.dict(os.environ, {"RDMAMETER_DEVICE_WIRE": "loss=0.01,seed=3"})
        wire.start()
        self.addCleanup(wire.stop)
        for code, timer_ms in ((12, 16.8), (14, 67.1), (16, 268.4)):
            # Both ends sleep: one that spins beside others who are busy would wait for the CPU as long.
            done = self.run_program("--loopback", "send_lat", "--qp-timeout", str(code), "--iterations", "400", "--wait", "event",
                                    "--loss-report")
            with self.subTest(code, output=done.stdout):
                samples, median_ms, said_ms = causes(self, done)["timeout"]
                self.assertEqual(said_ms, timer_ms)
                self.assertGreater(samples, 0)
                # A stall is what a sample has beyond a typical one, of which a part can pass beside the timer.
                typical = re.search(r"times the median \(([\d.]+) (\w?s|µs)\)", done.stdout)
                typical_ms = float(typical[1]) * MS[typical[2]]
                self.assertTrue(0.99 * timer_ms - typical_ms <= median_ms <= 1.1 * timer_ms, (median_ms, typical_ms))


if __name__ == "__main__":
    breaks_links = rdmameter.KIND != rdmameter.SOFTWARE
    rdmameter.main(devices=2 if breaks_links else 1, in_vm=breaks_links)
