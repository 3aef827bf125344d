#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a proved client may ask for: plans are held to their form, and to the memory that there is."""
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

    def resident_kib(self):
        with open(f"/proc/{self.server.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))

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
        before = self.resident_kib()
        for changes in ({"qps": 65536, "rx_depth": 1 << 20}, {"qps": 65536, "size_bytes": 1 << 31},
                        {"qps": 65536, "depth": 1 << 20}, {"size_bytes": 1 << 31, "qps": 9}):
            self.assert_refused("unsupported", "buffers and queues of .* MiB.*--max-memory|more than the 16 GiB",
                                **{"depth": 128, **changes})
        self.assertLess(self.resident_kib() - before, 2048)
        self.assert_still_served()

    def test_numbers_out_of_range_words_and_unknown_keys_are_refused_by_name(self):
        for changes in ({"size_bytes": 0}, {"size_bytes": (1 << 31) + 1}, {"qps": 0}, {"qps": 65537}, {"depth": -1},
                        {"depth": 1.5}, {"rx_depth": "many"}, {"transport": 3}, {"opcode": 77}, {"pattern": 2**64 - 1},
                        {"peer_port_num": 2**63}, {"peer_device": "../../x"}, {"warmup": None}, {"verify": 2},
                        {"iterations": 0}, {"duration_ns": 1}, {"no_such_key": 1}):
            name = next(iter(changes))
            with self.subTest(changes):
                self.assert_refused("usage", name.replace("_", "[_-]"), **changes)
        self.assert_still_served()

    def test_a_device_port_or_core_that_is_not_there_is_refused(self):
        self.assert_refused("no_device", "mlx9_9", peer_device="mlx9_9")
        self.assertEqual(self.answer(peer_port_num=200)["type"], "failed")
        self.assertEqual(self.answer(peer_gid_index=200)["type"], "failed")
        self.assert_still_served()

    def test_an_end_that_does_not_fit_the_plan_is_refused(self):
        ready = self.answer()
        for endpoint in ({}, {**ready["endpoint"], "qpns": [], "psns": []}, {**ready["endpoint"], "qpns": [1, 2]},
                         {**ready["endpoint"], "mtu_bytes": 17}, {**ready["endpoint"], "gid": "none"}):
            with self.subTest(str(endpoint)[:60]):
                self.client.say({"type": "connect", "endpoint": endpoint, "wait": 1})
                self.assertEqual(self.client.hear()["type"], "failed")
                self.assertEqual(self.answer()["type"], "ready")
        self.client.say({"type": "abandon"})
        self.assertEqual(self.client.hear()["type"], "abandoned")
        self.assert_still_served()

    def test_who_prepares_and_leaves_leaves_nothing(self):
        self.assertEqual(self.answer()["type"], "ready")
        self.client.close()
        self.assert_nothing_left()
        self.assert_serves()


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
            self.assertIn(f"--max-memory does not take '{size}'", done.stderr)


if __name__ == "__main__":
    rdmameter.main()
