#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that srun starts, on a Slurm of this test's own."""
import os
import shutil
import signal
import tempfile
import time
import unittest

import rdmameter
import slurm
from topo_collectives_test import COLLECTIVES
from topo_test import EIGHT, SHORT, Topo

PMIX = "--mpi=pmix"
FOR_EVER = ("mesh", "--traffic", "token", "--iterations", "6,100000000")  # the second row does


@unittest.skipIf(slurm.missing(), slurm.WHY_NOT)
class Srun(Topo):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="slurm-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        began = time.monotonic()
        cls.slurm = slurm.Slurm(folder)
        cls.addClassCleanup(cls.slurm.stop)
        cls.host = cls.slurm.nodes[0]
        rdmameter.note(f"{cls.slurm.call('sinfo', '--version').stdout.strip()}, up after {time.monotonic() - began:.1f} s")

    def setUp(self):
        super().setUp()
        self.slurm.await_idle()

    def start(self, options, *arguments):
        """Starts `srun OPTIONS rdmameter topo ARGUMENTS`."""
        path = self.output()
        command = ["srun", *options, rdmameter.program, "topo", *arguments, "-o", path]
        started = rdmameter.Started(command, rdmameter.environment() | self.slurm.environment, path)
        self.addCleanup(started.end, 0)
        return started

    def run_ranks(self, options, *arguments, status=rdmameter.PASS):
        done = self.start(options, *arguments).end(100)
        self.assertEqual(done.status, status, done)
        return done

    def in_the_middle(self, *options):
        """A run whose first row is there and whose second one goes on for ever."""
        started = self.start((PMIX, "-n", "3", *options), *FOR_EVER, "--patience", "2")
        started.await_text("stdout", "traffic:token/ranks:3/iterations:6 ", 60)
        ranks = self.ranks_of(started)
        self.assertEqual(sorted(ranks), [0, 1, 2])
        return started, ranks

    def ended(self, started, limit):
        """It ends within the limit [s], no rank is left, and the first row is kept."""
        began = time.monotonic()
        done = started.end(limit * rdmameter.SLOW)
        self.assertNotEqual(done.status, -signal.SIGKILL, done)
        rdmameter.note(f"status {done.status} after {time.monotonic() - began:.1f} s")
        self.assert_ended(started)
        self.assertNotIn("error_message", done.rows[0])
        self.assert_valid(done.path)
        return done

    def assert_measured(self, rows, count):
        self.assertEqual(len(rows), count)
        for row in rows:
            self.assertNotIn("error_message", row)
            self.assertNotIn("skip_message", row)
            self.assertGreater(row["verified_bytes"], 0)

    @rdmameter.everyday
    def test_ranks_in_several_shapes_talk_and_what_arrives_is_right(self):
        done = self.run_ranks((PMIX, "-n", "4"), "mesh", "ring", "--ranks", "4", "--traffic", "pairs", "--size", "4K",
                              "--verify", *SHORT)
        self.assert_measured(done.rows, 2)
        self.assertEqual([rank["host"] for rank in done.result["context"]["rdmameter"]["ranks"]], 4 * [self.host])
        self.assert_valid(done.path)

    def test_what_arrives_at_eight_ranks_is_right(self):
        [row] = self.run_ranks((PMIX, "-n", "8"), *EIGHT).rows
        self.assert_eight(row)

    def test_collectives_over_relays_are_right(self):
        done = self.run_ranks((PMIX, "-n", "4"), "ring", "--ranks", "4", "--traffic", ",".join(COLLECTIVES), "--size", "64",
                              "--verify", "--iterations", "3", "--warmup", "1", "--patience", "30")
        self.assert_measured(done.rows, len(COLLECTIVES))

    def test_another_number_of_ranks_than_expected_is_an_error_with_both_numbers(self):
        done = self.run_ranks((PMIX, "-n", "2"), "mesh", "--ranks", "3", status=rdmameter.USAGE)
        self.assertIn("rdmameter: --ranks 3: the launcher has started 2", done.stderr)

    def test_processes_started_without_PMIx_are_told_once_what_to_do(self):
        done = self.run_ranks(("-n", "4"), "mesh", "--ranks", "4", status=rdmameter.USAGE)
        self.assertEqual(done.stderr.count("rdmameter: srun has started 4 processes without PMIx"), 1, done)
        self.assertIn("use 'srun --mpi=pmix'", done.stderr)

    def test_a_batch_script_may_start_ranks_by_srun_or_here(self):
        by_srun, here, script, told = self.output(), self.output(), f"{self.scratch}/job", f"{self.scratch}/told"
        arguments = f"{rdmameter.program} topo mesh --traffic token --verify {' '.join(SHORT)}"
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n#SBATCH -n 2 -o {told}\nsrun --mpi=pmix {arguments} -o {by_srun} &&\n"
                       f"{arguments} --ranks 2 -o {here}\necho status $?\n")
        self.slurm.call("sbatch", script)

        def text():
            with open(told, encoding="utf-8") as file:
                return file.read()
        rdmameter.wait_until(lambda: os.path.exists(told) and "status" in text(), 150)  # sbatch --wait looks seldom
        self.assertIn("status 0\n", text())
        for path in (by_srun, here):
            self.assert_measured(rdmameter.Finished([], 0, "", "", 0, path).rows, 1)

    def test_a_rank_that_is_killed_ends_all_and_is_named_with_its_host(self):
        started, ranks = self.in_the_middle()
        os.kill(ranks[2], signal.SIGKILL)
        done = self.ended(started, 5)
        self.assertEqual(done.status, 128 + signal.SIGKILL, done)
        self.assertIn(f"srun: error: {self.host}: task 2: Killed", done.stderr)

    def test_a_rank_that_hangs_ends_all_and_is_named_with_its_host(self):
        started, ranks = self.in_the_middle()
        os.kill(ranks[2], signal.SIGSTOP)
        done = self.ended(started, 20)
        self.assertEqual(done.status, rdmameter.FAILED, done)
        self.assertIn(f"no answer for 4 s from rank 2 on {self.host}; the run ends", done.rows[1]["error_message"])

    def test_a_job_that_is_cancelled_ends_as_interrupted(self):
        started, _ = self.in_the_middle("--job-name=cancelled")
        self.slurm.call("scancel", "--name=cancelled")
        done = self.ended(started, 5)
        self.assertEqual(done.status, rdmameter.INTERRUPTED, done)
        self.assertIn("interrupted; rows in the result: 1", done.stderr)

    def test_srun_that_is_interrupted_ends_all(self):
        started, _ = self.in_the_middle("--quit-on-interrupt")
        started.process.send_signal(signal.SIGINT)
        self.ended(started, 5)

    def test_ranks_end_where_the_step_of_Slurm_is_gone(self):
        started, ranks = self.in_the_middle()
        with open(f"/proc/{ranks[0]}/stat", encoding="ascii") as file:
            step = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(step, signal.SIGKILL)
        self.assert_ended(started)


if __name__ == "__main__":
    rdmameter.main(in_vm=True)
