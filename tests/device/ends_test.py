#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which server, which device, which GID, on either end; and what becomes of those that do not exist."""
import os
import shutil
import subprocess
import time
import unittest

import rdmameter


@rdmameter.spared_in_vm
class Servers(rdmameter.Test):
    def test_a_server_is_reached_over_ipv4_ipv6_and_by_name(self):
        for bind, addresses in (("127.0.0.1", ("127.0.0.1:{}", "localhost:{}")), ("::1", ("[::1]:{}",))):
            server = self.serve("--bind", bind)
            for address in addresses:
                with self.subTest(address):
                    done = self.run_program(address.format(server.port), "send_lat", "--iterations", "20")
                    self.assertEqual(len(done.rows), 1)
            done = self.run_program(bind, "send_lat", "--port", server.port, "--iterations", "20")
            self.assertEqual(done.rows[0]["path"], "same_device")

    def test_the_command_that_a_server_prints_works(self):
        server = self.serve("--bind", "127.0.0.1")
        words = server.client_command.split()
        self.assertEqual(words[:2], ["rdmameter", "run"])
        self.run_program(*words[2:], "--iterations", "20")

    def test_where_nobody_listens_it_waits_and_says_what_to_start(self):
        port = rdmameter.free_port()
        done = self.run_program(f"localhost:{port}", "write_lat", status=rdmameter.FAILED)
        self.assertRegex(done.stderr, f"no server is listening on localhost:{port} .*start `rdmameter serve --bind localhost "
                                      f"--port {port}`")
        self.assertGreater(done.seconds, 2)
        self.assertIn("no server is listening", done.rows[0]["error_message"])

    def test_a_server_that_comes_late_is_found(self):
        port = str(rdmameter.free_port())
        run = self.start(f"localhost:{port}", "write_lat", "--iterations", "20")
        time.sleep(1)  # nothing to wait for: nobody is there
        self.assertIsNone(run.process.poll())
        self.serve("--port", port)
        done = run.end(60)
        self.assertEqual(done.status, rdmameter.PASS, done)

    def test_a_name_that_does_not_exist_is_wrong_use(self):
        done = self.run_program("no-such-host.invalid", "write_lat", status=rdmameter.USAGE)
        self.assertIn("cannot look up `no-such-host.invalid`", done.stderr)

    def test_an_address_is_written_in_the_same_way_for_each_command(self):
        for bind in ("[::1]", "::1"):
            server = self.serve("--bind", bind)
            self.assertIn(f"listening on [::1]:{server.port};", server.log)
        port = rdmameter.free_port()
        server = self.serve("--bind", f"[::1]:{port}", "--port", str(port))
        self.assertEqual(int(server.port), port)
        for words in (("run", "fe80::ff:fe09:1", "tcp_lat"), ("serve", "--bind", "fe80::ff:fe09:1"),
                      ("serve", "--bind", "[fe80::ff:fe09:1]"), ("doctor", "fe80::ff:fe09:1"),
                      ("perftest", "ib_send_lat", "fe80::ff:fe09:1")):
            self.refused("a link-local address needs its interface, as in fe80::ff:fe09:1%eth0", *words)
        for words in (("run", "fd00:9::1:18620", "tcp_lat"), ("serve", "--bind", "fd00:9::1:18620")):
            self.refused("an IPv6 address with a port stands in brackets, [fd00:9::1]:18620", *words)
        self.refused("name two ports: give one", "serve", "--bind", "127.0.0.1:5555", "--port", "5556")

    def refused(self, text, *words):
        done = subprocess.run([rdmameter.program, *words], capture_output=True, text=True, timeout=60, check=False,
                              env=rdmameter.environment())
        self.assertEqual(done.returncode, 1 if words[0] == "perftest" else rdmameter.USAGE, done)
        self.assertIn(text, " ".join(done.stderr.split()))

    def test_ports_out_of_range_or_taken_are_refused_by_name(self):
        for port in ("0", "65536", "http"):
            done = self.run_program("localhost", "write_lat", "--port", port, status=rdmameter.USAGE)
            self.assertRegex(done.stderr, f"'{port}' for --port")
        server = self.serve()
        second = rdmameter.Started([rdmameter.program, "serve", "--port", server.port], rdmameter.environment()).end(30)
        self.assertEqual(second.status, rdmameter.USAGE)
        self.assertRegex(second.stderr, "the port is in use.*--port")

    def test_an_address_of_another_machine_cannot_be_bound(self):
        done = rdmameter.Started([rdmameter.program, "serve", "--bind", "192.0.2.1"], rdmameter.environment()).end(30)
        self.assertEqual(done.status, rdmameter.USAGE)
        self.assertIn("--bind 192.0.2.1", done.stderr)


@rdmameter.on(rdmameter.SOFTWARE)
class Unusable(rdmameter.Test):
    """A device that cannot be used has one status, whatever asks for it (docs/running.md, "Exit status")."""
    FAILED, USAGE = rdmameter.FAILED, rdmameter.USAGE
    CASES = (  # settings of the software device; options of run and topo; those of perftest; status
        ("", ("--device", "nosuch"), ("-d", "nosuch"), FAILED),
        ("", ("--device", "soft0,nosuch"), None, FAILED),
        ("soft1=DOWN", ("--device", "soft1"), ("-d", "soft1"), FAILED),
        ("soft1=DOWN", ("--device", "soft0,soft1"), None, FAILED),
        ("soft0=DOWN,soft1=DOWN", (), (), FAILED),
        ("soft0=DOWN", ("--device", "soft0", "--port-num", "1"), ("-d", "soft0", "-i", "1"), FAILED),
        ("soft0=no-gid,soft1=no-gid", ("--device", "soft0"), ("-d", "soft0"), FAILED),
        ("soft0=no-gid,soft1=no-gid", (), (), FAILED),
        ("soft0=no-open", ("--device", "soft0"), ("-d", "soft0"), FAILED),
        ("soft0=no-open,soft1=no-open", (), (), FAILED),
        ("", ("--port-num", "2"), ("-i", "2"), USAGE),
        ("", ("--port-num", "1,2"), None, USAGE),
        ("", ("--gid-index", "77"), ("-x", "77"), USAGE),
    )
    RUN, TOPO = ("run", "--loopback", "write_lat"), ("topo", "ring", "--ranks", "2")

    def ended(self, words, env):
        done = subprocess.run([rdmameter.program, *words], capture_output=True, text=True, timeout=120, check=False, env=env)
        return done.returncode, done.stderr

    def test_has_one_status_in_run_topo_and_perftest(self):
        for ports, options, of_perftest, status in self.CASES:
            env = rdmameter.environment() | {"RDMAMETER_DEVICE_PORTS": ports, "RDMAMETER_DEVICE_SESSION": f"ports-{os.getpid()}-{ports}"}
            for words in (self.RUN, self.TOPO):
                with self.subTest(words[0], ports=ports, options=options):
                    ended, said = self.ended((*words, *options, "--iterations", "20"), env)
                    self.assertEqual(ended, status, said)
            if of_perftest is not None:
                with self.subTest("perftest", ports=ports, options=of_perftest):
                    ended, said = self.ended(("perftest", "ib_write_bw", *of_perftest), env)
                    self.assertEqual(ended, 1, said)

    def test_no_device_at_all_is_77_and_perftest_s_1(self):
        if rdmameter.LINKED or os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
            self.skipTest("there is a device")
        env = {name: value for name, value in rdmameter.environment().items() if name != "LD_PRELOAD"}
        for words, status in ((self.RUN, rdmameter.NO_DEVICE), (self.TOPO, rdmameter.NO_DEVICE), (("perftest", "ib_write_bw"), 1)):
            with self.subTest(words[0]):
                ended, said = self.ended(words, env)
                self.assertEqual(ended, status, said)

    def test_one_that_only_the_kernel_has_is_a_failure_that_names_it(self):
        if rdmameter.LINKED:
            self.skipTest("the program has a device within it")
        in_container = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                        'mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/mlx5_7 && exec "$@"', "sh")
        if subprocess.run([*in_container, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("it needs name spaces of users and mounts")
        env = {name: value for name, value in rdmameter.environment().items() if name != "LD_PRELOAD"}
        for words, status in ((self.RUN, self.FAILED), (self.TOPO, self.FAILED), (("perftest", "ib_write_bw"), 1)):
            with self.subTest(words[0]):
                done = subprocess.run([*in_container, rdmameter.program, *words], capture_output=True, text=True, timeout=120, check=False, env=env)
                self.assertEqual(done.returncode, status, done)
                if words[0] != "perftest":
                    self.assertIn("The kernel has mlx5_7 (/sys/class/infiniband), but libibverbs finds no device", done.stderr)


class Loopback(rdmameter.Test):
    """In a network namespace of its own, in which lo is down."""
    SHORT = ("tcp_lat", "--iterations", "100")

    def setUp(self):
        super().setUp()
        self.prefix = ("unshare", "--user", "--map-root-user", "--net")
        if not shutil.which("ip") or subprocess.run([*self.prefix, "ip", "link"], capture_output=True, check=False).returncode != 0:
            raise unittest.SkipTest("it needs ip, and name spaces of users and networks")

    def with_lo(self, *commands):
        return (*self.prefix, "sh", "-c", " && ".join((*commands, 'exec "$@"')), "sh")

    def test_is_ipv6_s_where_127_0_0_1_is_not(self):
        prefix = self.with_lo("ip link set lo up", "ip address del 127.0.0.1/8 dev lo", "ip address show lo | grep -q ::1")
        if subprocess.run([*prefix, "true"], check=False).returncode != 0:
            self.skipTest("this machine has no IPv6")
        tests = ("tcp_lat", "write_lat") if rdmameter.KIND == rdmameter.SOFTWARE else ("tcp_lat",)
        done = self.run_program("--loopback", *tests, "--iterations", "100", prefix=prefix)
        for row in done.rows:
            self.assertIn("latency", row)
        both = [*prefix, "sh", "-c", '"$0" serve --sandbox off & until "$0" run localhost tcp_lat --iterations 20; do '
                                     'kill -0 $! || exit 1; done; kill $!', rdmameter.program]
        done = subprocess.run(both, capture_output=True, text=True, timeout=120, check=False, env=rdmameter.environment())
        self.assertEqual(done.returncode, 0, done)

    def test_that_is_down_is_named_with_the_remedy(self):
        done = self.run_program("--loopback", *self.SHORT, prefix=self.prefix, status=rdmameter.FAILED)
        self.assertIn("lo is down: ip link set lo up", done.stderr)
        self.assertIn("lo is down: ip link set lo up", done.rows[0]["error_message"])
        done = self.run_program("127.0.0.1", *self.SHORT, prefix=self.prefix, status=rdmameter.FAILED)
        self.assertIn("cannot connect to 127.0.0.1:18620: lo is down: ip link set lo up", done.stderr)
        done = subprocess.run([*self.prefix, rdmameter.program, "serve"], capture_output=True, text=True, timeout=60, check=False,
                              env=rdmameter.environment())
        self.assertEqual(done.returncode, rdmameter.FAILED, done)
        self.assertIn("cannot listen on localhost:18620: lo is down: ip link set lo up", done.stderr)

    def test_without_any_address_is_named_with_the_remedy(self):
        prefix = self.with_lo("ip link set lo up", "ip address flush dev lo")
        done = self.run_program("--loopback", *self.SHORT, prefix=prefix, status=rdmameter.FAILED)
        self.assertIn("lo has neither 127.0.0.1 nor ::1: ip address add 127.0.0.1/8 dev lo", done.stderr)


class Devices(rdmameter.Test):
    def setUp(self):
        super().setUp()
        ports = rdmameter.active_ports()
        self.device, self.port = ports[0]
        self.names = [device["name"] for device, _ in ports]

    @rdmameter.spared_in_vm
    def test_one_that_is_not_there_is_a_failed_measurement_at_either_end(self):
        for option in ("--device", "--peer-device"):
            done = self.run_program("--loopback", "write_lat", option, "mlx9_9", status=rdmameter.FAILED)
            self.assertRegex(done.stderr, rf"no verbs device mlx9_9 .*there is .*{self.device['name']}")

    @rdmameter.spared_in_vm
    def test_a_port_that_is_not_there_is_refused(self):
        for option in ("--port-num", "--peer-port-num"):
            done = self.start("--loopback", "write_lat", option, "77").end(60)
            self.assertIn(done.status, (rdmameter.USAGE, rdmameter.NO_DEVICE), done)
            self.assertIn(f"{option} 77", done.stderr)

    @rdmameter.spared_in_vm
    def test_a_gid_index_that_is_not_there_is_refused_with_those_that_are(self):
        there = ", ".join(str(gid["index"]) for gid in self.port["gids"][:1])
        for option in ("--gid-index", "--peer-gid-index"):
            done = self.run_program("--loopback", "write_lat", option, "254", status=rdmameter.USAGE)
            self.assertRegex(done.stderr, rf"(?<!peer){option} 254: .*no such GID; it has {there}")

    def test_every_gid_of_a_kind_works_with_itself(self):
        for gid in self.port["gids"][:3]:
            index = str(gid["index"])
            [row] = self.measure("send_lat", "--device", self.device["name"], "--peer-device", self.device["name"],
                                 "--gid-index", index, "--peer-gid-index", index, "--iterations", "20", "--verify")
            self.assertEqual((row["case"]["gid_index"], row["case"]["peer_gid_index"]), (gid["index"],) * 2)

    def test_gids_that_do_not_match_are_skipped_with_both_options(self):
        by_family = {gid["gid"].startswith("::ffff:"): gid["index"] for gid in self.port["gids"]
                     if gid["type"] == "roce_v2"}
        if len(by_family) < 2:
            self.skipTest("it needs RoCE v2 GIDs of two address families")
        reason = self.skipped("send_lat", "--device", self.device["name"], "--gid-index", str(by_family[True]),
                              "--peer-device", self.device["name"], "--peer-gid-index", str(by_family[False]))
        self.assertIn("choose --gid-index on either end", reason)

    @rdmameter.spared_in_vm
    def test_a_message_larger_than_the_port_takes_is_skipped_with_its_limit(self):
        most = self.port["max_message_bytes"]
        if most >= 1 << 31:
            self.skipTest("it takes whatever --size can ask for")
        reason = self.skipped("write_lat", "--size", str(most + 1), "--device", self.device["name"])
        self.assertRegex(reason, f"message size in bytes .*takes {most}; use a smaller --size")

    @rdmameter.spared_in_vm
    def test_a_ud_message_longer_than_a_packet_is_skipped_and_the_rest_measured(self):
        done = self.run_program("--loopback", "send_lat", "--transport", "ud", "--size", "8K,64", "--iterations", "20")
        self.assertRegex(done.rows[0]["skip_message"], "a UD message is one packet: 8192 bytes .*--transport rc")
        self.assertTrue(done.rows[0]["name"].endswith("/skipped"))
        self.assertIn("latency", done.rows[1])

    def test_the_path_between_two_devices_is_told_from_that_within_one(self):
        if len(self.names) < 2:
            self.skipTest("it needs two devices")
        for peer, path in ((self.names[0], "same_device"), (self.names[1], "netdev")):
            rows = self.measure("send_lat", "write_lat", "--transport", "rc,uc", "--device", self.names[0],
                                "--peer-device", peer, "--iterations", "50", "--verify")
            for row in rows:
                self.assertEqual((row["path"], row["case"]["device"], row["case"]["peer_device"]),
                                 (path, self.names[0], peer))


class Together(rdmameter.Test):
    def test_all_tests_and_transports_run_between_two_devices(self):
        names = [device["name"] for device, _ in rdmameter.active_ports()]
        if len(names) < 2:
            self.skipTest("it needs two devices")
        done = self.run_program("--loopback", "*_lat", "*_bw", "--transport", "rc,uc,ud", "--size", "64,4K,64K",
                                "--iterations", "50", "--warmup", "10", "--device", names[0], "--peer-device", names[1], "--verify")
        for row in done.rows:
            self.assertNotIn("error_message", row)
        # Tests times sizes: RC with four atomics that every device here has, UC without what brings data back, UD's sends up to the MTU, TCP, multicast up to it.
        self.assertEqual(sum("skip_message" not in row and not row["case"]["test"].startswith(("atomic_write", "flush")) for row in done.rows), 12 * 3 + 4 + 10 * 3 + 5 * 2 + 2 * 3 + 2 * 2)


if __name__ == "__main__":
    rdmameter.main()
