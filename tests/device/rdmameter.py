# SPDX-License-Identifier: Apache-2.0
"""What the tests of the whole program share: they run it, read its results, and report as TAP.

Each test file is a program: FILE_test.py RDMAMETER [-k PATTERN] [--everyday] [--list]. Its tests' names are claims;
meson and tools/test count them one by one.

They run on a verbs device of one of three kinds. With RDMAMETER_SOFTWARE_DEVICE, the path of a library, that is
preloaded into every program and is the device, in user space: here time is true, and a start costs milliseconds.
If it is "linked", the program has that device within it: a sanitized one, which can preload no other.
In tools/rxe-vm it is the kernel's rxe, emulated. Otherwise it is this machine's. on() says which of them a test
is for.
"""
import atexit
import contextlib
import functools
import glob
import importlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# Status of a run (docs/running.md).
PASS, USAGE, NO_DEVICE, FAILED, INTERRUPTED = 0, 2, 77, 99, 130
IN_VM = os.environ.get("RXE_VM") == "1"
SLOW = 4 if IN_VM else 1  # an emulated CPU, often a shared one: limits on time are so much wider there
os.environ.pop("COLUMNS", None)  # lines of what is read here are whole
SOFTWARE_DEVICE = os.environ.get("RDMAMETER_SOFTWARE_DEVICE", "")
LINKED = SOFTWARE_DEVICE == "linked"
PRELOADED = "" if LINKED else SOFTWARE_DEVICE
SOFTWARE, RXE, SIW, ADAPTER = "software", "rxe", "siw", "adapter"
TOO_OLD = r"has no (atomic write|FLUSH)$|, which has no ibv_wr_flush\(\)"  # rxe before Linux 6.2; rdma-core before 45
RC_LATENCIES, RC_BANDWIDTHS = ["[!tm]*_lat"], ["[!tm]*_bw"]  # all tests that can be over RC, by globs
KIND = SOFTWARE if SOFTWARE_DEVICE else os.environ.get("RXE_VM_PROVIDER", RXE) if IN_VM else ADAPTER


def without_stand_ins(path):
    """Meson adds the folders of all libraries that a test depends on. Those in the places of GPUs' own, and of mlx5's, are for
    tests that ask for them: other programs, such as perftest, want the real ones."""
    return ":".join(folder for folder in path.split(":") if folder and not folder.endswith("tests/software_device"))


os.environ["LD_LIBRARY_PATH"] = without_stand_ins(os.environ.get("LD_LIBRARY_PATH", ""))


def gpu_libraries():
    """The folder of those that stand in the places of GPUs' own, built as the program is."""
    return os.path.join(os.path.dirname(program), "software_device") if LINKED else os.path.dirname(SOFTWARE_DEVICE)


def is_sanitized():
    with open(program, "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


def on(*kinds):
    """Marks a test, or a class of them, as one for these kinds of devices alone; on others it is not there."""
    def mark(marked):
        marked.kinds = kinds
        return marked
    return mark


def everyday(marked):
    """Marks a test, or a class of them, as one of the suite `kernel`: it shows what only a kernel, a provider or a
    network shows, and runs in the virtual machine with every `tools/test`, not with `tools/test full` alone. All of
    them together may take five minutes there."""
    marked.everyday = True
    return marked


kernel_only = on(RXE, ADAPTER)  # what the kernel does or tells
spared_in_vm = on(SOFTWARE, ADAPTER)  # the program's own logic, or much of it: the software device shows it in no time

ALL_CPUS = os.sched_getaffinity(0)

program = "rdmameter"  # main() has the real one


class FairTime:
    """Time for limits on how long something may take [s]: it stands still where this machine gives nobody a turn.

    Someone who wants to run every 10 ms, and yields then as our ends do, counts how long that took, but at most twice
    as long: what is more, an emulator or whoever else is busy on the machine has taken from all. Of an idle machine
    it is the clock's time.
    """
    TURN, YIELDS = 0.01, 20

    def __init__(self):
        self.seconds = 0.0
        threading.Thread(target=self.count, daemon=True).start()

    def count(self):
        last = time.monotonic()
        while True:
            time.sleep(self.TURN)
            for _ in range(self.YIELDS):
                os.sched_yield()
            now = time.monotonic()
            self.seconds += min(now - last, 2 * self.TURN)
            last = now


@functools.cache
def _fair_time():
    return FairTime()


def fair_time():
    """See FairTime; for differences."""
    return _fair_time().seconds


def cpu_seconds(pid):
    """What a process that runs has used of the CPUs [s]."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Finished:
    """A run of the program that has ended."""

    def __init__(self, command, status, stdout, stderr, seconds, path):
        self.command, self.status, self.seconds = command, status, seconds
        self.stdout, self.stderr, self.path = stdout, stderr, path

    @property
    def result(self):
        with open(self.path, encoding="utf-8") as file:
            return json.load(file)

    @property
    def rows(self):
        return self.result["benchmarks"]

    def __str__(self):
        return f"{' '.join(self.command)}\nstatus {self.status}\n{self.stdout}{self.stderr}"


class Started:
    """A run of the program in the background: `stderr` fills as it speaks."""

    def __init__(self, command, env, path=None):
        self.command, self.path, self.stdout, self.stderr = command, path, "", ""
        self.arrivals = []  # (when [s], line of stdout)
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        self.changed = threading.Condition()
        self.readers = [threading.Thread(target=self.read, args=(name,), daemon=True)
                        for name in ("stdout", "stderr")]
        for reader in self.readers:
            reader.start()

    def read(self, name):
        for line in getattr(self.process, name):
            with self.changed:
                if name == "stdout":
                    self.arrivals.append((time.monotonic(), line))
                setattr(self, name, getattr(self, name) + line)
                self.changed.notify_all()
        getattr(self.process, name).close()

    def await_text(self, name, pattern, timeout=30 * SLOW, since=0):
        """Waits until `name` (stdout, stderr), from character `since` on, has a match of `pattern`; returns it."""
        def found():
            return re.search(pattern, getattr(self, name)[since:])
        with self.changed:
            self.changed.wait_for(lambda: found() or self.process.poll() is not None, timeout)
            match = found()
        if match is None:
            raise AssertionError(f"no '{pattern}' on {name} within {timeout} s: {self.end(1)}")
        return match

    def handles_interrupts(self):
        """Does a SIGINT no longer kill it?"""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt:"))
        return bool(caught & 1 << signal.SIGINT - 1)

    def work(self, seconds):
        """Lets it use so much CPU time from here on: of what spins, nothing else tells how far it is.

        Or ten times as long, where it gets no more: beside others who are busy, one that yields is not given much.
        """
        until = cpu_seconds(self.process.pid) + seconds * SLOW
        wait_until(lambda: self.process.poll() is not None or cpu_seconds(self.process.pid) >= until, 10 * seconds * SLOW, 0.01)
        if self.process.poll() is not None:
            raise AssertionError(f"it has ended: {self.end(1)}")

    def end(self, timeout):
        """Waits for its end; past `timeout` it is killed, and its status -9 says so."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        seconds = time.monotonic() - self.began
        for reader in self.readers:
            reader.join(5)
        return Finished(self.command, self.process.returncode, self.stdout, self.stderr, seconds, self.path)


class Server:
    """A `rdmameter serve`, listening."""

    def __init__(self, arguments, env, prefix=()):
        port = () if "--port" in arguments else ("--port", "0")
        # The software device reaches its peers' memory by process_vm_writev(), which Landlock forbids.
        sandbox = ("--sandbox", "off") if SOFTWARE_DEVICE and not any("--sandbox" in each for each in arguments) else ()
        self.started = Started([*prefix, program, "serve", *port, *sandbox, *arguments], env)
        announced = self.started.await_text("stderr", r"listening on (\S+):(\d+); [^\n]*\n *([^\n]*)\n")
        self.host, self.port, self.client_command = announced.groups()
        token = re.search(r"RDMAMETER_TOKEN=(\S+)", self.client_command)
        self.token = token and token[1]
        self.pid = self.started.process.pid
        self.idle = self.footprint()  # nothing that a client brings with it stays: it is in its session's process

    @property
    def log(self):
        return self.started.stderr

    def await_log(self, pattern, since=0):
        return self.started.await_text("stderr", pattern, since=since)

    def stop(self, number=signal.SIGTERM, timeout=30):
        self.started.process.send_signal(number)
        return self.started.end(timeout)

    def signal_all(self, number):
        """Sends a signal to the server and the processes of its clients."""
        for pid in self.processes():
            os.kill(pid, number)

    def sessions(self):
        """The processes of its clients."""
        return children_of(self.pid)

    def processes(self):
        return [self.pid, *self.sessions()]

    def resident_kib(self):
        """Memory of the server and its sessions."""
        return sum(resident_kib(pid) for pid in self.processes())

    def footprint(self):
        """What it holds: sessions' processes, also those that it has not taken the end of, open descriptors, threads, and
        verbs objects where they can be seen."""
        held = {"processes": len(children_of(self.pid, zombies=True)),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")),
                "threads": len(os.listdir(f"/proc/{self.pid}/task"))}
        for kind in ("qp", "cq", "mr", "pd"):
            if verbs_objects(kind) is not None:
                held[kind] = len(objects_of(self.processes(), kind))
        return held


def children_of(pid, zombies=False):
    children = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                number, _, rest = file.read().partition(" (")
        except OSError:  # it has ended
            continue
        state, parent = rest.rpartition(")")[2].split()[:2]
        if int(parent) == pid and (zombies or state != "Z"):
            children.append(int(number))
    return children


def resident_kib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("VmRSS:")), 0)
    except OSError:  # it has ended
        return 0


def threads_of(pid):
    try:
        return {int(each) for each in os.listdir(f"/proc/{pid}/task")}
    except OSError:  # it has ended
        return set()


def verbs_objects(kind):
    """Every object of the kind ("qp", "mr"...) on this machine; None where the kernel does not tell."""
    try:
        listed = subprocess.run(["rdma", "--json", "resource", "show", kind], capture_output=True, text=True,
                                check=True, timeout=30)
        return json.loads(listed.stdout or "[]")
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def objects_of(pids, kind):
    """Those of these processes, and those whose thread has ended, of whichever process.

    The kernel lists an object under the thread that made it, without a "pid" once that has ended (and its own
    with a "comm" alone).
    """
    threads = set().union(*map(threads_of, pids))
    return [each for each in verbs_objects(kind)
            if (each["pid"] in threads if "pid" in each else "comm" not in each)]


# Where this program's servers leave their tokens, for its clients alone.
RUNTIME = tempfile.mkdtemp(prefix="rdmameter-runtime-")
atexit.register(shutil.rmtree, RUNTIME, ignore_errors=True)


def environment(token=None):
    env = {name: value for name, value in os.environ.items() if name != "RDMAMETER_TOKEN"}
    env["XDG_RUNTIME_DIR"] = RUNTIME
    if token is not None:
        env["RDMAMETER_TOKEN"] = token
    if SOFTWARE_DEVICE:
        env["RDMAMETER_DEVICE_SESSION"] = f"test-{os.getpid()}"
        if PRELOADED:
            env["LD_PRELOAD"] = PRELOADED
    return env


def active_ports():
    """[(device, port)] of `rdmameter devices`, the active ones."""
    done = subprocess.run([program, "devices", "--json"], capture_output=True, text=True, timeout=60, check=False,
                          env=environment())
    devices = json.loads(done.stdout)["devices"] if done.stdout else []
    return [(device, port) for device in devices for port in device.get("ports", [])
            if port["state"] == "ACTIVE"]


def mpirun(ranks, *options):
    """The command that starts ranks with command lines of their own. @param ranks  their command lines, each a list of words

    Not "LINE : LINE", by which mpirun of Debian 13 (Open MPI 5.0.7) itself ends with SIGSEGV, whatever the programs are.
    """
    lines = " ".join(f"{rank}) exec {shlex.join(line)} ;;" for rank, line in enumerate(ranks))
    return ["mpirun", "--oversubscribe", *options, "-n", str(len(ranks)), "sh", "-c", f"case $PMIX_RANK in {lines} esac"]


def has_on_demand_paging(transport, operation):
    """Does the first active device say so?"""
    [(device, _), *_] = active_ports()
    paging = device["features"]["on_demand_paging"]
    return paging["supported"] and operation in paging[transport]


def free_port():
    """A port that nobody has now, and no connection of another test takes by itself: it is below those that the kernel gives."""
    while True:
        port = random.randrange(20000, 32768)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("0.0.0.0", port))
            return port


def wait_until(condition, timeout=30, pause=0.05):
    """Returns what `condition` gives once it is true, or its last answer after `timeout` s."""
    end = time.monotonic() + timeout
    while True:
        answer = condition()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(pause)


def faults_in(path):
    """What the schema and its rules find wrong in a result file."""
    sys.path.append(f"{HERE}/../reports")
    schema_test = importlib.import_module("schema_test")  # ends this program with 77 where it cannot work
    validator = schema_test.jsonschema.Draft7Validator(schema_test.load(schema_test.SCHEMA))
    return schema_test.faults(schema_test.load(path), validator)


class Test(unittest.TestCase):
    """A test of the program, with a directory of its own."""

    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="rdmameter-")
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.files = 0

    def play(self, personality):
        """Makes the software device such an adapter, for what this test starts from now on."""
        os.environ["RDMAMETER_DEVICE_PERSONALITY"] = personality
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_PERSONALITY", None)

    def inject(self, faults):
        """Lets calls of the software device go wrong, in each process of its own, for what this test starts from now on."""
        os.environ["RDMAMETER_DEVICE_FAULTS"] = faults
        self.addCleanup(os.environ.pop, "RDMAMETER_DEVICE_FAULTS", None)

    def with_sysfs(self, name, of_port):
        """A prefix under which /sys is a tree of the test: SCRATCH/NAME, where soft0 has a port of these files."""
        fake = os.path.join(self.scratch, name)
        for file, text in of_port.items():
            path = os.path.join(fake, "class/infiniband/soft0/ports/1", file)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as opened:
                opened.write(text + "\n")
        prefix = ("unshare", "--mount", "--map-root-user", "sh", "-c", 'mount --bind "$0" /sys && exec "$@"', fake)
        if subprocess.run([*prefix, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no mount namespaces here")
        return prefix

    def output(self):
        self.files += 1
        return f"{self.scratch}/{self.files}.json"

    def start(self, *arguments, token=None, prefix=()):
        """Starts `rdmameter run ARGUMENTS -o FILE`; it is killed when the test ends."""
        path = self.output()
        started = Started([*prefix, program, "run", *arguments, "-o", path], environment(token), path)
        self.addCleanup(started.end, 0)
        return started

    def run_program(self, *arguments, status=PASS, timeout=120, token=None, prefix=()):
        """Runs `rdmameter run ARGUMENTS -o FILE` to its end, which must be `status`."""
        done = self.start(*arguments, token=token, prefix=prefix).end(timeout)
        self.assertEqual(done.status, status, done)
        return done

    def measure(self, *arguments, **options):
        """The rows of a run on one machine, all of them measured. What only a pattern names is left out where this machine is too old for it."""
        done = self.run_program("--loopback", *arguments, **options)
        rows = [row for row in done.rows if row["case"]["test"] in arguments or not re.search(TOO_OLD, row.get("skip_message", ""))]
        self.assertTrue(rows, done)
        for row in rows:
            self.assertNotIn("error_message", row, done)
            self.assertNotIn("skip_message", row, done)
        return rows

    def skipped(self, *arguments):
        """The reason of the only row of a run that has nothing left to measure."""
        done = self.run_program("--loopback", *arguments, status=USAGE)
        [row] = done.rows
        self.assertTrue(row["name"].endswith("/skipped"), row["name"])
        return row["skip_message"]

    def serve(self, *arguments, token=None, prefix=(), auth=False):
        """A server that is ready. On loopback it lets everybody in, unless `auth` or a token is asked for."""
        if not auth and token is None and not {"--bind", "--no-auth", "--token-file"} & set(arguments):
            arguments = ("--no-auth", *arguments)
        server = Server(arguments, environment(token), prefix)
        self.addCleanup(server.stop, signal.SIGKILL)
        return server

    def assert_calls_refused(self, test):
        """Within a session that measures, each call of core/server/refused_calls.h is refused, and what it needs is not."""
        probe = os.path.join(os.path.dirname(program), "tests", "device", "libprobe_calls.so")  # of probe_calls.cpp
        if not os.path.exists(probe):
            self.skipTest("built without libseccomp, or with sanitizers")
        server = self.serve("--sandbox", "on", prefix=("env", f"LD_PRELOAD={probe}"))
        run = self.start(f"127.0.0.1:{server.port}", test, "--iterations", "20")
        said = server.await_log(r"its session's stderr: ([^\n]*)\n")[1]
        run.process.kill()
        self.assertEqual(said, "each call is refused or allowed as the table says")

    def assert_nothing_left(self, server=None):
        """The server holds what it held before its first client."""
        server = server or self.server
        self.assertTrue(wait_until(lambda: server.footprint() == server.idle), (server.idle, server.footprint(), server.log[-2000:]))

    def assert_valid(self, path):
        self.assertEqual(faults_in(path), [])


class Loader(unittest.TestLoader):
    """Finds the tests that are for this kind of device; with `everyday_only` those of the suite `kernel` alone."""

    def __init__(self, everyday_only):
        super().__init__()
        self.everyday_only = everyday_only

    def getTestCaseNames(self, testCaseClass):
        def marked(name, mark, default):
            return getattr(getattr(testCaseClass, name), mark, getattr(testCaseClass, mark, default))

        def meant(name):
            return KIND in marked(name, "kinds", (KIND,)) and (not self.everyday_only or marked(name, "everyday", False))
        return [name for name in super().getTestCaseNames(testCaseClass) if meant(name)]


def claim_of(test):
    name = getattr(test, "_testMethodName", test.id())  # a class that could not be set up has the latter only
    return name.removeprefix("test_").replace("_", " ")


def claims_of(suite):
    return [claim for each in suite for claim in (claims_of(each) if isinstance(each, unittest.TestSuite) else [claim_of(each)])]


class TapResult(unittest.TestResult):
    """Writes a line for each test as it ends; of subtests, one for each that failed."""

    def __init__(self):
        super().__init__()
        self.count, self.bad = 0, False

    def line(self, good, test, more=""):
        self.count += 1
        print(f"{'ok' if good else 'not ok'} {self.count} - {claim_of(test)}{more}", flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def addSuccess(self, test):
        self.line(True, test)
        print(f"# {time.monotonic() - self.began:.1f} s", flush=True)

    def fail(self, test, error, more=""):
        self.bad = True
        self.line(False, test, more)
        kind, value, trace = error
        for frame in traceback.extract_tb(trace):
            if "/unittest/" not in frame.filename:
                print(f"# {os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}")
        for line in "".join(traceback.format_exception_only(kind, value)).splitlines():
            print(f"# {line}", flush=True)

    def addFailure(self, test, error):
        self.fail(test, error)

    addError = addFailure

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.fail(test, error, f": {subtest._message}")

    def addSkip(self, test, reason):
        self.line(True, test, f" # SKIP {reason}")


def note(text):
    """Says a figure in the test's log."""
    print(f"# {text}", flush=True)


def use_cpus(count):
    """Puts so many CPUs to use: of the virtual machine, where this is its only user; with the software device, of
    those that this test may run on.

    Two ends that spin and the driver's threads get in each other's way on two emulated CPUs; on one, where
    the ends yield, the same tests take a third of the time. Yielding ends get on beside whatever else runs here.
    """
    if KIND == SOFTWARE:
        allowed = sorted(ALL_CPUS)
        first = os.getpid() % len(allowed)  # tests that run side by side have different ones, mostly
        os.sched_setaffinity(0, (allowed[first:] + allowed[:first])[:count])
    elif IN_VM:
        for path in sorted(glob.glob("/sys/devices/system/cpu/cpu[1-9]*/online"))[::-1]:
            number = int(re.search(r"cpu(\d+)/online", path)[1])
            with open(path, "w", encoding="ascii") as file:
                file.write("1" if number < count else "0")


def main(devices=1, in_vm=False, cpus=1, nodes=1):
    """Runs the tests of the calling file, or skips all of them with the reason; with --list prints their claims."""
    global program
    arguments = sys.argv[1:]
    pattern = arguments[arguments.index("-k") + 1] if "-k" in arguments else ""
    if not arguments or arguments[0].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} RDMAMETER [-k PATTERN] [--everyday] [--list]")
    program = os.path.abspath(arguments[0])
    loader = Loader("--everyday" in arguments)
    loader.testNamePatterns = [f"*{pattern}*"]
    tests = loader.loadTestsFromModule(sys.modules["__main__"])
    if "--list" in arguments:
        print(*claims_of(tests), sep="\n")
        return
    if in_vm and not IN_VM:
        print("1..0 # SKIP it breaks links and limits, so it runs in tools/rxe-vm alone")
        return
    if int(os.environ.get("RXE_VM_NODES", "1")) < nodes:
        print(f"1..0 # SKIP it needs tools/rxe-vm run --nodes {nodes}")
        return
    use_cpus(cpus)
    if devices and len({device["name"] for device, _ in active_ports()}) < devices:
        print(f"1..0 # SKIP it needs {devices} verbs device{'s' if devices > 1 else ''} with an active port")
        return
    result = TapResult()
    tests.run(result)
    print(f"1..{result.count}")
    sys.exit(result.bad)
