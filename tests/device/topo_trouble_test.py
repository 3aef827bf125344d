#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that die, hang, or cannot have what the graph asks of them: who it was is told, the rows are kept, all end."""
import contextlib
import json
import os
import signal
import socket
import subprocess

import rdmameter
from topo_test import KILLED, SHORT, Topo

NEVER_BACK = 0  # in place of a signal


@rdmameter.on(rdmameter.SOFTWARE)  # it looks for no adapter, and rxe would take minutes
class Trouble(Topo):
    def start(self, *arguments, env=(), launcher=(), patience=3):
        path = self.output()
        started = rdmameter.Started([*launcher, rdmameter.program, "topo", "mesh", "--patience", str(patience), *arguments, "-o", path],
                                    rdmameter.environment() | dict(env), path)
        self.addCleanup(started.end, 0)
        return started

    def in_the_middle(self, **options):
        """A run of three ranks whose first row is there and whose second one goes on for ever."""
        started = self.start("--ranks", "3", "--traffic", "token", "--iterations", "20,100000000", **options)
        started.await_text("stdout", "traffic:token/ranks:3/iterations:20 ", 60)
        return started, self.ranks_of(started)

    def struck(self, call, number, rank=2, ranks=3, patience=3):
        """A run whose rank raises the signal at a call, "NAME NUMBER", which tests/device/strike.cpp sees to."""
        strike = os.path.join(os.path.dirname(rdmameter.program), "tests", "device", "libstrike.so")
        return self.start("--ranks", str(ranks), "--traffic", "token,alltoall", "--iterations", "6", "--warmup", "1",
                          env={"LD_PRELOAD": f"{strike}:{rdmameter.PRELOADED}", "STRIKE": f"{rank} {call} {int(number)}"},
                          patience=patience)

    def assert_killed(self, started, rows):
        """It ends at once as one whose rank 2 was killed; this many rows are there."""
        done = started.end(60)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, KILLED)
        self.assertRegex(done.stderr, r"rdmameter: signal 9 \(Killed\) has ended a rank")
        self.assertEqual(len([row for row in done.rows if "error_message" not in row]), rows, done)
        self.assert_valid(done.path)
        self.assert_ended(started)

    def test_a_rank_that_is_killed_in_set_up_is_named(self):
        self.assert_killed(self.struck("ibv_create_qp 2", signal.SIGKILL), rows=0)

    def test_a_rank_that_is_killed_in_the_middle_is_named_and_the_rows_are_kept(self):
        started, ranks = self.in_the_middle()
        began = rdmameter.fair_time()
        os.kill(ranks[2], signal.SIGKILL)
        self.assert_killed(started, rows=1)
        self.assertLess(rdmameter.fair_time() - began, 10 * rdmameter.SLOW)

    def test_a_rank_that_is_killed_at_the_end_is_named_and_the_rows_are_kept(self):
        self.assert_killed(self.struck("PMIx_Finalize 1", signal.SIGKILL), rows=2)

    def test_a_rank_that_is_killed_where_nobody_ends_the_others_is_named_in_the_row(self):
        """As under a launcher that goes on without it."""
        launcher = ("mpirun", "--enable-recovery", "--oversubscribe", "-n", "3")
        started, ranks = self.in_the_middle(launcher=launcher, env={"OMPI_ALLOW_RUN_AS_ROOT": "1",
                                                                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        os.kill(ranks[2], signal.SIGKILL)
        done = started.end(80)
        self.assertRegex(done.rows[1]["error_message"], r"rank 2 on \S+.*; the run ends on all ranks")
        self.assert_valid(done.path)
        self.assert_ended(started)

    def test_a_rank_that_hangs_before_it_has_said_anything_is_named_with_its_host(self):
        started = self.struck("PMIx_Commit 1", signal.SIGSTOP)
        done = started.end(80)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, rf"no answer for 6 s from rank 2 on {os.uname().nodename}; the run ends")
        self.assert_ended(started)

    def test_a_rank_that_hangs_in_set_up_is_named_and_ends_the_run(self):
        started = self.struck("ibv_create_qp 2", signal.SIGSTOP)
        done = started.end(80)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.rows[0]["error_message"], r"^no answer for 6 s from rank 2 on \S+; the run ends")
        self.assertRegex(done.rows[1]["error_message"], r"^not measured: no answer for 6 s from rank 2 on \S+")
        self.assert_ended(started)

    def test_a_rank_that_hangs_while_rdma_cm_connects_it_is_named_and_ends_the_run(self):
        self.play("siw")
        started = self.struck("rdma_connect 2", signal.SIGSTOP)
        done = started.end(80)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.rows[0]["error_message"], r"^no answer for 6 s from rank 2 on \S+; the run ends")
        self.assert_ended(started)

    def test_a_rank_that_hangs_before_it_has_connected_is_named_by_all(self):
        """Of five ranks some wait only for those that wait for it."""
        started = self.struck("PMIx_Get_nb 1", signal.SIGSTOP, ranks=5)
        done = started.end(80)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, rf"no answer for 6 s from rank 2 on {os.uname().nodename}; the run ends")
        self.assertNotRegex(done.stderr, r"from rank [0134] |gone: rank")
        self.assert_ended(started)

    @staticmethod
    def port_of(pid):
        """On which a process listens; None: on none, yet."""
        sockets = {os.readlink(entry) for entry in os.scandir(f"/proc/{pid}/fd")}
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            for line in map(str.split, file.readlines()[1:]):
                if line[3] == "0A" and f"socket:[{line[9]}]" in sockets:
                    return int(line[1].split(":")[1], 16)
        return None

    def waiting_for_rank_2(self, ranks=3):
        """Ranks that wait for rank 2, which is stopped before it connects; the port of rank 0."""
        started = self.struck("PMIx_Get_nb 1", signal.SIGSTOP, ranks=ranks, patience=60)

        def stopped():
            ranks = self.ranks_of(started)
            try:
                with open(f"/proc/{ranks[2]}/stat", encoding="ascii") as file:
                    if file.read().rpartition(")")[2].split()[0] == "T":
                        return ranks, self.port_of(ranks[0])
            except (KeyError, OSError):  # not yet, or just going
                pass
            return None

        found = rdmameter.wait_until(stopped, 60)
        self.assertIsNotNone(found)
        return started, *found

    def test_strangers_who_find_the_port_of_a_rank_disturb_nobody(self):
        started, ranks, port = self.waiting_for_rank_2()
        with socket.create_connection(("127.0.0.1", port), 10) as silent, \
                socket.create_connection(("127.0.0.1", port), 10) as noisy:
            noisy.sendall(b"GET / HTTP/1.0\r\n\r\n" * 100)
            os.kill(ranks[2], signal.SIGCONT)
            done = started.end(80)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(len(done.rows), 2)

    def test_two_hundred_silent_strangers_of_six_addresses_delay_nobody(self):
        """The places of a rank's waiting room, three times, before the last rank comes."""
        def seconds(strangers):
            started, ranks, port = self.waiting_for_rank_2(ranks=8)
            with contextlib.ExitStack() as connections:
                for number in range(strangers):
                    connections.enter_context(socket.create_connection(("127.0.0.1", port), 10,
                                                                       source_address=(f"127.0.0.{2 + number % 6}", 0)))
                began = rdmameter.fair_time()
                os.kill(ranks[2], signal.SIGCONT)
                done = started.end(80)
            self.assertEqual(done.status, 0, done)
            self.assertEqual(len(done.rows), 2)
            return rdmameter.fair_time() - began
        self.assertLess(seconds(200), seconds(0) + 2)

    def test_a_stranger_who_says_to_be_a_rank_cannot_prove_it(self):
        """Rank 0 awaits rank 2, one behind it, and goes on waiting for it."""
        started, ranks, port = self.waiting_for_rank_2()
        greeting = json.dumps({"from": 2, "to": 0, "step": 0, "host": "elsewhere", "nonce": "0" * 64}).encode()
        with socket.create_connection(("127.0.0.1", port), 10) as stranger:
            stranger.sendall(len(greeting).to_bytes(4, "big") + greeting)
            stranger.settimeout(30)
            self.assertIn(b"nonce", stranger.recv(1000))
            proof = json.dumps({"proof": "0" * 64}).encode()
            stranger.sendall(len(proof).to_bytes(4, "big") + proof)
            os.kill(ranks[2], signal.SIGCONT)
            done = started.end(80)
        self.assertEqual(done.status, 0, done)
        self.assertEqual(len(done.rows), 2)
        self.assertIn("what connected as rank 2 on elsewhere is no rank of this job, and is not listened to", done.stderr)

    def test_rank_0_that_hangs_is_named_by_another_which_ends_the_run(self):
        for call in ("PMIx_Commit 1", "ibv_create_qp 2"):
            with self.subTest(call):
                started = self.struck(call, signal.SIGSTOP, rank=0)
                done = started.end(100)
                self.assertEqual(done.status, rdmameter.FAILED, done)
                self.assertRegex(done.stderr, rf"no answer for 6 s from rank 0 on {os.uname().nodename}; the run ends")
                self.assert_ended(started)

    def test_a_rank_that_hangs_in_the_middle_is_named_and_ends_the_run(self):
        started, ranks = self.in_the_middle()
        os.kill(ranks[1], signal.SIGSTOP)
        done = started.end(80)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, r"rank 1 on \S+")
        self.assertEqual(len(done.rows), 2)
        self.assertRegex(done.rows[1]["error_message"], r"no answer for 6 s from rank 1 on \S+; the run ends")
        self.assert_ended(started)

    @staticmethod
    def kill_launcher(started):
        with open(f"/proc/{started.process.pid}/task/{started.process.pid}/children", encoding="ascii") as file:
            [mpirun] = map(int, file.read().split())
        os.kill(mpirun, signal.SIGKILL)

    def test_a_launcher_that_is_killed_before_it_has_answered_a_rank_leaves_none_behind(self):
        """libpmix waits for such an answer for ever."""
        started = self.struck("PMIx_Commit 1", NEVER_BACK)
        started.await_text("stderr", "struck at PMIx_Commit")
        self.kill_launcher(started)
        self.assertEqual(started.end(60).status, rdmameter.FAILED)
        self.assert_ended(started)

    def test_a_launcher_that_is_killed_leaves_no_rank_behind(self):
        started, _ = self.in_the_middle()
        self.kill_launcher(started)
        done = started.end(60)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertRegex(done.stderr, r"signal 9 \(Killed\) has ended .* or mpirun itself")
        self.assert_ended(started)
        self.assertEqual(len([row for row in done.rows if "error_message" not in row]), 1, done)
        self.assert_valid(done.path)

    def test_an_interrupt_ends_all_and_keeps_the_rows(self):
        started, _ = self.in_the_middle()
        started.process.send_signal(signal.SIGINT)
        done = started.end(60)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        # What ranks say after that ("interrupted; rows in the result: 1") Open MPI 5 shows no more.
        self.assertEqual(len([row for row in done.rows if "error_message" not in row]), 1, done)
        self.assert_valid(done.path)
        self.assert_ended(started)


@rdmameter.on(rdmameter.RXE)
class Withheld(Topo):
    def test_a_rank_that_is_killed_or_hangs_in_a_collective_is_named_and_the_rows_are_kept(self):
        self.assert_both_are_named("allreduce-ring")

    def test_a_rank_without_the_device_is_named(self):
        done = self.topo("mesh", "--ranks", "3", "--device", "rxe%l", *SHORT, status=rdmameter.FAILED)
        self.assertRegex(done.rows[0]["error_message"], r"^rank 2 on \S+: .*rxe2")

    def control_group(self, limit):
        """Words before a command that put it into a group of so many verbs objects on rxe0."""
        top = "/sys/fs/cgroup"
        subprocess.run(["mount", "-t", "cgroup2", "none", top], check=True)
        self.addCleanup(subprocess.run, ["umount", top], check=True)
        with open(f"{top}/cgroup.subtree_control", "w", encoding="ascii") as file:
            file.write("+rdma")
        group = f"{top}/few"
        os.mkdir(group)
        self.addCleanup(os.rmdir, group)
        with open(f"{group}/rdma.max", "w", encoding="ascii") as file:
            file.write(f"rxe0 hca_object={limit}")
        return ("sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh")

    def test_a_rank_that_can_have_no_more_QPs_is_named_with_how_many_it_had_and_the_limit(self):
        limit, each = 100, 2 * 63
        path = self.output()
        command = [*self.control_group(limit), rdmameter.program, "topo", "mesh", "--ranks", "3", "--device", "rxe0",
                   "--inflate", "127", "--traffic", "token", *SHORT, "-o", path]
        done = rdmameter.Started(command, rdmameter.environment(), path).end(100)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        told = rf"^rank \d on \S+: ibv_create_qp QP (\d+) of {each} on rxe0/1: .*rdma\.max: rxe0 hca_handle=max " \
               rf"hca_object={limit}.* This rank had (\d+) of the {each} QPs of its graph; rxe0/1 has room for \d+ in all"
        [row] = done.rows
        self.assertRegex(row["error_message"], told)
        self.assertRegex(done.stderr, told.removeprefix("^"))


if __name__ == "__main__":
    rdmameter.main(cpus=1)
