#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`topo --ranks N` as the parent of mpirun (a script in its place), and ranks that were not started alike (a real one).

Usage: launch_test.py PATH_OF_RDMAMETER [unittest's arguments]
"""
import os
import pty
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = None
PASS, USAGE, NO_DEVICE, FAILED, INTERRUPTED = 0, 2, 77, 99, 130


def await_file(path, timeout=20):
    """Its text, once it has any."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            with open(path, encoding="ascii") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        if text:
            return text
        time.sleep(0.02)
    raise AssertionError(f"nothing in {path} within {timeout} s")


class Parent(unittest.TestCase):
    """`mpirun` is a script of ours that ends as it is told."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rdmameter-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = os.environ | {"PATH": f"{self.folder}:/usr/bin:/bin", "FOLDER": self.folder, "LC_ALL": "C.UTF-8"}

    def mpirun(self, script):
        path = f"{self.folder}/mpirun"
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(path, stat.S_IRWXU)

    def start(self, **options):
        return subprocess.Popen([PROGRAM, "topo", "mesh", "--ranks", "2"], stdin=subprocess.DEVNULL, env=self.environment,
                                **options)

    def run_to_end(self, script):
        self.mpirun(script)
        process = self.start(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stdout, stderr = process.communicate(timeout=30)
        return process.returncode, stdout, stderr

    def waiting(self, **options):
        """A run whose mpirun waits, counts what interrupts it, and then ends as the real one does."""
        # The shell runs a trap between commands alone, so its sleeps are short; not all are counted in its own time.
        self.mpirun("trap 'echo INT >>$FOLDER/signals; left=10' INT; left=3000; echo $$ >$FOLDER/pid\n"
                    "while [ $left -gt 0 ]; do sleep 0.05; left=$((left - 1)); done; exit 1")
        process = self.start(start_new_session=True, **options)
        self.addCleanup(process.wait, 20)
        self.addCleanup(process.kill)
        return process, int(await_file(f"{self.folder}/pid"))

    def test_is_given_the_ranks_and_our_own_arguments(self):
        status, stdout, _ = self.run_to_end('echo "$@"')
        self.assertEqual(status, PASS)
        self.assertRegex(stdout, r"-np 2 \S*rdmameter topo mesh --ranks 2\n")

    def test_what_ranks_end_with_is_what_the_program_ends_with(self):
        for status in (PASS, USAGE, NO_DEVICE, FAILED, INTERRUPTED):
            self.assertEqual(self.run_to_end(f"exit {status}"), (status, "", ""))

    def test_a_rank_or_mpirun_that_a_signal_ends_is_a_failure_and_said_so(self):
        for script in ("exit 137", "kill -9 $$"):
            status, _, stderr = self.run_to_end(script)
            self.assertEqual(status, FAILED, script)
            self.assertRegex(stderr, r"^rdmameter: signal 9 \(Killed\) has ended a rank, which mpirun names .*\n$")

    def test_another_status_of_mpirun_is_a_failure_and_named(self):
        status, _, stderr = self.run_to_end("exit 1")
        self.assertEqual(status, FAILED)
        self.assertRegex(stderr, r"^rdmameter: mpirun has ended with status 1, for the reason .*\n$")

    def test_where_there_is_none_its_package_is_named(self):
        self.environment["PATH"] = self.folder
        process = self.start(stderr=subprocess.PIPE, text=True)
        _, stderr = process.communicate(timeout=30)
        self.assertEqual(process.returncode, USAGE)
        self.assertRegex(stderr, "mpirun cannot be started: No such file.*openmpi-bin.*srun --mpi=pmix")

    def test_tasks_that_a_launcher_has_started_without_PMIx_are_refused_and_the_first_one_says_so(self):
        plain = self.environment
        for tasks, number, name, remedy in (("SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", "srun --mpi=pmix"),
                                            ("FLUX_JOB_SIZE", "FLUX_TASK_RANK", "flux", "flux run -o pmi=pmix"),
                                            ("PMI_SIZE", "PMI_RANK", "a launcher of PMI", "mpirun of Open MPI")):
            refusal = rf"^rdmameter: {name}.* has started 3 processes without PMIx, .*: use .*{remedy}.*\n$"
            for task, said in (("0", refusal), ("2", "^$")):
                with self.subTest(name=name, task=task):
                    self.environment = plain | {tasks: "3", number: task}
                    status, _, stderr = self.run_to_end("touch $FOLDER/started")
                    self.assertEqual(status, USAGE)
                    self.assertRegex(stderr, said)
                    self.assertFalse(os.path.exists(f"{self.folder}/started"), "n launchers of n ranks each")

    def test_a_batch_script_of_Slurm_starts_ranks_as_any_other(self):
        self.environment |= {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}
        self.assertEqual(self.run_to_end("exit 0"), (PASS, "", ""))

    def test_has_our_terminal(self):
        self.mpirun('[ -t 1 ] && [ -t 2 ] && echo terminal >$FOLDER/seen')
        ours, its = pty.openpty()
        self.addCleanup(os.close, ours)
        process = self.start(stdout=its, stderr=its)
        os.close(its)
        self.assertEqual(process.wait(30), PASS)
        self.assertEqual(await_file(f"{self.folder}/seen"), "terminal\n")

    def test_an_interrupt_is_passed_on_and_its_end_awaited(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, _ = self.waiting()
            process.send_signal(number)
            self.assertEqual(process.wait(20), INTERRUPTED)
            self.assertEqual(await_file(f"{self.folder}/signals"), "INT\n")
            os.unlink(f"{self.folder}/signals")
            os.unlink(f"{self.folder}/pid")

    def test_a_terminals_interrupt_reaches_it_once(self):
        process, _ = self.waiting()
        os.killpg(process.pid, signal.SIGINT)  # to all in the terminal's foreground
        self.assertEqual(process.wait(20), INTERRUPTED)
        self.assertEqual(await_file(f"{self.folder}/signals"), "INT\n")

    def test_it_ends_where_we_are_killed(self):
        process, _ = self.waiting()
        process.kill()
        self.assertEqual(await_file(f"{self.folder}/signals"), "INT\n")


@unittest.skipIf(shutil.which("mpirun") is None, "no mpirun (package openmpi-bin)")
class Unlike(unittest.TestCase):
    """Ranks with command lines of their own; it is found out before a device is asked for."""

    def ranks(self, *lines):
        environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        # Not "LINE : LINE", by which mpirun of Debian 13 (Open MPI 5.0.7) itself ends with SIGSEGV, whatever the programs are.
        choose = 'shift "$PMIX_RANK"; exec "$0" topo $1'
        command = ["mpirun", "--oversubscribe", "-n", str(len(lines)), "sh", "-c", choose, PROGRAM, *lines]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=environment)

    def test_the_one_that_differs_is_named_even_where_what_it_was_given_cannot_be(self):
        began = time.monotonic()
        done = self.ranks("mesh --size 8", "mesh --size 8", "rign --size 8")
        self.assertEqual(done.returncode, USAGE, done)
        self.assertIn("rdmameter: rank 2 has another set of options than rank 0: ' topo rign --size 8' and "
                      "' topo mesh --size 8'; start all ranks with one program and one command line", done.stderr)
        self.assertLess(time.monotonic() - began, 50)  # --patience is 60 s


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
