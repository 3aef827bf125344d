#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""perftest itself beside its command lines here, on rxe: what both ends print, line by line, when, and how they end.

It takes the perftest that is installed, or that of the folder RDMAMETER_PERFTEST, as tools/unpack-perftest makes one:
    tools/rxe-vm run --timeout 3600 --env RDMAMETER_PERFTEST=build/perftest -- tests/device/perftest_lines_test.py build/rdmameter -k send_bw
What differs, and may, is in KNOWN, or a row of the table in docs/perftest.md.
"""
import os
import pty
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

import rdmameter

FOLDER = os.environ.get("RDMAMETER_PERFTEST", "")
ADDRESS = "10.9.0.1"  # of rxe0
LIMIT = 120 * rdmameter.SLOW
# An emulated device carries 30 MB/s: few messages.
FEW = ("-n", "20")
OF_ALL = (FEW, ("-D", "2"), ("-R", *FEW))
OF_BANDWIDTHS = (("-b", *FEW), ("-q", "4", *FEW), ("--report_gbits", *FEW), ("--output=bandwidth", *FEW), ("-b", "--report-both", *FEW),
                 ("-D", "2", "--cpu_util"))
OF_LATENCIES = (("--output=latency", *FEW), ("-H", *FEW))
OF_OPERATIONS = {"send": (("-c", "UC", *FEW), ("-c", "UD", *FEW), ("-c", "UD", "-a", "-n", "100"), ("-e", *FEW)),
                 "write": (("-c", "UC", *FEW), ("-a", "-n", "5")), "read": (("-a", "-n", "5"), ("-e", *FEW)), "atomic": (("-e", *FEW),)}
# Of both, rows of docs/perftest.md and of versions: 4.5 says MB, and has neither the warning that no peak is measured,
# Lock-free nor what stands beside `ibv_wr* API`: Using Enhanced Reorder, in 25.01 Using DDP. CQE Poll Batch is later.
KNOWN = ((r"MB/sec", "MiB/sec"), (r"^CQE Poll Batch : .*", None), (r"^WARNING: ", None), (r"(?<=^ibv_wr\* API : ).*", ""), (r"\t\tLock-free : \w+", ""))
# avocado-misc-tests starts the tools with these and looks at their status; numbers that only take time are smaller.
AVOCADO = {
    "bw lat": ("-F", "-m 1024", "-p 18200", "-t 1024", "-S 2", "-n 100"),
    "send_bw send_lat read_bw read_lat write_bw write_lat": (
        "-D 2", "-D 10s", "-Q 5", "-R -D 2", "-R -D 30s", "-R -Q 10", "-R -S 1", "-R -T 128", "-R -c RC", "-R -f 1 -D 4", "-R -f 5s -D 11s",
        "-R -m 1024", "-R -p 18600", "-R -s 9000", "-R -t 1024", "-R -w 10M", "-R -x 1", "-R -y 4G", "-R -z", "-w 100M", "-y 10G", "-z"),
    "send_bw read_bw write_bw": ("-l 4", "-R -N", "-R -b", "-R -l 2", "-R -q 1"),
    "send_bw write_bw": ("-N", "-b"), "send_bw send_lat write_bw": ("-c UC",), "send_bw": ("-r 1024",),
    "send_bw send_lat": ("-a -c UD", "-c UD", "-c XRC", "-e", "-g -x 0"),
    "read_bw read_lat write_lat atomic_bw atomic_lat": ("--burst_size=2147483647 --rate_limit=10", "--burst_size=2G --rate_limit=10")}


class End:
    """A program on a terminal, so that its lines come when they are printed, as those of perftest do nowhere else."""

    def __init__(self, command, env):
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, env=env, cwd="/tmp")
        os.close(theirs)
        self.terminal, self.lines, self.stderr = ours, [], ""  # (when [s], line)
        self.readers = [threading.Thread(target=each, daemon=True) for each in (self.read_lines, self.read_errors)]
        for reader in self.readers:
            reader.start()

    def read_lines(self):
        with open(self.terminal, encoding="utf-8", errors="replace", newline="\n") as file:
            try:
                for line in file:
                    self.lines.append((time.monotonic(), line.rstrip("\r\n")))
            except OSError:  # its end
                pass

    def read_errors(self):
        with self.process.stderr:
            self.stderr = self.process.stderr.read().decode(errors="replace")

    def when(self, pattern):
        return next((at for at, line in self.lines if re.search(pattern, line)), None)

    def end(self, limit):
        """Its status; None: it did not end."""
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        finally:
            for reader in self.readers:
                reader.join(10)
        return self.process.returncode


class Pair:
    """A server and its client, which have ended."""
    port = 18700

    def __init__(self, front, tool, options, limit=LIMIT):
        Pair.port += 1
        given = [] if "-p" in options else ["-p", str(Pair.port)]
        port = int(options[options.index("-p") + 1]) if "-p" in options else Pair.port
        command = [*front(tool), "-d", "rxe0", *given, *options]
        self.server = End(command, rdmameter.environment())
        rdmameter.wait_until(lambda: self.listens(port) or self.server.process.poll() is not None, 30 * rdmameter.SLOW)
        if not any("--output" in word for word in options):  # it listens before it says so
            rdmameter.wait_until(lambda: self.server.when("Waiting"), 2 * rdmameter.SLOW)
        self.waiting = [line for _, line in self.server.lines]
        client = End([*command, ADDRESS], rdmameter.environment())
        self.client = client
        self.statuses = [client.end(limit), self.server.end(20 * rdmameter.SLOW)]

    @classmethod
    def of_perftest(cls, tool, options, limit=LIMIT):
        """Once more where its client crashed: it does if it asks for its second connection, with -R, before its server listens again.
        And where other work on the machine let it find no frequency of its clock."""
        pair = cls(theirs, tool, options, limit)
        failed = pair.statuses[0] == -signal.SIGSEGV or "Can't produce a report" in str(pair)
        return cls(theirs, tool, options, limit) if failed else pair

    @staticmethod
    def listens(port):
        for family in ("tcp", "tcp6"):
            with open(f"/proc/net/{family}", encoding="ascii") as table:
                if any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in list(table)[1:]):
                    return True
        # perftest's with -R listens by rdma_cm alone.
        return any(each.get("state") == "LISTEN" and each.get("src-addr", "").endswith(f":{port}")
                   for each in rdmameter.verbs_objects("cm_id") or [])

    def order(self):
        """Which of the server's banner and block stand before the client comes, and is its header there before the client's row?"""
        header, row = self.server.when("#bytes"), self.client.when(r"^ \d+ +\d+ ")
        return [any(word in line for line in self.waiting) for word in ("Waiting", "Device")], None in (header, row) or header < row

    def __str__(self):
        return "\n".join(f"{end}:\n{each.stderr}" + "\n".join(line for _, line in each.lines)
                         for end, each in (("server", self.server), ("client", self.client)))


def blanked(lines, options):
    """Lines with one blank for several, tabs kept, and with numbers of which only their digits and a zero are seen."""
    kept, in_samples = [], False
    for _, line in lines:
        text = re.sub(r" +(?=\t)", "", re.sub(r" +", " ", line).strip(" "))  # no blank before a tab: a long number has none
        for pattern, instead in KNOWN:
            if instead is None and re.search(pattern, text):
                break
            text = re.sub(pattern, instead or "", text)
        else:
            text = text.replace("-nan", "1.00")  # perftest's t_stdev, where an int overflows: samples 46 ms apart
            text = re.sub(r"(?<=LID |QPN |PSN |OUT )\w+|(?<=RKey )\w+|(?<=VAddr )\w+", "#", text)
            sample = in_samples and re.match(r"\d+, ", text) is not None
            in_samples = text == "#, usec" or sample
            if sample:  # of -H: perftest leaves three out
                if kept[-1] != "#, usec":
                    continue
                text = "samples"
            elif "%" not in text:
                text = re.sub(r"^RX depth : \d+$", "RX depth : #", text) if "-c" in options else text  # of few messages: a row of the page
                digit = (lambda found: re.sub(r"\d+(?=\.)", "N", re.sub(r"(?<=\.)\d+", lambda end: "N" * len(end[0]), found[0])))
                few_bytes = re.match(r"[2-8] \d+ ", text) is not None  # so little is 0.00
                zero = "-a" not in options and not few_bytes
                text = re.sub(r"\d+\.\d+", lambda found: found[0] if zero and float(found[0]) == 0 else digit(found), text)
            if "--report_gbits" in options:  # six digits below 0.1 Gb/s
                text = re.sub(r"\s+[N0]+\.[N0]+", " N", text)
            if "--cpu_util" in options:  # of so few ticks of the system's clock
                text = re.sub(r"^(\d+ \d+ .*\s)[N0]+\.[N0]+$", r"\1%", text)
            if "-D" in options:  # how many iterations a time brings
                text = re.sub(r"^(\d+) \d+ (?=[N0])", r"\1 # ", text)
            kept.append(text)
    return kept


def lines_of(end, options):
    lines = end.lines
    if end.stderr.startswith("Device not recognized to implement inline"):  # of rxe, by reads and atomics
        first = next(i for i, (_, line) in enumerate(lines) if line.startswith("---"))
        lines = lines[:first] + lines[first + 1:]
    return blanked(lines, options)


def theirs(tool):
    return [os.path.join(os.path.abspath(FOLDER), tool) if FOLDER else shutil.which(tool)]


def ours(tool):
    return [os.path.abspath(rdmameter.program), "perftest", tool]


@unittest.skipUnless(FOLDER or shutil.which("ib_send_bw"), "perftest is not installed")
@rdmameter.on(rdmameter.RXE)
class Lines(rdmameter.Test):
    """At both ends, and their statuses."""

    def compare(self, tool):
        operation, bandwidth = tool.split("_")[1], tool.endswith("_bw")
        for options in (*OF_ALL, *(OF_BANDWIDTHS if bandwidth else OF_LATENCIES), *OF_OPERATIONS[operation]):
            if "-e" in options and operation == "write" or "-q" in options and not bandwidth:
                continue
            with self.subTest(tool, options=options):
                real, here = Pair.of_perftest(tool, options), Pair(ours, tool, options)
                both = f"{real}\n\n{here}"
                self.assertEqual(here.statuses, real.statuses, both)
                for end in ("server", "client"):
                    mine, others = (lines_of(getattr(pair, end), options) for pair in (here, real))
                    self.assertEqual(mine, others, f"{end}: {both}")
                self.assertEqual(here.order(), real.order(), both)
                self.assertEqual((here.server.stderr, here.client.stderr), ("", ""))


def add_comparison(tool):
    def test(self):
        self.compare(tool)
    setattr(Lines, f"test_of_{tool}_are_those_of_perftest_but_for_its_numbers", test)


for each_operation in OF_OPERATIONS:
    for each_measure in ("bw", "lat"):
        add_comparison(f"ib_{each_operation}_{each_measure}")


@unittest.skipUnless(FOLDER or shutil.which("ib_send_bw"), "perftest is not installed")
@rdmameter.on(rdmameter.RXE)
class Statuses(rdmameter.Test):
    DEADLINE = 30 * rdmameter.SLOW  # no command takes so long: one that is still there hangs

    def test_of_avocados_command_lines_are_0_where_perftests_are(self):
        """Each options with one of its tools, in turn; on the software device tests/bench/perftest_test.py has them all."""
        turn = 0
        for names, lists in AVOCADO.items():
            tools = [f"ib_{operation}_{measure}" for operation in OF_OPERATIONS for measure in names.split()] if names == "bw lat" \
                else [f"ib_{name}" for name in names.split()]
            for options in lists:
                tool, turn = tools[turn % len(tools)], turn + 1
                # Of few datagrams a busy receiver may find all at once: no time to divide by, where perftest says 0.00.
                few = "100" if "UD" in options else "5"
                words = [*options.split(), *(() if "-D" in options or "-n" in options else ("-n", few))]
                with self.subTest(tool, options=options):
                    here, real = Pair(ours, tool, words, self.DEADLINE), Pair.of_perftest(tool, words, self.DEADLINE)
                    print(f"# {tool} {options}: {self.told(here)}, perftest: {self.told(real)}", flush=True)
                    for status, of_perftest in zip(here.statuses, real.statuses):
                        if status != 0:
                            self.assertNotEqual(of_perftest, 0, f"{real}\n\n{here}")
                            self.assertEqual(status, 1, here)

    @staticmethod
    def told(pair):
        return ", ".join("hangs" if status is None else str(status) for status in pair.statuses)


if __name__ == "__main__":
    rdmameter.main()
