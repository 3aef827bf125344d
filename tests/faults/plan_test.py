#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a proved client may ask for: plans are held to their form, and to the memory that there is."""
import os

import wire
from wire import rdmameter


def plan_of(*arguments):
    """What a client of this release sends for a case: the "prepare" of `rdmameter run ARGUMENTS`."""
    def answer(peer):
        wire.welcome(peer)
        plan = peer.hear()
        peer.say({"type": "failed", "kind": "failed", "reason": "enough"})
        peer.hear()
        peer.say({"type": "abandoned"})
        return plan
    fake = wire.FakeServer(answer)
    run = rdmameter.Started([rdmameter.program, "run", f"127.0.0.1:{fake.port}", *arguments], rdmameter.environment())
    done = run.end(60)
    assert done.status == rdmameter.FAILED, done
    return fake.end()


class Plan(wire.Test):
    def setUp(self):
        super().setUp()
        self.plan = plan_of("send_bw", "--size", "4K", "--iterations", "20")
        self.client = self.peer()
        self.assertEqual(self.client.greet()["type"], "welcome")

    def answer(self, **changes):
        plan = {**self.plan, "case": {**self.plan["case"], **changes}}
        self.client.say({name: value for name, value in plan.items() if value is not None})
        return self.client.hear()

    def assert_refused(self, kind, reason, /, **changes):
        answer = self.answer(**changes)
        self.assertEqual((answer["type"], answer.get("kind")), ("failed", kind), answer)
        self.assertRegex(answer["reason"], reason)

    def assert_still_served(self):
        self.assertEqual(self.answer()["type"], "ready")
        self.client.say({"type": "abandon"})
        self.assertEqual(self.client.hear()["type"], "abandoned")
        self.client.say({"type": "bye"})
        self.assertIsNone(self.client.hear())
        self.assert_nothing_left()

    def test_one_that_would_take_the_machine_s_memory_is_refused_before_any_is_taken(self):
        before = self.server.resident_kib()
        memory = "buffers and queues of .* MiB.*--max-memory|more than the 16 GiB"
        # These numbers some devices do not have: that may be the reason, too.
        for changes in ({"qps": 65536, "rx_depth": 1 << 20}, {"qps": 65536, "size_bytes": 1 << 31},
                        {"qps": 65536, "depth": 1 << 20}, {"size_bytes": 1 << 31, "qps": 9}):
            device = "" if rdmameter.IN_VM else "|the device takes|largest holds|takes [0-9]+; use a smaller --size"
            self.assert_refused("unsupported", memory + device, **{"depth": 128, **changes})
        self.assert_refused("unsupported", memory, size_bytes=1 << 30, qps=64, depth=128)
        self.assertLess(self.server.resident_kib() - before, 2048)
        self.assert_still_served()

    @rdmameter.spared_in_vm
    def test_numbers_out_of_range_words_and_unknown_keys_are_refused_by_name(self):
        for changes in ({"size_bytes": 0}, {"size_bytes": (1 << 31) + 1}, {"qps": 0}, {"qps": 65537}, {"depth": -1},
                        {"depth": 1.5}, {"rx_depth": "many"}, {"transport": 3}, {"opcode": 77}, {"pattern": 2**64 - 1},
                        {"peer_port_num": 2**63}, {"peer_device": "../../x"}, {"warmup": None}, {"verify": 2},
                        {"iterations": 0}, {"duration_ns": 1}, {"no_such_key": 1}):
            name = next(iter(changes))
            with self.subTest(changes):
                self.assert_refused("usage", name.replace("_", "[_-]"), **changes)
        self.assert_still_served()

    @rdmameter.spared_in_vm
    def test_a_device_port_or_core_that_is_not_there_is_refused(self):
        self.assert_refused("failed", "mlx9_9", peer_device="mlx9_9")
        self.assertEqual(self.answer(peer_port_num=200)["type"], "failed")
        self.assertEqual(self.answer(peer_gid_index=200)["type"], "failed")
        self.assert_still_served()

    def test_an_end_that_does_not_fit_the_plan_is_refused(self):
        ready = self.answer()
        mine = ready["forward"]["endpoint"]
        for endpoint in ({}, None, {**mine, "qpns": [], "psns": []}, {**mine, "qpns": [1, 2]}, {**mine, "mtu_bytes": 17},
                         {**mine, "mtu_bytes": 257}, {**mine, "gid": {**mine["gid"], "gid": "none"}}):
            with self.subTest(str(endpoint)[:60]):
                self.client.say({"type": "connect", "forward": {**ready["forward"], "endpoint": endpoint}, "wait": 1})
                self.assertEqual(self.client.hear()["type"], "failed")
                self.assertEqual(self.answer()["type"], "ready")
        for changes, reason in (({"port_num": 0}, "port_num is 0, outside 1 to 255"),
                                ({"threads": [0] * 170_000}, "threads has 170000 elements, and at most 256 are read")):
            self.client.say({"type": "connect", "forward": {**ready["forward"], **changes}, "wait": 1})
            self.assertIn(reason, self.client.hear()["reason"])
            self.assertEqual(self.answer()["type"], "ready")
        self.client.say({"type": "abandon"})
        self.assertEqual(self.client.hear()["type"], "abandoned")
        self.assert_still_served()

    def test_a_row_that_is_none_ends_the_session(self):
        self.client.say({"type": "row"})
        self.server.await_log('dropped: .*the key "row" is missing')

    def connect(self, ready, wait):
        """Tells the server its own end, so that a loopback of it begins."""
        self.client.say({**ready, "type": "connect", "wait": wait})
        return self.client.hear()

    @rdmameter.spared_in_vm
    def test_a_wait_other_than_the_plan_s_is_refused(self):
        automatic, spin, yielding, event = range(4)
        for planned, said in ((spin, event), (yielding, event), (spin, yielding), (event, spin), (automatic, event),
                              (automatic, automatic), (spin, 4), (spin, None)):
            with self.subTest(planned=planned, said=said):
                answer = self.connect(self.answer(wait=planned), said)
                self.assertEqual(answer["type"], "failed", answer)
                self.assertRegex(answer["reason"], "wait`? is ")
        for planned, said in ((automatic, spin), (automatic, yielding), (event, event)):
            with self.subTest(planned=planned, said=said):
                self.assertEqual(self.connect(self.answer(wait=planned), said)["type"], "running")
                self.client.say({"type": "abandon"})
                self.assertEqual(self.client.hear()["type"], "abandoned")
        self.assert_still_served()

    @rdmameter.spared_in_vm
    def test_no_plan_writes_a_file_of_the_server_s(self):
        canary = f"{self.scratch}/canary"
        with open(canary, "w", encoding="ascii") as file:
            file.write("what was here before")
        new = f"{self.scratch}/new"
        for path in (canary, new):
            for changes in ({"bidirectional": 1}, {"bidirectional": 1, "threads": 2}, {}):
                with self.subTest(path=path, **changes):
                    self.assertEqual(self.answer(memory=f"file:{path}", **changes)["type"], "ready")
                    self.client.say({"type": "abandon"})
                    self.assertEqual(self.client.hear()["type"], "abandoned")
            self.assert_refused("unsupported", "--peer-memory takes", peer_memory=f"file:{path}", bidirectional=1)
        with open(canary, encoding="ascii") as file:
            self.assertEqual(file.read(), "what was here before")
        self.assertFalse(os.path.exists(new))
        self.assert_still_served()

    def test_as_many_pieces_as_the_device_has_are_as_many_at_the_end_of_the_case(self):
        ready = self.answer(transport=2, opcode=0, size_bytes=64, sge=2**64 - 2, recv_sge=2**64 - 2)
        self.assertEqual(self.connect(ready, 2)["type"], "running")
        self.client.say({"type": "finish", "sent": [0]})
        self.assertEqual(self.client.hear()["type"], "done")
        self.assert_still_served()

    @rdmameter.spared_in_vm
    def test_more_pieces_than_bytes_are_refused_of_an_atomic_too(self):
        self.assert_refused("unsupported", "cannot be split", opcode=5, size_bytes=8, sge=9)
        self.assert_still_served()

    def prepare_much(self):
        """Asks for 768 MiB, and returns while they are being filled."""
        self.client.say({**self.plan, "case": {**self.plan["case"], "size_bytes": 8 << 20, "qps": 96, "depth": 32,
                                               "rx_depth": 1, "recv_post_list": 1}})
        self.assertTrue(rdmameter.wait_until(lambda: self.server.resident_kib() > 64 << 10))

    @rdmameter.spared_in_vm
    def test_who_leaves_while_memory_is_filled_is_not_waited_for(self):
        self.prepare_much()
        self.client.close()
        left = rdmameter.fair_time()
        self.server.await_log("the peer hung up during")
        self.assertLess(rdmameter.fair_time() - left, 0.5 * rdmameter.SLOW)
        self.assert_nothing_left()
        self.assert_serves()

    @rdmameter.spared_in_vm
    def test_a_server_that_fills_memory_ends_at_once(self):
        self.prepare_much()
        asked = rdmameter.fair_time()
        self.assertEqual(self.server.stop().status, 0)
        self.assertLess(rdmameter.fair_time() - asked, 1 * rdmameter.SLOW)

    def test_who_prepares_and_leaves_leaves_nothing(self):
        self.assertEqual(self.answer()["type"], "ready")
        self.client.close()
        self.assert_nothing_left()
        self.assert_serves()


@rdmameter.spared_in_vm
class Lies(wire.Test):
    """A server, too, says what its client must not believe."""

    def assert_disbelieved(self, kind, key, value, pattern, *arguments):
        def change(message):
            if message["type"] != kind:
                return message
            return {**message, key: value} if key in message else {**message, "forward": {**message["forward"], key: value}}
        between = wire.Between(self.port, change)
        done = self.run_program(f"127.0.0.1:{between.port}", *arguments, "--iterations", "20", status=rdmameter.FAILED)
        between.end()
        self.assert_failed_clearly(done, pattern)

    def test_a_client_takes_no_number_that_does_not_fit_its_case(self):
        datagrams = ("send_bw", "--transport", "ud", "--size", "8")
        for kind, key, value, arguments in (
                ("ready", "recv_sge", 65535, datagrams), ("ready", "recv_sge", 9, (*datagrams, "--recv-sge", "max")),
                ("ready", "recv_sge", 0, datagrams), ("ready", "endpoint", {}, datagrams), ("ready", "port_num", 0, datagrams),
                ("environment", "environment", None, datagrams), ("environment", "environment", [1], datagrams),
                ("done", "counters", {"\u009b31m": 1}, datagrams), ("done", "counters", [1], datagrams),
                ("done", "counters", {"a": "b"}, datagrams), ("done", "shared_responder", "yes", datagrams),
                ("done", "duplicated", -1, datagrams), ("done", "total", [], datagrams),
                ("done", "arrivals", [2**60], (*datagrams, "--peers", "2")),
                ("done", "verdict", {}, ("send_bw", "--verify"))):
            with self.subTest(kind=kind, key=key, value=value):
                self.assert_disbelieved(kind, key, value, {"endpoint": 'endpoint: the key "lid" is missing', "verdict": 'the key "checked_bytes" is missing',
                     "total": "the totals are not of"}.get(key, rf"\b{key}(\[\d+\])? (is|are|has) "), *arguments)

    def test_a_server_hears_of_a_client_that_measures_without_it(self):
        """It waits two minutes for the next case."""
        heard = []
        def note(message):
            heard.append(message["type"])
            return message
        between = wire.Between(self.port, lambda message: message, up=note)
        self.run_program(f"127.0.0.1:{between.port}", "reg_mr", "write_lat", "--iterations", "20")
        between.end()
        self.assertLess(heard.index("alive"), heard.index("prepare"))

    def test_a_client_takes_no_threads_within_its_one(self):
        """What they say is not looked at there, so the one endpoint beside them could say what it likes."""
        def change(message):
            if message["type"] != "ready":
                return message
            end = message["forward"]
            return {**message, "forward": {**end, "recv_sge": 0, "threads": [end]}}
        for test in (("send_bw", "--transport", "ud", "--size", "8"), ("connect",)):
            between = wire.Between(self.port, change)
            done = self.run_program(f"127.0.0.1:{between.port}", *test, "--iterations", "20", status=rdmameter.FAILED)
            between.end()
            self.assert_failed_clearly(done, "threads has 1 elements")

    def test_what_the_case_does_not_ask_for_is_not_in_its_row(self):
        def change(message):
            more = {"duplicated": 3, "reordered": 3, "arrivals": [1]}
            return {**message, "forward": {**message["forward"], **more}} if message["type"] == "done" else message
        between = wire.Between(self.port, change)
        [row] = self.run_program(f"127.0.0.1:{between.port}", "send_bw", "--iterations", "20").rows
        between.end()
        self.assertNotIn("arrivals", row)
        self.assertNotIn("duplicated", row["bandwidth"])


@rdmameter.spared_in_vm
class Memory(wire.Test):
    arguments = ("--max-memory", "1M")

    def test_what_exceeds_the_server_s_limit_is_skipped_with_the_reason_and_the_rest_measured(self):
        done = self.run_program(self.at, "send_bw", "--size", "64K,64", "--iterations", "20")
        large, small = done.rows
        self.assertRegex(large["skip_message"], "the responder: buffers and queues of .* MiB, while the server gives "
                                                "its clients 1.0 MiB: use a smaller --size.*--max-memory")
        self.assertIn("bandwidth", small)

    def test_what_does_not_fit_beside_another_client_s_fails_for_now(self):
        case = ("send_bw", "--size", "1K", "--rx-depth", "512")
        plan = plan_of(*case)
        holding = self.peer()
        self.assertEqual(holding.greet()["type"], "welcome")
        holding.say(plan)
        self.assertEqual(holding.hear()["type"], "ready")
        done = self.run_program(self.at, *case, "--iterations", "20", status=rdmameter.FAILED)
        self.assert_failed_clearly(done, "beside the 0.. MiB of other clients.*try again later")
        holding.close()
        self.assert_nothing_left()
        self.run_program(self.at, *case, "--iterations", "20")

    def test_a_limit_that_is_none_is_refused(self):
        for size in ("0", "much", "1000000G"):
            done = rdmameter.Started([rdmameter.program, "serve", "--max-memory", size], rdmameter.environment()).end(30)
            self.assertEqual(done.status, rdmameter.USAGE)
            self.assertIn(f"invalid value '{size}' for --max-memory", done.stderr)


if __name__ == "__main__":
    rdmameter.main()
