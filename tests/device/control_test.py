#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The control path: each verb timed alone, on the initiator's device and without a responder."""
import rdmameter

MR, CQ, AH = ("reg_mr", "dereg_mr"), ("create_cq", "destroy_cq"), ("create_ah", "destroy_ah")
QP = ("create_qp", "destroy_qp", "modify_qp_init", "modify_qp_rtr", "modify_qp_rts")
SHORT = ("--iterations", "40", "--warmup", "4")
OBJECTS = "16" if rdmameter.IN_VM else "0,16"
LEAST_NS = 0 if rdmameter.KIND == rdmameter.SOFTWARE else 100  # of a call of the kernel
MW = ("bind_mw_1", "bind_mw_2", "invalidate_mw")
NOBODY = "192.0.2.1"  # TEST-NET-1 (RFC 5737): whoever connects there waits in vain


class Control(rdmameter.Test):
    def test_every_verb_is_a_histogram_of_its_calls(self):
        done = self.run_program("--loopback", *MR, *CQ, *QP, *AH, "--transport", "rc,uc,ud", "--objects", OBJECTS, *SHORT)
        self.assertEqual(len(done.rows), len(OBJECTS.split(",")) * (len(MR + CQ + AH) + 3 * len(QP)))
        for row in done.rows:
            with self.subTest(row["name"]):
                self.assertEqual((row["latency"]["definition"], row["latency"]["count"]), ("call", 40))
                self.assertGreater(row["latency"]["min"], LEAST_NS)
                self.assertEqual(row["real_time"], row["latency"]["mean"])
        self.assert_valid(done.path)

    def test_windows_are_bound_written_through_and_invalidated_or_the_device_has_none(self):
        done = self.run_program("--loopback", *MW, "reg_mr", "--size", "1,4K,1M", "--objects", "0,16", *SHORT)
        for row in done.rows:
            if "skip_message" in row:
                self.assertRegex(row["skip_message"], "has no memory windows of type [12]")
            else:
                definition = "call" if row["name"].startswith("reg_mr") else "completion"
                self.assertEqual((row["latency"]["definition"], row["latency"]["count"]), (definition, 40))
        self.assert_valid(done.path)
        rdmameter.note(f"{sum('skip_message' in row for row in done.rows)} of {len(done.rows)} skipped")

    @rdmameter.kernel_only
    def test_windows_that_stay_bound_do_not_keep_the_end_waiting(self):
        device = rdmameter.active_ports()[0][0]
        if device["driver"] != "rdma_rxe":
            self.skipTest("this device may have no windows of type 2")
        done = self.run_program("--loopback", "bind_mw_2", "invalidate_mw", "--objects", "64", *SHORT)
        self.assertLess(done.seconds, 5 * rdmameter.SLOW)
        self.assertNotIn("was not destroyed", done.stderr)

    @rdmameter.spared_in_vm
    def test_no_responder_is_asked(self):
        done = self.run_program(NOBODY, "create_qp", *SHORT, timeout=20)
        self.assertEqual(len(done.rows), 1)
        self.assertIsNone(done.result["context"]["rdmameter"]["responder"])

    @rdmameter.spared_in_vm
    def test_it_goes_along_with_traffic(self):
        rows = self.measure("create_cq", "write_lat", "create_ah", *SHORT)
        self.assertEqual([row["latency"]["definition"] for row in rows], ["call", "round_trip", "call"])

    @rdmameter.kernel_only
    @rdmameter.everyday
    def test_objects_are_there_while_it_is_measured_and_gone_after(self):
        device = rdmameter.active_ports()[0][0]["name"]
        if rdmameter.verbs_objects("qp") is None:
            self.skipTest("`rdma resource` does not tell")
        run = self.start("--loopback", "modify_qp_rts", "--objects", "37", "--duration", "1", "--device", device)
        held = set()
        while run.process.poll() is None:
            mine = [each for each in rdmameter.verbs_objects("qp") if each.get("pid") == run.process.pid]
            held.add(sum(each["state"] == "RTS" for each in mine))
        self.assertEqual(run.end(10).status, rdmameter.PASS)
        self.assertTrue({37, 38} & held, held)
        self.assertLessEqual(max(held), 38)

    @rdmameter.spared_in_vm
    def test_thousands_of_qps_beside_it(self):
        rows = self.measure("create_qp", "modify_qp_rtr", "--objects", "4096", "--depth", "1", "--rx-depth", "1", *SHORT)
        self.assertEqual([row["case"]["objects"] for row in rows], [4096, 4096])

    @rdmameter.kernel_only
    def test_more_memory_takes_longer_to_register(self):
        small, large = self.measure("reg_mr", "--size", "4K,16M", *SHORT)
        self.assertGreater(large["latency"]["p50"], small["latency"]["p50"])

    def test_a_mapped_device_is_registered(self):
        [row] = self.measure("reg_mr", "--memory", "file:/dev/zero", *SHORT)
        self.assertEqual(row["case"]["memory"], "file:/dev/zero")

    @rdmameter.spared_in_vm
    def test_it_lasts_as_long_as_asked(self):
        done = self.run_program("--loopback", "create_ah", "--duration", "0.5", "--warmup", "0")
        [row] = done.rows
        self.assertGreater(row["latency"]["count"], 100)
        self.assertGreater(done.seconds, 0.5)

    @rdmameter.spared_in_vm
    def test_each_repetition_is_a_row(self):
        self.assertEqual(len(self.measure("destroy_qp", "--repetitions", "3", *SHORT)), 3)

    @rdmameter.kernel_only
    def test_what_the_device_has_not_is_skipped_with_its_reason(self):
        device = rdmameter.active_ports()[0][0]
        if device["driver"] != "rdma_rxe":
            self.skipTest("this device may have it")
        self.assertRegex(self.skipped("reg_mr", "--memory", "device"), "has no memory of its own")
        self.assertRegex(self.skipped("create_cq", "--depth", "1048576"), "takes at most .*smaller --depth")

    @rdmameter.kernel_only
    def test_a_paged_region_is_registered_where_the_device_has_on_demand_paging(self):
        if rdmameter.has_on_demand_paging("rc", "write"):
            self.measure("reg_mr", "--odp", *SHORT)
        else:
            self.assertRegex(self.skipped("reg_mr", "--odp"), "no on-demand paging")

    @rdmameter.spared_in_vm
    def test_an_interrupt_ends_it(self):
        run = self.start("--loopback", "create_ah", "--duration", "0.05,60", "--repetitions", "2")
        run.await_text("stdout", "(.*\n){2}")
        run.work(0.1)
        run.process.send_signal(rdmameter.signal.SIGINT)
        self.assertEqual(run.end(20).status, rdmameter.INTERRUPTED)


if __name__ == "__main__":
    rdmameter.main()
