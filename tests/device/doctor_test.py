#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What spoils a measurement, said of both ends before one."""
import json
import os

import rdmameter


class Doctor(rdmameter.Test):
    def doctor(self, *arguments, token=None, prefix=()):
        return rdmameter.Started([*prefix, rdmameter.program, "doctor", *arguments], rdmameter.environment(token)).end(120)

    def with_a_port(self, state, rate):
        """A prefix under which this machine has one InfiniBand port, of a device that opens, and may lock memory."""
        return self.with_sysfs(state, {"state": state, "rate": rate, "link_layer": "InfiniBand"})

    def problems_of(self, said):
        ends = [said["findings"], said["peer"]["findings"], said["between"]]
        return [finding for findings in ends for finding in findings if finding["weight"] == "problem"]

    def test_a_server_examines_its_machine_from_within_its_sandbox(self):
        server = self.serve("--sandbox", "on")
        done = self.doctor(f"127.0.0.1:{server.port}", "--json")
        said = json.loads(done.stdout)
        # One machine: what the kernel shows to this end, it shows to the session.
        for key in ("unknown", "ports", "versions", "thresholds"):
            self.assertEqual(said["peer"][key], said[key], done)
        self.assertEqual(said["between"], [])
        self.assertEqual(done.status, 1 if self.problems_of(said) else rdmameter.PASS, done)
        server.await_log("examines this machine")
        self.assertTrue(rdmameter.wait_until(lambda: not server.sessions()), server.log)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_device_that_libibverbs_does_not_find_or_that_does_not_open_is_a_problem(self):
        os.environ["RDMAMETER_DEVICE_PORTS"] = "soft0=no-open,soft1=no-open"
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_PORTS", None)
        prefix = self.with_a_port("4: ACTIVE", "100 Gb/sec (4X EDR)")
        os.mkdir(os.path.join(self.scratch, "4: ACTIVE", "class", "infiniband", "mlx5_7"))
        done = self.doctor("--json", prefix=prefix)
        causes = [finding["cause"] for finding in json.loads(done.stdout)["findings"] if finding["check"] == "access"]
        self.assertEqual(len(causes), 2, done)
        self.assertEqual(causes[0], "the kernel has mlx5_7, and libibverbs does not find it")
        self.assertRegex(causes[1], "^this process cannot open soft0: ")
        self.assertEqual(done.status, 1, done)

    @rdmameter.on(rdmameter.SOFTWARE)
    def test_a_warning_fails_where_it_is_asked_to_and_a_problem_everywhere(self):
        for state, rate, check, weight, statuses in (("4: ACTIVE", "25 Gb/sec (1X EDR)", "link", "warning", (rdmameter.PASS, 1)),
                                                     ("1: DOWN", "100 Gb/sec (4X EDR)", "device", "problem", (1, 1))):
            prefix = self.with_a_port(state, rate)
            for options, status in zip(((), ("--strict",)), statuses):
                done = self.doctor("--json", *options, prefix=prefix)
                weights = {finding["check"]: finding["weight"] for finding in json.loads(done.stdout)["findings"]}
                self.assertEqual(weights.pop(check), weight, done)
                self.assertNotIn("problem", weights.values(), done)
                self.assertEqual(done.status, status, done)

    def test_a_server_goes_on_measuring_afterwards(self):
        server = self.serve()
        self.doctor(f"127.0.0.1:{server.port}")
        self.run_program(f"127.0.0.1:{server.port}", "write_lat", "--iterations", "20")

    def test_people_read_of_both_ends(self):
        server = self.serve()
        done = self.doctor("127.0.0.1", "--port", server.port)
        self.assertRegex(done.stdout, r"^Here:\nrdmameter [\s\S]*\n\n127\.0\.0\.1:\nrdmameter ")

    def test_a_peer_that_cannot_be_asked_is_status_99_and_this_machine_is_examined(self):
        done = self.doctor("127.0.0.1:1", "--json")
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, "the peer cannot be asked, .*127.0.0.1:1")
        said = json.loads(done.stdout)
        self.assertIn("findings", said)
        self.assertIn("127.0.0.1:1", said["peer"]["error"])

    def test_a_stranger_is_told_nothing(self):
        server = self.serve("--bind", "0.0.0.0")
        done = self.doctor(f"127.0.0.1:{server.port}", "--json")
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertEqual(list(json.loads(done.stdout)["peer"]), ["error"])
        self.assertIn("wants a token", done.stderr)
        done = self.doctor(f"127.0.0.1:{server.port}", "--json", token=server.token)
        self.assertIn("findings", json.loads(done.stdout)["peer"])

    def test_a_run_tells_the_two_worst_unless_it_is_told_not_to(self):
        findings = [each["check"] for each in json.loads(self.doctor("--json").stdout)["findings"] if each["check"] not in ("device", "load")]
        done = self.run_program("--loopback", "write_lat", "--iterations", "20")
        told = [line for line in done.stderr.splitlines() if "remedies: rdmameter doctor" in line]
        self.assertLessEqual(len(told), 1)
        for check in findings[:1]:  # the load may have come or gone in between
            self.assertIn(f": {check}: ", told[0])
        os.environ["RDMAMETER_DOCTOR"] = "off"
        self.addCleanup(os.environ.pop, "RDMAMETER_DOCTOR")
        done = self.run_program("--loopback", "write_lat", "--iterations", "20")
        self.assertNotIn("remedies", done.stderr)


if __name__ == "__main__":
    rdmameter.main()
