#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which device each end takes where the user has named none, and what is said of it."""
import os
import subprocess

import rdmameter

SHORT = ("--iterations", "20", "--warmup", "2")
LINE = "device: "


class Choice(rdmameter.Test):
    def setting(self, name, value):
        """Of the software device, for what this test starts from now on."""
        os.environ[f"RDMAMETER_DEVICE_{name}"] = value
        self.addCleanup(os.environ.pop, f"RDMAMETER_DEVICE_{name}", None)

    def taken(self, *arguments, at=("--loopback",)):
        """(device of the initiator, of the responder, the line about the choice) of a run."""
        done = self.run_program(*at, *arguments, *SHORT)
        [row] = done.rows
        self.assertIn("latency", row, done)
        lines = [line for line in done.stderr.splitlines() if line.startswith(LINE)]
        self.assertLessEqual(len(lines), 1, done)
        return row["case"]["device"], row["case"]["peer_device"], "".join(lines)


@rdmameter.on(rdmameter.SOFTWARE)
class FirstWithoutGid(Choice):
    """Two functions of one adapter, of which the first has no GID."""
    FIRST, SECOND = "rocep1s0f0", "roceP2p1s0f0"

    def setUp(self):
        super().setUp()
        self.setting("NAMES", f"{self.FIRST},{self.SECOND}")
        self.setting("PORTS", "soft0=no-gid")

    def test_the_second_is_taken_at_both_ends_and_one_line_says_so(self):
        over = f"{self.FIRST}/1 (no GID)"
        line = f"device: {self.SECOND}/1 is taken, and {self.SECOND}/1 at the responder; passed over: "
        self.assertEqual(self.taken("write_lat"), (self.SECOND, self.SECOND, f"{line}{over}; at the responder {over}"))
        self.assertEqual(self.taken("write_lat", "--device", self.SECOND), (self.SECOND, self.SECOND, f"{line}at the responder {over}"))
        server = self.serve()
        self.assertEqual(self.taken("send_lat", at=(f"127.0.0.1:{server.port}",))[:2], (self.SECOND, self.SECOND))

    def test_control_path_tests_take_it_too(self):
        done = self.run_program("--loopback", "create_qp", *SHORT)
        self.assertEqual(done.rows[0]["case"]["device"], self.SECOND)
        self.assertIn(f"device: {self.SECOND}/1 is taken; passed over: {self.FIRST}/1 (no GID)\n", done.stderr)

    def test_ranks_take_it_and_rank_0_says_so(self):
        path = self.output()
        started = rdmameter.Started([rdmameter.program, "topo", "ring", "--ranks", "2", "--iterations", "20", "-o", path],
                                    rdmameter.environment(), path)
        self.addCleanup(started.end, 0)
        done = started.end(120)
        self.assertEqual(done.status, rdmameter.PASS, done)
        self.assertEqual(done.stderr.count(f"{self.SECOND}/1 is taken; passed over: {self.FIRST}/1 (no GID)"), 1, done)

    def test_perftest_s_ends_take_it_without_a_word(self):
        port = str(rdmameter.free_port())
        command = [rdmameter.program, "perftest", "ib_write_lat", "-n", "20", "-p", port]
        env = rdmameter.environment() | {"RDMAMETER_SANDBOX": "off"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as server:
            self.assertTrue(rdmameter.wait_until(lambda: "Waiting" in server.stdout.readline()))
            client = subprocess.run([*command, "127.0.0.1"], capture_output=True, text=True, timeout=60, check=False, env=env)
            said = server.communicate(timeout=60)
        self.assertEqual((client.returncode, client.stderr, said[1]), (0, "", ""))
        for out in (client.stdout, said[0]):
            self.assertRegex(out, rf"Device\s*: {self.SECOND}")

    def test_devices_recommends_it(self):
        done = subprocess.run([rdmameter.program, "devices"], capture_output=True, text=True, timeout=60, check=True, env=rdmameter.environment())
        self.assertIn(f"{self.SECOND} is taken unless --device says otherwise", done.stdout)
        self.assertIn("* the GID taken unless --gid-index says otherwise", done.stdout)
        self.setting("PORTS", "soft0=no-gid,soft1=no-gid")
        done = subprocess.run([rdmameter.program, "devices"], capture_output=True, text=True, timeout=60, check=True, env=rdmameter.environment())
        self.assertNotIn("the GID taken", done.stdout)


@rdmameter.on(rdmameter.SOFTWARE)
class Kinds(Choice):
    def test_the_other_end_follows_the_one_that_is_named(self):
        self.play("mlx5-ib,generic")
        self.assertEqual(self.taken("write_lat", "--device", "soft1")[:2], ("soft1", "soft1"))
        self.assertEqual(self.taken("write_lat", "--peer-device", "soft1")[:2], ("soft1", "soft1"))
        self.assertEqual(self.taken("write_lat")[:2], ("soft0", "soft0"))

    def test_a_device_without_the_transport_is_passed_over(self):
        self.play("efa,generic")
        mine, peer, line = self.taken("write_lat")
        self.assertEqual((mine, peer), ("soft1", "soft1"))
        self.assertIn("passed over: soft0/1 (no QPs of rc)", line)
        self.assertEqual(self.taken("send_lat", "--transport", "ud")[:2], ("soft0", "soft0"))

    def test_two_that_are_named_are_told_in_one_sentence_with_the_pair_that_could(self):
        for personalities, kinds in (("iwarp,generic", ("iWARP", "RoCE")), ("mlx5-ib,generic", ("InfiniBand", "RoCE"))):
            self.play(personalities)
            for mine, peer in ((0, 1), (1, 0)):
                with self.subTest(personalities, mine=mine):
                    reason = self.skipped("write_lat", "--device", f"soft{mine}", "--peer-device", f"soft{peer}")
                    self.assertEqual(reason, f"soft{mine}/1 is {kinds[mine]} and soft{peer}/1 of the responder {kinds[peer]}: they cannot be "
                                             f"connected; soft{mine}/1 and soft{mine}/1 of the responder can: use --device soft{mine} "
                                             f"--port-num 1 --peer-device soft{mine} --peer-port-num 1")

    def test_where_no_pair_could_it_says_so(self):
        self.play("iwarp,generic")
        self.setting("PORTS", "soft0=DOWN")
        server = self.serve()
        self.setting("PORTS", "soft1=DOWN")  # of the client alone
        done = self.run_program(f"127.0.0.1:{server.port}", "write_lat", status=rdmameter.USAGE)
        self.assertIn("soft0/1 is iWARP and soft1/1 of the responder RoCE: they cannot be connected; no two ports of the two ends can",
                      done.rows[0]["skip_message"])


@rdmameter.on(rdmameter.SOFTWARE)
class NothingToChoose(Choice):
    def test_nothing_is_said_where_one_device_can_be_used_or_the_others_are_as_good(self):
        self.assertEqual(self.taken("write_lat"), ("soft0", "soft0", ""))
        self.setting("PORTS", "soft0=DOWN")
        self.assertEqual(self.taken("write_lat"), ("soft1", "soft1", ""))


@rdmameter.on(rdmameter.RXE)
class OnRxe(Choice):
    """rxe0 on v0 and rxe1 on v1 are neighbours; rxe8 and rxe9 are each alone on a network of its own."""

    def setUp(self):
        super().setUp()
        for number in (8, 9):
            self.do(f"ip link add d{number} type dummy", undo=f"ip link del d{number}")
            self.do(f"ip addr add 10.1{number}.0.1/24 dev d{number}")
            self.do(f"ip link set d{number} up")
            self.do(f"rdma link add rxe{number} type rxe netdev d{number}", undo=f"rdma link del rxe{number}")

    def do(self, command, undo=None):
        subprocess.run(command.split(), check=True, timeout=60)
        if undo:
            self.addCleanup(subprocess.run, undo.split(), check=False, timeout=60)

    def without_addresses(self, netdev, number, ipv6=True):
        self.do(f"ip -4 addr flush dev {netdev}", undo=f"ip addr add 10.9.0.{number}/24 dev {netdev}")
        if ipv6:
            self.do(f"ip -6 addr flush dev {netdev}", undo=f"ip addr add fd00:9::{number}/64 dev {netdev} nodad")
            self.addCleanup(subprocess.run, f"ip addr add fe80::ff:fe09:{number}/64 dev {netdev} nodad".split(), check=False, timeout=60)

    def test_of_neighbours_the_first_is_taken_without_a_word_about_them(self):
        mine, peer, line = self.taken("write_lat")
        self.assertEqual((mine, peer), ("rxe0", "rxe0"))
        self.assertRegex(line, r"passed over: rxe1/1 \(as good\), rxe8/1 \(another subnet\), rxe9/1 \(another subnet\)")

    def test_one_whose_interface_is_down_is_passed_over(self):
        self.do("ip link set v0 down", undo="ip link set v0 up")
        self.addCleanup(subprocess.run, "ip addr add fd00:9::1/64 dev v0 nodad".split(), check=False, timeout=60)
        self.addCleanup(subprocess.run, "ip addr add fe80::ff:fe09:1/64 dev v0 nodad".split(), check=False, timeout=60)
        self.assertTrue(rdmameter.wait_until(lambda: "rxe0" not in [device["name"] for device, _ in rdmameter.active_ports()]))
        self.assertEqual(self.taken("write_lat")[:2], ("rxe8", "rxe8"))  # the cable of v1 has gone with v0

    def test_one_without_a_gid_of_an_interface_is_passed_over(self):
        self.without_addresses("v0", 1)
        mine, peer, line = self.taken("write_lat")
        self.assertEqual((mine, peer), ("rxe1", "rxe1"))
        self.assertRegex(line, r"passed over: rxe0/1 \((no GID|no GID of an interface here|another subnet)\)")

    def test_the_network_of_the_other_end_decides(self):
        for option in ("--device", "--peer-device"):
            for name in ("rxe8", "rxe9"):
                with self.subTest(option, name=name):
                    self.assertEqual(self.taken("write_lat", option, name)[:2], (name, name))

    def test_ipv6_alone_does(self):
        for number, netdev in ((1, "v0"), (2, "v1")):
            self.without_addresses(netdev, number, ipv6=False)
        for number in (8, 9):
            self.do(f"ip -4 addr flush dev d{number}")
        self.assertEqual(self.taken("write_lat")[:2], ("rxe0", "rxe0"))
        self.assertEqual(self.taken("write_lat", "--peer-device", "rxe1")[:2], ("rxe0", "rxe1"))


if __name__ == "__main__":
    rdmameter.main()
