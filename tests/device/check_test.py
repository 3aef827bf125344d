#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`check`: each fault of a machine has its reason and no other, and just inside its limit it is none."""
import functools
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest.mock

import rdmameter

# Links of 4 Gb/s, which a busy machine can fill, and of which messages of 64 KiB may have 3.92; and a wire that lets 97 %
# of that through.
LINKS = "soft0=rate:4,soft1=rate:4"
FULL = "rate=3.8G"
BETWEEN = ("--device", "soft0", "--peer-device", "soft1")
PEERS = "--peer-device: takes one name for each name of --device, in their order, and no 'all'"
SHORT = ("--time", "4.4")  # three tests of a device, or one of each of three
REASONS = {"slot": r"slot x\d+ Gen", "link": r"the link (of \S+ )?has ", "mtu": "packets carry ", "direction": " sent, .* received",
           "bound": r" that line and slot allow\b(?!, because)", "siblings": "its siblings have", "expected": ", expected ", "failed": " failed: "}


class Check(rdmameter.Test):
    def check(self, *arguments, status, where=("--loopback",), prefix=(), **environment):
        device = {f"RDMAMETER_DEVICE_{name.upper()}": text for name, text in environment.items()}
        path = self.output()
        with unittest.mock.patch.dict(os.environ, device):
            done = rdmameter.Started([*prefix, rdmameter.program, "check", *where, *arguments, "-o", path], rdmameter.environment(), path).end(120)
        self.assertIn(done.status, status if isinstance(status, tuple) else (status,), done)
        return done

    def reasons(self, done):
        """Those of all verdicts, in words of this file."""
        verdicts = done.stdout.split("\n\n")[0]
        return {name for name, words in REASONS.items() if re.search(words, " ".join(verdicts.split()))}

    def assert_well(self, *arguments, **environment):
        done = self.check(*SHORT, *arguments, status=rdmameter.PASS, **environment)
        self.assertEqual(self.reasons(done), set(), done)
        self.assertRegex(done.stdout, r"(?m)^well \(")

    def assert_degraded(self, reason, words, *arguments, **environment):
        done = self.check(*SHORT, *arguments, status=1, **environment)
        self.assertEqual(self.reasons(done), {reason}, done)
        self.assertRegex(" ".join(done.stdout.split()), words)
        self.assertIn("what to do:", done.stdout)
        return done


@rdmameter.on(rdmameter.SOFTWARE)
class Faults(Check):
    def test_a_bandwidth_below_nine_tenths_of_what_line_and_slot_allow(self):
        self.assert_well(*BETWEEN, ports=LINKS, wire=FULL)
        self.assert_well(*BETWEEN, ports=LINKS, wire="rate=3.64G")
        self.assert_degraded("bound", r"write: 3\.\d+ Gb/s is 8\d % of the 3\.92 Gb/s", *BETWEEN, ports=LINKS, wire="rate=3.36G")

    def test_one_slow_direction(self):
        self.assert_well(*BETWEEN, ports=LINKS, wire="rate=3.9G,0-1:rate=3.6G")
        self.assert_degraded("direction", r"both ways: (1\.9|2\.)\d* Gb/s sent, 3\.\d+ Gb/s received", *BETWEEN, ports=LINKS, wire=f"{FULL},0-1:rate=2G")

    def test_a_slot_that_carries_less_than_the_line(self):
        self.assert_well(*BETWEEN, ports=f"{LINKS},soft0=slot:2.5x2", wire=FULL)
        self.assert_degraded("slot", r"slot x1 Gen1 carries 2 Gb/s of the line's 4", *BETWEEN,
                             ports=f"{LINKS},soft0=slot:2.5x1", wire="rate=1.65G")
        self.assert_degraded("slot", r"the peer's soft1: slot x1 Gen1", *BETWEEN, ports=f"{LINKS},soft1=slot:2.5x1", wire="rate=1.65G")

    def test_a_link_at_half_its_rate(self):
        self.assert_degraded("link", "the link has 2 Gb/s, those of its kind 4", *BETWEEN, ports="soft0=rate:2,soft1=rate:4", wire="rate=1.92G")

    def test_a_link_with_half_its_lanes_as_sysfs_has_it(self):
        for rate, check in (("100 Gb/sec (4X EDR)", self.assert_well), ("50 Gb/sec (2X EDR)", functools.partial(
                self.assert_degraded, "link", r"the link of soft0/1 has 2 of 4 lanes"))):
            check(wire="rate=2G", prefix=self.with_sysfs(rate[:3], {"state": "4: ACTIVE", "rate": rate, "link_layer": "InfiniBand"}))

    def test_a_wrong_mtu(self):
        self.assert_degraded("mtu", "the peer's soft1: packets carry 1024 B, those of its kind 4096", *BETWEEN,
                             ports=f"{LINKS},soft1=mtu:1024", wire="rate=3.6G")

    def test_lost_packets_are_a_warning(self):
        prefix = self.with_sysfs("lossy", {"state": "4: ACTIVE", "hw_counters/local_ack_timeout_err": "000000000"})
        over = threading.Event()

        def count():
            with open(f"{self.scratch}/lossy/class/infiniband/soft0/ports/1/hw_counters/local_ack_timeout_err", "r+b", buffering=0) as file:
                events = 0
                while not over.wait(0.02):
                    os.pwrite(file.fileno(), b"%09d" % (events := events + 1), 0)
        counting = threading.Thread(target=count)
        counting.start()
        try:
            done = self.check(*SHORT, *BETWEEN, status=rdmameter.PASS, prefix=prefix, ports=LINKS, wire=f"{FULL},loss=0.0002")
        finally:
            over.set()
            counting.join()
        self.assertEqual(self.reasons(done), set(), done)
        self.assertRegex(" ".join(done.stdout.split()), r"warning: soft0: \d+ of \S+ packets were lost or late, .*: local_ack_timeout_err ")
        self.assert_well(*BETWEEN, ports=LINKS, wire=FULL, prefix=prefix)

    def test_a_slow_sibling(self):
        self.play("mlx5-ib")  # an adapter's addresses are not those of lo, as generic's are
        both = "0-0:rate=3.8G,1-1:rate="
        self.assert_well("--device", "all", wire=both + "3.6G")
        done = self.assert_degraded("siblings", r"write: (1\.9|2\.)\d* Gb/s, its siblings have 3\.\d+ Gb/s", "--device", "all", wire=both + "2G")
        self.assertRegex(done.stdout, r"(?m)^soft0 +well$")
        self.assertRegex(done.stdout, r"(?m)^all devices +well$")
        self.assertRegex(" ".join(done.stdout.split()), r"write together: [\d.]+ Gb/s, \d+ % of what the devices write one after the other: soft0 3\.\d+ Gb/s, soft1 ")
        self.assertRegex(done.stdout, r"(?m)^soft1 +degraded: ")
        self.assertIn("not judged: soft0, soft1 by what line and slot allow, because messages pass no link", " ".join(done.stdout.split()))

    def test_a_test_that_fails_is_broken(self):
        done = self.check(*SHORT, *BETWEEN, status=1, faults="modify_qp@1+=EIO", ports=LINKS)
        self.assertEqual(self.reasons(done), {"failed"}, done)
        self.assertRegex(done.stdout, r"(?m)^soft0 - soft1 +broken: ")

    def test_what_a_second_measurement_has_not_is_no_finding(self):
        done = self.check(*SHORT, *BETWEEN, status=rdmameter.PASS, faults="modify_qp@1=EIO", ports=LINKS, wire=FULL)
        self.assertEqual([row["case"]["test"] for row in done.rows if row.get("error_occurred")], ["write_bw"])
        self.assertEqual(len(done.rows), 4, "three tests, and one of them again")

    def test_numbers_of_an_earlier_check_are_expected(self):
        wire = "0-0:rate={}"
        before = self.check(*SHORT, status=rdmameter.PASS, wire=wire.format("3.6G"))
        same = self.check(*SHORT, "--expect", before.path, status=rdmameter.PASS, wire=wire.format("3.55G"))
        self.assertEqual(self.reasons(same), set())
        self.assertIn(f"expected: 3 of 3 cases are in {before.path}", " ".join(same.stdout.split()))
        fewer = self.output()
        with open(before.path, encoding="utf-8") as file:
            result = json.load(file)
        result["benchmarks"] = result["benchmarks"][1:]
        with open(fewer, "w", encoding="utf-8") as file:
            json.dump(result, file)
        for brief in ((), ("--brief",)):
            part = self.check(*SHORT, "--expect", fewer, *brief, status=rdmameter.PASS, wire=wire.format("3.55G"))
            self.assertEqual(f"expected: 2 of 3 cases are in {fewer}" in " ".join(part.stdout.split()), not brief, part)
            self.assertNotIn(fewer if brief else "nothing of", part.stdout)
            other = self.check(*SHORT, "--expect", before.path, "--device", "soft1", *brief, status=rdmameter.PASS, wire="rate=2G")
            self.assertIn(f"nothing of {before.path} is about this machine's devices: it has cases of soft0 - soft0, and this check of soft1 - soft1",
                          " ".join(other.stdout.split()))
            self.assertEqual(other.stdout.count("\n") == 1, bool(brief))
        self.assert_degraded("expected", r"write: 2\.\d+ Gb/s, expected 3\.\d+ Gb/s", "--expect", before.path, wire=wire.format("2.8G"))

    def test_virtual_functions_and_rates_that_are_not_known_are_not_judged_by_them(self):
        for personality, why in (("mlx5-ib-vf", "the device is a virtual function, which shares its link"), ("mana", "the rate of the link is not known")):
            self.play(personality)
            done = self.check(*SHORT, *BETWEEN, status=rdmameter.PASS, wire="rate=2G")
            self.assertIn(f"not judged: soft0 by what line and slot allow, because {why}", " ".join(done.stdout.split()))

    def test_without_a_gpu_it_says_so(self):
        done = self.check(*SHORT, "--device", "soft0", "--gpu", status=rdmameter.PASS)
        self.assertIn("no GPU: none of NVIDIA's is behind the switch or host bridge of soft0", " ".join(done.stdout.split()))

    def test_from_a_gpu_that_is_near_it_writes(self):
        prefix = self.with_sysfs("gpu", {"state": "4: ACTIVE"})
        switch = "devices/pci0000:15/0000:15:01.0/0000:16:00.0/"
        for name, link in (("0000:17:00.0", "bus/pci/devices/0000:17:00.0"), ("0000:19:00.0", "class/infiniband/soft0/device")):
            os.makedirs(f"{self.scratch}/gpu/{switch}{name}")
            os.makedirs(os.path.dirname(f"{self.scratch}/gpu/{link}"), exist_ok=True)
            os.symlink(f"/sys/{switch}{name}", f"{self.scratch}/gpu/{link}")
        for name, text in (("class", "0x030200"), ("vendor", "0x10de")):
            with open(f"{self.scratch}/gpu/{switch}0000:17:00.0/{name}", "w", encoding="ascii") as file:
                file.write(text + "\n")
        with unittest.mock.patch.dict(os.environ, LD_LIBRARY_PATH=rdmameter.gpu_libraries()):
            done = self.check("--time", "9", "--device", "soft0", "--gpu", status=rdmameter.PASS, prefix=prefix, wire="rate=2G")
        self.assertNotIn("no GPU", done.stdout)
        [row] = [row for row in done.rows if row["case"]["memory"] != "host"]
        self.assertEqual((row["case"]["memory"], row["gpu_pcie_path"]), ("cuda:0000:17:00.0", "switch"), row)


class Use(Check):
    @rdmameter.on(rdmameter.SOFTWARE)
    def test_devices_in_software_have_no_siblings(self):
        done = self.check(*SHORT, "--device", "all", status=rdmameter.PASS, wire="0-0:rate=3.8G,1-1:rate=2G")
        self.assertIn("not judged: soft0, soft1 by siblings, because a device in software is as fast as the CPU", " ".join(done.stdout.split()))

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_in_a_prologue_it_is_one_line_within_ten_seconds(self):
        done = self.check("--brief", "--device", "all", status=rdmameter.PASS, wire="rate=2G")
        self.assertRegex(done.stdout, r"^well \(2 devices, \d+ s\)\n$")
        self.assertLess(done.seconds, 10)
        done = self.check("--brief", *BETWEEN, status=1, ports=f"{LINKS},soft0=slot:2.5x1", wire="rate=1.65G")
        self.assertRegex(done.stdout, r"^degraded: soft0: slot x1 Gen1 carries 2 Gb/s of the line's 4 \(1 device, \d+ s\)\n$")
        done = self.check("--brief", *SHORT, "--device", "all", status=rdmameter.PASS, wire="rate=2G", devices="5")
        self.assertRegex(done.stdout, r"^well \(3 devices, \d+ s\); not measured: soft3 \(no time\), soft4 \(no time\)\n$")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_port_that_is_DOWN_is_named_and_is_a_fault_where_it_is_known_to_be_used(self):
        every = (*SHORT, "--device", "all")
        for brief in ((), ("--brief",)):
            done = self.check(*every, *brief, status=rdmameter.PASS, ports="soft1=DOWN,soft2=no-gid,soft3=no-open", devices="4")
            self.assertRegex(done.stdout, r"(?m)^well \(1 device, \d+ s\); not measured: soft1/1 \(DOWN\), soft2/1 \(no GID\), soft3 \(cannot be opened\)$")
            self.assertEqual(re.findall(r"(?m)^\S+ +not measured: .*$", done.stdout),
                             [] if brief else ["soft1/1  not measured: DOWN", "soft2/1  not measured: no GID", "soft3    not measured: cannot be opened"])
        before = self.check(*every, status=rdmameter.PASS, wire="rate=2G")
        for words, name in (((*SHORT, "--device", "soft0,soft1"), "soft1"), ((*every, "--expect", before.path), "soft1"),
                            ((*SHORT, "--device", "soft0", "--expect", before.path), "soft0")):
            done = self.check(*words, "--brief", status=1, ports=f"{name}=DOWN", wire="rate=2G")
            self.assertRegex(done.stdout, rf"^broken: {name}: write failed: .*not an ACTIVE port of {name} \(ports: 1 DOWN\)")
            self.assertNotIn("not measured: soft", done.stdout)
        with open(before.path, encoding="utf-8") as file:
            result = json.load(file)
        result["benchmarks"][0]["case"] |= {"test": "tcp_lat", "device": ""}
        result["benchmarks"][1]["case"]["device"] = "null"
        with open(before.path, "w", encoding="utf-8") as file:
            json.dump(result, file)
        self.assertRegex(self.check(*every, "--brief", "--expect", before.path, status=rdmameter.PASS, wire="rate=2G").stdout, r"^well \(2 devices, ")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_what_hangs_ends_in_time(self):
        server = self.serve()
        server.signal_all(signal.SIGSTOP)
        for words, where, said, most in ((("--brief", "--time", "3"), f"127.0.0.1:{server.port}", "after 3 s, while examining the peer: ", 5),
                                         (("--brief", "--time", "3"), "--loopback", "after 3 s, while measuring soft0: ", 6),
                                         (("--time", "2.1"), "--loopback", "after 6.3 s, while measuring soft0: ", 9)):
            done = self.check("--device", "soft0", *words, status=rdmameter.FAILED, where=(where,), faults="modify_qp@1=hang")
            self.assertIn("rdmameter: there is no verdict " + said, done.stderr)
            self.assertLess(done.seconds, most)
        done = self.check("--brief", *SHORT, status=rdmameter.FAILED, faults="modify_qp@49=hang", wire="rate=2G")  # after 8 QPs at two ends
        self.assertEqual([row["case"]["test"] for row in done.rows], ["write_bw"])
        with unittest.mock.patch.dict(os.environ, RDMAMETER_DEVICE_FAULTS="modify_qp@1=hang"):
            started = rdmameter.Started([rdmameter.program, "check", "--loopback", "--brief", "--time", "3"], rdmameter.environment())
        time.sleep(1.5)
        started.process.terminate()
        self.assertEqual(started.end(10).status, rdmameter.INTERRUPTED)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_what_was_found_when_the_time_ends_is_the_verdict(self):
        done = self.check("--brief", *SHORT, "--device", "soft0,soft1", status=1, wire="loss=1", costs="create_qp=100ms")
        self.assertRegex(done.stdout, r"^broken: soft0: write failed: ")
        self.assertIn(len(done.rows), (1, 2, 3), "both would have failed twice")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_verdict_in_time_stands_while_ssh_ends_late(self):
        ssh = self.output()
        with open(ssh, "w", encoding="ascii") as file:
            file.write("trap '' TERM; while [ \"$1\" != -- ]; do shift; done; shift 2; sh -c \"$* --sandbox off --bind 127.0.0.1\"; sleep 5")
        done = self.check("--brief", "--time", "4", where=("ssh://127.0.0.1", "--ssh-command", f"sh {ssh}", "--remote-program", rdmameter.program),
                          status=rdmameter.PASS, wire="rate=2G")
        self.assertGreater(done.seconds, 5)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_devices_are_measured_together_if_each_has_a_peer_of_its_own(self):
        up, down = ({"state": state, "link_layer": "Ethernet"} for state in ("4: ACTIVE", "1: DOWN"))
        with unittest.mock.patch.dict(os.environ, RDMAMETER_DEVICE_PORTS=f"{LINKS},soft0=DOWN", RDMAMETER_DEVICE_WIRE=FULL):
            server = self.serve(prefix=self.with_sysfs("down", down))
        beside = ("nsenter", f"--user=/proc/{server.pid}/ns/user", *(word for word in self.with_sysfs("up", up) if word != "--map-root-user"))
        for words in (("--device", "all"), ("--device", "soft0,soft1", "--peer-device", "soft1,soft1")):
            done = self.check("--time", "7", *words, where=(f"127.0.0.1:{server.port}",), prefix=beside, status=rdmameter.PASS, ports=LINKS, wire=FULL)
            self.assertIn("left out: write together, because a device has no peer of its own", " ".join(done.stdout.split()))
            self.assertEqual("; not measured: the peer's soft0 (no ACTIVE port of that kind)" in done.stdout, "all" in words)


    @rdmameter.on(rdmameter.SOFTWARE)
    def test_the_prologue_of_slurm_drains_a_node_that_is_degraded_and_no_other(self):
        here = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(here, "../../docs/examples/slurm-prolog"), encoding="utf-8") as file:
            prologue = file.read().replace("/usr/bin/rdmameter", rdmameter.program).replace("--loopback --device all", " ".join(("--loopback", *BETWEEN)))
        for rate, status, said in (("3.8G", 0, "-t rdmameter -- well "), ("3G", 1, "-t rdmameter -- degraded: soft0: write: ")):
            more = {"RDMAMETER_DEVICE_PORTS": LINKS, "RDMAMETER_DEVICE_WIRE": f"rate={rate}"}
            done = subprocess.run(["bash", "-c", "logger() { echo \"$@\"; }\n" + prologue], check=False, capture_output=True, text=True, env=rdmameter.environment() | more)
            self.assertEqual(done.returncode, status, done)
            self.assertTrue(done.stdout.startswith(said), done.stdout)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_nhc_s_line_and_the_job_of_kubernetes_are_commands(self):
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")
        with open(f"{docs}/ci.md", encoding="utf-8") as page, open(f"{docs}/examples/kubernetes-check.yml", encoding="utf-8") as job:
            nhc = re.search(r"(?m)^\* \|\| check_cmd_status -t 15 -r 0 /usr/bin/rdmameter check (.*)$", page.read())[1].split()
            kubernetes = re.search(r"(?m)^ +args: \[check, (.*)\]$", job.read())[1].split(", ")
        for words in nhc, kubernetes:
            for faults, status in (("", rdmameter.PASS), ("modify_qp@1+=EIO", 1)):
                self.check(*words, *SHORT, where=(), status=status, faults=faults, wire="rate=2G")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_the_result_is_one_that_all_commands_read(self):
        done = self.check(*SHORT, *BETWEEN, status=rdmameter.PASS, ports=LINKS, wire=FULL)
        self.assert_valid(done.path)
        self.assertEqual([row["name"].split("/")[0] for row in done.rows], ["write_bw", "write_bw", "read_bw"])
        for words in (("show", done.path), ("export", done.path, "--format", "bmf"), ("report", done.path, "-o", self.output()),
                      ("history", "add", done.path, "--into", self.output())):
            subprocess.run([rdmameter.program, *words], check=True, capture_output=True)
        # Of both directions it is the share of twice the bound of one.
        for gate, verdict in (("read_bw/* of_bound >= 80%", "pass"), ("read_bw/* of_line >= 80%", "pass"), ("read_bw/* of_line <= 10%", "fail"),
                              ("*/bidirectional:on/* of_bound >= 80%", "pass"),
                              ("*/bidirectional:on/* of_bound <= 105%", "pass"), ("*/bidirectional:on/* of_bound <= 10%", "fail")):
            gates = subprocess.run([rdmameter.program, "compare", done.path, done.path, "--gate", gate], check=False, capture_output=True, text=True)
            self.assertRegex(gates.stdout, rf"(?m)^gates\n  {verdict} ", gate)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_server_is_examined_and_measured_with(self):
        server = self.serve()
        done = self.check(*SHORT, status=rdmameter.PASS, where=(f"127.0.0.1:{server.port}",))
        self.assertRegex(done.stdout, r"(?m)^soft0 +well$")
        server.await_log("examines this machine")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_what_cannot_be_measured_has_its_status(self):
        for words, said in ((("--peer-device", "soft1"), PEERS), (("--device", "all", "--peer-device", "soft1"), PEERS),
                            (("--device", "soft0", "--peer-device", "all"), PEERS), (("--time", "1"), "invalid value '1' for --time: expected a time from "),
                            (("--expect", "none.json"), "none.json"), (("--gpu",), "say near which devices"),
                            (("--device", "soft0,soft0"), "--device 'soft0,soft0': names a device twice")):
            done = self.check(*words, status=rdmameter.USAGE)
            self.assertIn(said, " ".join(done.stderr.split()), words)
        for where, said in (((), "say where the other end is"), (("--loopback", "127.0.0.1"), "--loopback: with it there is no HOST"),
                            (("127.0.0.1", "127.0.0.2"), "name one HOST")):
            done = self.check(status=rdmameter.USAGE, where=where)
            self.assertIn(said, " ".join(done.stderr.split()), where)
        done = self.check(status=rdmameter.FAILED, where=("127.0.0.1:1",))
        self.assertIn("127.0.0.1:1", done.stderr)
        self.check("--device", "soft0", status=rdmameter.FAILED, ports="soft0=DOWN")

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_device_without_RC_is_not_measured(self):
        self.play("efa")
        done = self.check(*SHORT, status=rdmameter.FAILED)
        self.assertRegex(done.stdout, r"(?m)^soft0 +not measured$")
        self.assertRegex(done.stdout, r"(?m)^not measured \(1 device, ")

    @rdmameter.everyday
    @rdmameter.on(rdmameter.RXE, rdmameter.SIW)
    def test_a_device_in_software_is_measured_and_not_judged_by_its_link(self):
        done = self.check("--time", "10", status=rdmameter.PASS)
        for words in ("by what line and slot allow, because messages pass no link", "by siblings, because a device in software"):
            self.assertIn(words, " ".join(done.stdout.split()))
        self.assertRegex(done.stdout, r"(?m)^well \(1 device, ")


if __name__ == "__main__":
    rdmameter.main()
