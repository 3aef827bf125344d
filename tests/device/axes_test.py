#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Memory, SGEs, attributes of QPs, receives: each axis seen in what was done, or refused with its reason."""
import mmap
import os
import subprocess

import rdmameter

SHORT = ("--iterations", "60", "--warmup", "8", "--verify")


def reserve_huge_pages(count):
    with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as file:
        file.write(str(count))


def first_bytes(path):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 2 << 20, prot=mmap.PROT_READ) as mapped:
        return mapped[:64]


class Peak(rdmameter.Test):
    def test_it_is_above_the_rate_of_the_whole_traffic_and_of_both_directions_added(self):
        for tests, *more in (("write_bw send_bw",), ("write_bw send_bw", "--bidirectional"), ("send_bw", "--transport", "uc"), ("mcast_bw",),
                             ("write_bw send_bw", "--qps", "4", "--post-list", "4")):
            for test in tests.split():
                with self.subTest(test, more=more):
                    [row] = self.measure(test, *more, "--peak", "on", "--iterations", "2000", "--size", "4K")
                    bandwidth = row["bandwidth"]
                    peak, ways = bandwidth["peak"], 2 if more == ["--bidirectional"] else 1
                    self.assertEqual(peak["bytes"], peak["messages"] * 4096)
                    self.assertGreater(peak["messages"], ways - 1)
                    if ways == 1:
                        average = bandwidth["traffic_messages"] / bandwidth["traffic_ns"] * 1e3
                        self.assertGreaterEqual(peak["mmsg_per_s"], average)
                    else:
                        self.assertGreater(peak["mmsg_per_s"], 0.5 * bandwidth["mmsg_per_s"])

    def test_it_needs_a_known_number_of_messages_of_one_thread(self):
        for more, reason in ((("--duration", "0.1"), "use --iterations instead of --duration"), (("--threads", "2"), "use --threads 1"),
                             (("--iterations", "10000000"), "use fewer --iterations")):
            self.assertRegex(self.skipped("write_bw", "--peak", "on", *more), reason)


class Memory(rdmameter.Test):
    def test_a_mapped_device_holds_the_messages(self):
        rows = self.measure("write_bw", "send_lat", "read_lat", "--memory", "file:/dev/zero", *SHORT)
        for row in rows:
            self.assertEqual(row["case"]["memory"], "file:/dev/zero")

    def test_a_mapped_file_is_the_initiator_s_and_the_row_says_so(self):
        [row] = self.measure("write_bw", "--bidirectional", "--memory", "file:/dev/zero", *SHORT)
        self.assertEqual(row["directions"]["backward"]["memory"], "host")
        self.assertNotIn("memory", row["directions"]["forward"])

    @rdmameter.spared_in_vm
    def test_an_ordinary_file_stays_as_it_is_and_none_is_made(self):
        canary, new = f"{self.scratch}/canary", f"{self.scratch}/new"
        with open(canary, "w", encoding="ascii") as file:
            file.write("what was here before")
        for test, more in (("write_bw", ()), ("send_bw", ("--bidirectional",)), ("reg_mr", ()),
                           ("write_bw", ("--overwrite-file",))):
            with self.subTest(test, more=more):
                done = self.run_program("--loopback", test, "--memory", f"file:{canary}", *more, status=rdmameter.USAGE)
                self.assertRegex(done.rows[0]["error_message"], f"use --payload file:{canary}")
                done = self.run_program("--loopback", test, "--memory", f"file:{new}", *more, status=rdmameter.FAILED)
                self.assertRegex(done.rows[0]["error_message"], "No such file")
        with open(canary, encoding="ascii") as file:
            self.assertEqual(file.read(), "what was here before")
        self.assertFalse(os.path.exists(new))

    @rdmameter.on(rdmameter.RXE)  # it reserves pages of this machine
    def test_a_file_of_huge_pages_is_overwritten_where_that_is_allowed(self):
        self.addCleanup(reserve_huge_pages, 0)
        reserve_huge_pages(8)
        pages = f"{self.scratch}/pages"
        os.mkdir(pages)
        subprocess.run(["mount", "-t", "hugetlbfs", "none", pages], check=True)
        self.addCleanup(subprocess.run, ["umount", pages], check=True)
        path = f"{pages}/messages"
        with open(path, "wb") as file:
            file.truncate(4 << 20)
        arguments = ("write_bw", "--memory", f"file:{path}", *SHORT)
        done = self.run_program("--loopback", *arguments, "--size", "4K", status=rdmameter.USAGE)
        self.assertRegex(done.rows[0]["error_message"], "--overwrite-file")
        self.assertEqual(first_bytes(path), bytes(64))
        self.measure(*arguments, "--size", "4K", "--overwrite-file")
        self.assertNotEqual(first_bytes(path), bytes(64))
        self.assertRegex(self.skipped(*arguments, "--overwrite-file", "--size", "8M"),
                         "it is 4194304 bytes long, and [0-9]+ bytes are needed")
        self.assertEqual(os.path.getsize(path), 4 << 20)

    @rdmameter.on(rdmameter.RXE)  # it reserves pages of this machine
    def test_huge_pages_carry_the_messages_where_they_are_reserved(self):
        self.addCleanup(reserve_huge_pages, 0)
        reserve_huge_pages(8)
        self.measure("write_lat", "send_bw", "--memory", "huge", "--peer-memory", "huge", *SHORT)

    def test_huge_pages_that_are_not_there_are_skipped_with_the_remedy(self):
        if rdmameter.IN_VM:
            reserve_huge_pages(0)
        reason = self.skipped("write_lat", "--memory", "huge1g", *SHORT)
        self.assertRegex(reason, r"huge pages of 1 GiB: \d+ needed, 0 free; reserve them with `echo 1 > .*nr_hugepages`"
                                 r"|this machine has no huge pages of 1 GiB; --memory accepts ")

    @rdmameter.kernel_only
    def test_device_memory_of_a_device_without_it_is_skipped(self):
        [(device, _), *_] = rdmameter.active_ports()
        if device["limits"]["max_dm_size_bytes"]:
            self.skipTest("this device has some")
        self.assertRegex(self.skipped("send_bw", "--memory", "device"), "has no memory of its own: use --memory host")
        self.assertRegex(self.skipped("read_bw", "--peer-memory", "device"), "the responder: .*no memory of its own")

    @rdmameter.kernel_only
    def test_on_demand_paging_carries_the_messages_or_is_skipped_where_the_device_has_none(self):
        if rdmameter.has_on_demand_paging("rc", "write"):  # rxe: since Linux 6.15
            [row] = self.measure("write_bw", "--odp", *SHORT)
            self.assertTrue(row["case"]["odp"])
        else:
            self.assertRegex(self.skipped("write_bw", "--odp"), "no on-demand paging")

    @rdmameter.spared_in_vm
    def test_a_file_at_the_responder_is_refused(self):
        self.assertRegex(self.skipped("write_bw", "--peer-memory", "file:/etc/passwd"),
                         "a client must not name a file")

    @rdmameter.spared_in_vm
    def test_each_qp_has_memory_regions_of_its_own(self):
        rows = self.measure("write_bw", "send_bw", "read_bw", "--qps", "4", "--mr-per-qp", "off,on", "--size", "256", *SHORT)
        self.assertEqual([row["resources"]["mrs"] for row in rows], [1, 4] * 3)


@rdmameter.spared_in_vm
class Pieces(rdmameter.Test):
    def test_messages_are_gathered_and_scattered_whole_at_every_split(self):
        rows = self.measure("send_bw", "send_lat", "write_lat", "read_bw", "--transport", "rc", "--sge", "1,3,max",
                            "--recv-sge", "1,5,max", "--sge-layout", "even,uneven,page", "--size", "100,5000",
                            "--depth", "16", "--signal-every", "4", "--rx-depth", "32", *SHORT)
        [(device, _), *_] = rdmameter.active_ports()
        self.assertEqual(max(row["case"]["sge"] for row in rows), device["limits"]["max_sge"])

    def test_datagrams_are_scattered_behind_their_grh(self):
        self.measure("send_bw", "send_lat", "--transport", "ud", "--sge", "1,4", "--recv-sge", "1,4", "--sge-layout",
                     "even,page", "--size", "64,1K", "--rx-depth", "64", *SHORT)

    def test_more_than_the_device_has_are_skipped_with_its_limit(self):
        [(device, _), *_] = rdmameter.active_ports()
        most = device["limits"]["max_sge"]
        self.assertRegex(self.skipped("write_bw", "--sge", str(most + 1)),
                         rf"SGEs per request on .*: {most + 1} wanted, the device takes {most}; use fewer --sge")
        self.assertRegex(self.skipped("send_bw", "--recv-sge", str(most + 1)), "the responder: SGEs per receive")

    def test_more_than_there_are_bytes_are_skipped(self):
        self.assertRegex(self.skipped("write_bw", "--size", "3", "--sge", "4"), "3 bytes cannot be split over 4 SGEs: use a larger --size")


@rdmameter.on(rdmameter.SOFTWARE)
class ManyQps(rdmameter.Test):
    def test_each_sees_the_answer_to_its_own_message_alone(self):
        """A round takes two ways of the wire. A byte numbers messages, and a loop ends its slices of 50 ms between two of them."""
        os.environ["RDMAMETER_DEVICE_WIRE"] = "latency=20us"
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_WIRE")
        (row,) = self.measure("write_lat", "--qps", "255", "--warmup", "0", "--duration", "0.5s")
        self.assertGreaterEqual(row["latency"]["min"], 40000)


class Receives(rdmameter.Test):
    @rdmameter.kernel_only
    @rdmameter.everyday
    def test_a_receive_queue_too_short_names_rnr_and_the_remedy_where_nobody_tries_again(self):
        done = self.run_program("--loopback", "send_bw", "--rx-depth", "1", "--depth", "64", "--rnr-retry", "0",
                                "--size", "64", "--iterations", "5000", status=rdmameter.FAILED)
        self.assertRegex(done.rows[0]["error_message"], "IBV_WC_RNR_RETRY_EXC_ERR.*--rx-depth.*--rnr-retry")

    @rdmameter.kernel_only
    def test_it_is_put_up_with_by_retries_and_they_are_counted(self):
        [row] = self.measure("send_bw", "--rx-depth", "1", "--depth", "64", "--min-rnr-timer", "1", "--size", "64",
                             "--iterations", "300", "--verify")
        counters = {**row["device_counters"]["initiator"], **row["device_counters"]["responder"]}
        if "rcvd_rnr_err" in counters or "send_rnr_err" in counters:
            self.assertGreater(counters.get("rcvd_rnr_err", 0) + counters.get("send_rnr_err", 0), 0)

    @rdmameter.spared_in_vm
    def test_lists_of_them_are_as_long_as_asked(self):
        rows = self.measure("send_bw", "send_lat", "write_imm_bw", "--recv-post-list", "1,4,32,auto", "--rx-depth", "64",
                            "--size", "64", "--recv", "rq,srq", *SHORT)
        self.assertEqual([row["case"]["recv_post_list"] for row in rows], [1, 1, 4, 4, 32, 32, 16, 16] * 3)
        self.assertRegex(self.skipped("send_bw", "--recv-post-list", "5", "--rx-depth", "64"),
                         "queue of 64 cannot be filled by lists of 5: use a --rx-depth")

    def test_qps_share_their_receives(self):
        rows = self.measure("send_bw", "send_imm_lat", "--qps", "4", "--recv", "srq", "--size", "300", *SHORT)
        for row in rows:
            self.assertEqual(row["case"]["recv"], "srq")
        # Of a latency both ends receive, and the resources are the initiator's.
        self.assertEqual((rows[1]["resources"]["recv_wrs_per_qp"], rows[1]["resources"]["srq_wrs"]), (0, 512))


@rdmameter.spared_in_vm
class Payload(rdmameter.Test):
    def test_the_bytes_of_a_file_arrive_at_both_ends(self):
        path = f"{self.scratch}/some"
        with open(path, "wb") as file:
            file.write(bytes(range(251)) * 3)
        rows = self.measure(*rdmameter.RC_LATENCIES, *rdmameter.RC_BANDWIDTHS, "tcp_*", "--transport", "rc", "--size", "2,64,5000", "--payload", f"file:{path}",
                            *SHORT)
        for row in rows:
            if "payload" in row["case"]:
                self.assertEqual(row["case"]["payload"], f"file:{path}")
            self.assertGreater(row["verified_bytes"], 0)
        self.measure("send_bw", "send_lat", "--transport", "uc,ud", "--payload", f"file:{path}", "--size", "64", *SHORT)

    def test_a_file_that_is_not_there_is_named(self):
        done = self.run_program("--loopback", "send_lat", "--payload", "file:/no/such", status=rdmameter.FAILED)
        self.assertRegex(done.rows[0]["error_message"], "--payload file:/no/such: cannot be read: No such file")
        self.assertRegex(self.skipped("send_lat", "--payload", "file:/dev/null"), "the file is empty")


class Attributes(rdmameter.Test):
    def test_those_of_the_path_and_the_retries_are_set(self):
        [row] = self.measure("write_bw", "--sl", "3", "--tclass", "104", "--flow-label", "7", "--qp-timeout", "10",
                             "--retry-count", "3", *SHORT)
        case = row["case"]
        self.assertEqual((case["service_level"], case["traffic_class"], case["flow_label"], case["qp_timeout"],
                          case["retry_count"]), (3, 104, 7, 10, 3))

    @rdmameter.spared_in_vm
    def test_a_partition_key_that_is_not_there_is_skipped(self):
        self.assertRegex(self.skipped("write_bw", "--pkey-index", "60000"), "has 1 partition keys")

    def test_outstanding_reads_are_as_asked_or_refused_with_what_there_is(self):
        [(device, _), *_] = rdmameter.active_ports()
        most = device["limits"]["max_qp_rd_atom"]
        rows = self.measure("read_bw", "fetch_add_bw", "--outstanding-reads", "1,2,auto", "--size", "64", *SHORT)
        self.assertEqual([row["case"]["outstanding_reads"] for row in rows], [1, 2, min(most, 255)] * 2)
        if most < 255:
            self.assertRegex(self.skipped("read_bw", "--outstanding-reads", "255"), f"the two ends allow at most {most}")


@rdmameter.on(rdmameter.SOFTWARE)
class AtomicWrite(rdmameter.Test):
    def test_each_8_bytes_arrive_over_several_qps_and_threads(self):
        rows = self.measure("atomic_write_*", "--qps", "1,3", *SHORT)
        rows += self.measure("atomic_write_bw", "--threads", "2", "--bidirectional", "--post-list", "4", *SHORT)
        self.assertEqual(len(rows), 3 * 2 + 1)
        for row in rows:
            self.assertEqual((row["case"]["size_bytes"], row["case"]["api"]), (8, "extended"), row["name"])
            self.assertGreaterEqual(row["verified_bytes"], 8, row["name"])

    def test_what_it_is_not_for_is_skipped_with_the_reason(self):
        for options, why in ((("--api", "classic"), r"by ibv_wr_atomic_write\(\) alone: use --api extended"), (("--transport", "uc"), "UC has no atomic writes"),
                             (("--memory", "device"), "the CPU hands an atomic write its 8 bytes, and does not reach device memory: use --memory host")):
            self.assertRegex(self.skipped("atomic_write_bw", *options), why)
        self.play("rxe")
        self.assertRegex(self.skipped("atomic_write_lat"), "soft0/1 has no atomic write$")
        self.assertRegex(self.skipped("flush_lat"), rdmameter.TOO_OLD)

    def test_a_write_and_its_flush_are_two_requests_of_one_message(self):
        done = self.run_program("--loopback", "write_lat", "flush_*", "--qps", "1,2", "--size", "64,5000", "--sge", "1,3", *SHORT)
        for row in done.rows[4:] if "ibv_wr_flush()" not in done.stdout else []:
            self.assertEqual(row["resources"]["send_wrs_per_qp"], 2 * row["case"].get("depth", 1), row["name"])
            self.assertGreaterEqual(row["verified_bytes"], 64, row["name"])


class Atomics(rdmameter.Test):
    def test_every_value_that_came_back_is_checked(self):
        rows = self.measure("fetch_add_*", "cmp_swap_*", "--qps", "1,3", "--iterations", "500", "--verify")
        for row in rows:
            self.assertEqual(row["case"]["size_bytes"], 8)
            self.assertGreaterEqual(row["verified_bytes"], 16, row["name"])

    @rdmameter.spared_in_vm
    def test_over_uc_they_are_skipped(self):
        self.assertRegex(self.skipped("fetch_add_bw", "--transport", "uc"), "UC has no atomics")
        self.assertRegex(self.skipped("cmp_swap_lat", "--transport", "ud"), "UD carries sends only")

    @rdmameter.spared_in_vm
    def test_of_another_size_there_are_none_so_that_all_are_aligned(self):
        rows = self.measure("fetch_add_lat", "read_lat", "--size", "4,12,64", *SHORT)
        self.assertEqual([row["case"]["size_bytes"] for row in rows], [8, 4, 12, 64])


if __name__ == "__main__":
    rdmameter.main()
