#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`run --hosts FILE`: one responder after the other, one result."""
import signal
import socket
import subprocess

import rdmameter

SHORT = ("tcp_lat", "--iterations", "200", "--warmup", "10")


class Hosts(rdmameter.Test):
    def list_of(self, *lines):
        path = f"{self.scratch}/hosts"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path

    def places(self, number):
        return [f"127.0.0.1:{self.serve().port}" for _ in range(number)]

    def nobody(self):
        """A place where no server is listening as long as the test lasts."""
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"

    def show(self, path):
        return subprocess.run([rdmameter.program, "show", path], capture_output=True, text=True, timeout=60, check=True).stdout

    def test_each_is_measured_in_turn_and_named_in_its_rows(self):
        first, second = self.places(2)
        path = self.list_of("# two nodes", "", first, f"  {second}  # the other")
        done = self.run_program("--hosts", path, *SHORT, "--size", "8,64", "--repetitions", "2")
        self.assertEqual([(row["case"]["host"], row["case"]["size_bytes"], row["repetition_index"]) for row in done.rows],
                         [(host, size, index) for host in (first, second) for size in (8, 64) for index in (0, 1)])
        self.assertEqual([row["family_index"] for row in done.rows], [0, 0, 1, 1, 2, 2, 3, 3])
        self.assertTrue(all(row["name"].endswith(f"/host:{row['case']['host']}") for row in done.rows))
        ours = done.result["context"]["rdmameter"]
        self.assertIsNone(ours["responder"])
        self.assertEqual([end["host"] for end in ours["responders"]], [first, second])
        self.assertTrue(all(end["hostname"] for end in ours["responders"]))
        self.assert_valid(done.path)
        shown = self.show(done.path)
        for host in (first, second):
            self.assertIn(host, shown)

    def test_verbs_are_measured_with_each(self):
        if not rdmameter.active_ports():
            self.skipTest("no verbs device")
        done = self.run_program("--hosts", self.list_of(*self.places(2)), "write_lat", "--iterations", "50", "--verify")
        self.assertEqual(len(done.rows), 2)
        for row in done.rows:
            self.assertNotIn("error_message", row)

    def test_who_is_not_there_has_rows_that_say_so_and_the_others_are_measured(self):
        [there] = self.places(1)
        away = self.nobody()
        for order in ((away, there), (there, away)):
            with self.subTest(order):
                done = self.run_program("--hosts", self.list_of(*order), *SHORT, "--size", "8,64", status=rdmameter.FAILED)
                by_host = {host: [row for row in done.rows if row["case"]["host"] == host] for host in order}
                self.assertEqual([row["latency"]["count"] for row in by_host[there]], [200, 200])
                for row in by_host[away]:
                    self.assertIn("refused", row["error_message"])
                self.assertEqual([end["host"] for end in done.result["context"]["rdmameter"]["responders"]], list(order))
                self.assert_valid(done.path)

    def test_who_goes_away_takes_his_own_rows_only(self):
        gone, there = self.serve(), self.serve()
        hosts = [f"127.0.0.1:{server.port}" for server in (gone, there)]
        run = self.start("--hosts", self.list_of(*hosts), "tcp_lat", "--warmup", "2", "--duration", "0.05,1")
        run.await_text("stdout", "\n")
        gone.signal_all(signal.SIGKILL)
        done = run.end(120)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertEqual(["error_message" in row for row in done.rows], [False, True, False, False])

    def test_a_host_can_be_chosen_by_the_filter(self):
        first, second = self.places(2)
        done = self.run_program("--hosts", self.list_of(first, second), *SHORT, f"--benchmark_filter=host:{second}")
        self.assertEqual([row["case"]["host"] for row in done.rows], [second])
        self.assertEqual([end["host"] for end in done.result["context"]["rdmameter"]["responders"]], [second])

    def test_an_interrupt_keeps_the_rows_of_the_hosts_before(self):
        first, second = self.places(2)
        run = self.start("--hosts", self.list_of(first, second), "tcp_lat", "--warmup", "2", "--duration", "0.05,300",
                         f"--benchmark_filter=(duration:50ms.*{first})|(duration:300s.*{second})")
        run.await_text("stdout", "\n")
        run.process.send_signal(signal.SIGINT)
        done = run.end(120)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertIn("latency", done.rows[0])
        self.assertTrue(all(row["interrupted"] for row in done.rows[1:]))
        self.assert_valid(done.path)

    def test_two_results_are_compared_host_by_host(self):
        path = self.list_of(*self.places(2))
        results = [self.run_program("--hosts", path, *SHORT, "--repetitions", "3").path for _ in range(2)]
        compared = subprocess.run([rdmameter.program, "compare", *results], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn("differ", compared.stderr)
        for place in open(path, encoding="utf-8").read().split():
            self.assertIn(place, compared.stdout)


class CommandLine(rdmameter.Test):
    def refused(self, text, *arguments):
        path = f"{self.scratch}/hosts"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([rdmameter.program, "run", "--hosts", path, *(arguments or ("tcp_lat",))], capture_output=True,
                              text=True, timeout=60, check=False, env=rdmameter.environment())
        self.assertEqual((done.returncode, done.stdout), (rdmameter.USAGE, ""), done)
        return done.stderr.replace("\n", " ")

    def test_a_list_that_cannot_be_meant_is_refused(self):
        self.assertIn("names no host", self.refused("# none\n"))
        self.assertIn("is there twice", self.refused("a\nb\na\n"))
        self.assertIn("a line has one host", self.refused("a b\n"))
        self.assertRegex(self.refused("a\nb:99999\n"), "hosts: .*b:99999")
        self.assertIn("expected ssh://HOST", self.refused("a\nssh://-x\n"))

    def test_options_that_have_no_meaning_there_are_refused(self):
        self.assertIn("there is no other host", self.refused("a\n", "--loopback", "tcp_lat"))
        self.assertIn("there is no other host", self.refused("a\n", "--device", "null", "send_lat"))
        self.assertIn("--ssh-command is for", self.refused("a\n", "tcp_lat", "--ssh-command", "ssh"))
        self.assertIn("--token-file: a server that ssh starts", self.refused("ssh://a\n", "tcp_lat", "--token-file", "x"))
        self.assertIn("name at least one test", self.refused("a\n", "--repetitions", "2"))

    def test_a_dry_run_names_the_cases_of_all(self):
        path = f"{self.scratch}/hosts"
        with open(path, "w", encoding="utf-8") as file:
            file.write("node1\nssh://node2\n")
        done = subprocess.run([rdmameter.program, "run", "--hosts", path, "--dry-run", "send_lat"], capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertIn("send_lat/rc/host:node1", done.stdout)
        self.assertIn("send_lat/rc/host:ssh://node2", done.stdout)


if __name__ == "__main__":
    rdmameter.main(devices=0)
