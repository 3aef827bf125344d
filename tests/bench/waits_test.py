#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No wait of a writer keeps the program from ending: an output that nobody reads, a FIFO that nobody opens, a lock that another holds.

Usage: waits_test.py RDMAMETER
"""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CORPUS = f"{os.path.dirname(os.path.abspath(__file__))}/../data/corpus"
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else sys.exit(__doc__)
INTERRUPTED = 130
PATIENCE = 60  # [s] for what takes no time on an idle machine
ENDS_WITHIN = 1  # [s] of the clock of a machine that has nothing else to do
MEASURE = ("run", "--device", "null", "write_lat", "--iterations", "1000")


def busy():
    """How many times as long as alone this process may be waited for."""
    return 2 + 4 * os.getloadavg()[0] / len(os.sched_getaffinity(0))


class Waits(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rdmameter-waits-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.fifo = f"{self.folder}/fifo"
        os.mkfifo(self.fifo)
        self.number = 0

    def start(self, *arguments, **streams):
        started = subprocess.Popen([PROGRAM, *arguments], cwd=CORPUS, stdin=subprocess.DEVNULL, env=os.environ | {"RDMAMETER_DOCTOR": "off"},
                                   **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | streams)
        self.addCleanup(started.stderr.close if started.stderr else lambda: None)
        self.addCleanup(started.wait)
        self.addCleanup(lambda: started.poll() is None and started.kill())
        return started

    def await_waiting(self, process):
        """Until it has slept for a fifth of a second."""
        quiet, before, end = 0, None, time.monotonic() + PATIENCE
        while quiet < 10 and time.monotonic() < end:
            with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            now = (fields[0], fields[11], fields[12])
            quiet = quiet + 1 if now == before and now[0] == "S" else 0
            before = now
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "it has not waited")

    def assert_ends(self, process, number, expected=INTERRUPTED):
        self.await_waiting(process)
        sent = time.monotonic()
        process.send_signal(number)
        status = process.wait(PATIENCE)
        self.assertLess(time.monotonic() - sent, ENDS_WITHIN * busy())
        self.assertEqual(status, expected)

    def each_signal(self, *arguments, expected=INTERRUPTED, **streams):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(arguments=arguments, signal=number):
                self.assert_ends(self.start(*arguments, **streams), number, expected)

    def test_a_fifo_that_nobody_opens_keeps_no_writer(self):
        for arguments in (("report", "base.json", "-o", self.fifo), ("export", "base.json", "--format", "otava", "-o", self.fifo),
                          ("compare", "base.json", "base.json", "--junit", self.fifo), ("compare", "base.json", "base.json", "--markdown", self.fifo),
                          ("merge", "base.json", "-o", self.fifo), (*MEASURE, "-o", self.fifo)):
            self.each_signal(*arguments)

    def test_a_pipe_that_nobody_reads_keeps_no_writer(self):
        for arguments in (("report", "base.json", "-o", "-"), ("show", "--csv", *["topo_scale.json", "bandwidth.json"] * 8),
                          (*MEASURE, "--repetitions", "60", "-o", "-"), (*MEASURE, "--repetitions", "1000"),
                          ("topo", "mesh", "--ranks", "4", "--simulate", "delay:2us", "--size", ",".join(map(str, range(1, 200))))):
            end, full = os.pipe()
            self.addCleanup(os.close, end)
            fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
            self.each_signal(*arguments, stdout=full)
            os.close(full)

    def test_stderr_that_nobody_reads_keeps_no_writer(self):
        end, full = os.pipe()
        self.addCleanup(os.close, end)
        fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
        os.write(full, b"x" * 4096)
        self.each_signal("show", "none.json", expected=2, stderr=full)  # stderr that is lost changes no status
        # A line for each file: it is not each of them that waits.
        self.each_signal("show", "--csv", *["skipped.json"] * 200, expected=0, stderr=full)
        os.close(full)

    def test_a_reader_that_comes_late_gets_all_of_it(self):
        started = self.start("report", "base.json", "-o", self.fifo)
        self.await_waiting(started)
        with open(self.fifo, "rb") as file:
            page = file.read()
        self.assertEqual(started.wait(PATIENCE), 0)
        self.assertTrue(page.rstrip().endswith(b"</html>"), page[-100:])

    def test_a_lock_that_another_holds_is_named_and_waited_for_until_a_signal(self):
        history = f"{self.folder}/h.jsonl"
        with open(history, "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for number in (signal.SIGTERM, signal.SIGINT):
                started = self.start("history", "add", "base.json", "--into", history, "--commit", "c1")
                self.assert_ends(started, number)
                self.assertIn(b"h.jsonl: another process holds its lock", started.stderr.read())
            started = self.start("history", "add", "base.json", "--into", history, "--commit", "c1")
            self.await_waiting(started)
        self.assertEqual(started.wait(PATIENCE), 0)
        with open(history, "rb") as file:
            self.assertEqual(len(file.readlines()), 1)

    def test_stdout_that_cannot_be_written_is_99_whatever_a_command_has_found(self):
        for arguments in (("compare", "../base.json", "../slower.json"), ("doctor",), ("show", "base.json")):
            with self.subTest(arguments=arguments), open("/dev/full", "wb") as full:
                started = self.start(*arguments, stdout=full)
                told = started.stderr.read()
                self.assertEqual(started.wait(PATIENCE), 99, told)
                self.assertIn(b"stdout cannot be written: No space left on device", b" ".join(told.split()))

    def test_a_lost_terminal_keeps_the_row(self):
        path = f"{self.folder}/r.json"
        started = self.start("run", "--device", "null", "write_lat", "--duration", "0", "-o", path)
        end = time.monotonic() + PATIENCE
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)  # until it measures
        started.send_signal(signal.SIGHUP)
        self.assertIn(started.wait(PATIENCE), (0, INTERRUPTED))
        with open(path, encoding="utf-8") as file:
            self.assertIn('"half_round_trip"', file.read())


if __name__ == "__main__":
    unittest.main()
