#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""QPs connected by rdma_cm: data moves over them as over others, and whatever goes wrong says so."""
import re

import rdmameter

SHORT = ("--iterations", "200", "--warmup", "10", "--verify")
PATIENT = (*SHORT, "--loss-timeout", "20s")
CM = ("--connect", "cm")


def gid_indexes():
    """RoCE v2 GIDs of the first device by their kind: "v4", "v6"."""
    [(_, port), *_] = rdmameter.active_ports()
    kinds = {}
    for gid in port["gids"]:
        if gid["type"] == "roce_v2" and not gid["gid"].startswith("fe80"):
            kinds.setdefault("v4" if gid["gid"].startswith("::ffff:") else "v6", str(gid["index"]))
    return kinds


class Connecting(rdmameter.Test):
    @rdmameter.everyday
    def test_every_operation_moves_its_data_over_rc(self):
        rows = self.run_program("--loopback", "all", *CM, "--transport", "rc", "--size", "64", *PATIENT).rows
        self.assertFalse([row["name"] for row in rows if "skip_message" in row and not re.search(rdmameter.TOO_OLD, row["skip_message"])])
        for row in rows:
            if "latency" in row and row["case"].get("transport") == "rc" and row["latency"]["definition"] != "call":
                self.assertEqual(row["case"]["connect"], "cm", row["name"])

    def test_datagrams_and_unreliable_connections_go_as_well(self):
        rows = self.measure("send_lat", "send_imm_lat", "send_bw", *CM, "--transport", "uc,ud", "--qps", "1,3", "--size",
                            "64", *PATIENT)
        self.assertEqual(len(rows), 12)
        for row in rows:
            self.assertEqual(row.get("lost", 0), 0, row["name"])

    def test_all_other_axes_go_along(self):
        self.measure("send_bw", "write_lat", "write_bw", *CM, "--qps", "2", "--api", "classic,extended", "--cq",
                     "classic,extended", "--recv", "rq,srq", "--inline", "off,max", "--mr-per-qp", "on", "--size", "64",
                     "--sge", "1", *SHORT)

    def test_ipv4_and_ipv6(self):
        kinds = gid_indexes()
        if len(kinds) < 2:
            self.skipTest("this port has no addresses of both kinds")
        for kind, index in kinds.items():
            with self.subTest(kind):
                self.measure("write_lat", "send_bw", *CM, "--gid-index", index, "--peer-gid-index", index, "--transport",
                             "rc", *SHORT)

    def test_outstanding_reads_are_those_of_the_case(self):
        [row] = self.measure("read_bw", *CM, "--outstanding-reads", "2", "--size", "4K", *SHORT)
        self.assertEqual(row["case"]["outstanding_reads"], 2)

    def test_hundreds_at_once(self):
        [row] = self.measure("write_bw", *CM, "--qps", "300", "--depth", "1", "--signal-every", "1", "--size", "64",
                             "--iterations", "600", "--warmup", "0", timeout=300)
        self.assertEqual(row["resources"]["qps"], 300)

    def test_each_qp_has_a_connection_of_its_own(self):
        if rdmameter.verbs_objects("cm_id") is None:
            self.skipTest("`rdma resource` does not tell")
        run = self.start("--loopback", "write_lat", *CM, "--qps", "5", "--duration", "2")
        seen = set()
        while run.process.poll() is None:
            mine = [each for each in rdmameter.verbs_objects("cm_id") if each.get("pid") == run.process.pid]
            seen.add(sum(each["state"] == "CONNECT" for each in mine))
        self.assertEqual(run.end(10).status, rdmameter.PASS)
        self.assertEqual(max(seen), 5)  # the initiator's: those that were taken are listed without their process

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_responder_that_cannot_take_a_connection_says_why(self):
        server = self.serve(prefix=("env", "RDMAMETER_DEVICE_FAULTS=modify_qp@2=EINVAL"))
        done = self.run_program(f"{server.host}", "--port", server.port, "cm_connect", "--iterations", "3",
                                token=server.token, status=rdmameter.FAILED)
        self.assertIn("ibv_modify_qp(INIT->RTR)", done.rows[0]["error_message"])

    def test_a_server_is_left_with_nothing(self):
        server = self.serve()
        self.run_program(f"{server.host}", "--port", server.port, "write_bw", "send_lat", *CM, "--qps", "4", *SHORT,
                         token=server.token)
        self.assert_nothing_left(server)


if __name__ == "__main__":
    rdmameter.main()
