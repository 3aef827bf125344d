#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Control path tests that connect QPs: with a responder, by TCP and by rdma_cm, whole and step by step."""
import rdmameter

STEPS = ("cm_resolve_addr", "cm_resolve_route", "cm_connect")
SHORT = ("--iterations", "20", "--warmup", "2", "--depth", "1", "--rx-depth", "1")


class Connects(rdmameter.Test):
    @rdmameter.everyday
    def test_the_whole_and_each_step_are_histograms_of_their_calls(self):
        done = self.run_program("--loopback", "connect", *STEPS, "--connect", "tcp,cm", "--transport", "rc,uc,ud", *SHORT)
        self.assertEqual(len(done.rows), 3 * (2 + len(STEPS)))
        for row in done.rows:
            with self.subTest(row["name"]):
                self.assertEqual((row["latency"]["definition"], row["latency"]["count"]), ("call", 20))
                self.assertEqual("connect" in row["case"], row["name"].startswith("connect/"))
                self.assertIn("peer_device", row["case"])
        self.assertIsNotNone(done.result["context"]["rdmameter"]["responder"])
        self.assert_valid(done.path)

    def test_the_whole_takes_longer_than_a_step(self):
        rows = self.measure("connect", *STEPS, "--connect", "cm", *SHORT)
        least = [row["latency"]["min"] for row in rows]
        self.assertGreater(least[0], max(least[1:3]))

    def test_connections_are_there_while_it_is_measured_and_gone_after(self):
        if rdmameter.verbs_objects("qp") is None:
            self.skipTest("`rdma resource` does not tell")
        for way in ("tcp", "cm"):
            with self.subTest(way):
                run = self.start("--loopback", "connect", "--connect", way, "--objects", "9", "--duration", "1")
                held = set()
                while run.process.poll() is None:
                    mine = rdmameter.objects_of([run.process.pid], "qp")
                    held.add(sum(each["state"] == "RTS" for each in mine))
                self.assertEqual(run.end(20).status, rdmameter.PASS)
                self.assertTrue({18, 19, 20} & held, held)
                self.assertLessEqual(max(held), 20)

    def test_many_are_there_already(self):
        rows = self.measure("connect", "--connect", "tcp,cm", "--objects", "64", *SHORT)
        self.assertEqual([row["case"]["objects"] for row in rows], [64, 64])

    def test_it_goes_along_with_traffic_and_with_verbs_of_one_end(self):
        rows = self.measure("write_lat", "connect", "create_qp", "send_lat", *SHORT[:4])
        self.assertEqual([row["latency"]["definition"] for row in rows], ["round_trip", "call", "call", "round_trip"])

    def test_a_server_is_left_with_nothing_even_by_a_client_that_dies(self):
        server = self.serve()
        where = (server.host, "--port", server.port)
        if rdmameter.verbs_objects("qp") is None:
            self.skipTest("`rdma resource` does not tell")
        self.run_program(*where, "connect", "--connect", "tcp,cm", *SHORT, token=server.token)
        run = self.start(*where, "connect", "--connect", "cm", "--objects", "4", "--duration", "60", token=server.token)
        self.assertTrue(rdmameter.wait_until(lambda: len(rdmameter.objects_of(server.processes(), "qp")) > 4, 20))
        run.process.kill()
        self.assert_nothing_left(server)
        self.assertTrue(rdmameter.wait_until(lambda: not rdmameter.IN_VM or not any(
            "pid" in each for each in rdmameter.verbs_objects("qp")), 10))

    def test_a_responder_that_dies_ends_it_in_an_error(self):
        server = self.serve()
        run = self.start(server.host, "--port", server.port, "connect", "--connect", "cm", "--duration", "60",
                         token=server.token)
        server.await_log("connecting over")
        server.stop(rdmameter.signal.SIGKILL)
        done = run.end(40)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertIn("error_message", done.rows[0])


if __name__ == "__main__":
    rdmameter.main()
