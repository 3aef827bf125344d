#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions whose messages are changed at random: plans are executed, and no end crashes, hangs or writes a file.

Options: --seconds N (of each test: 30), --messages N (of both tests together, instead), --seed N.
"""
import contextlib
import os
import random
import select
import shutil
import socket
import sys
import tempfile
import threading
import time

import mutation
import wire
from wire import rdmameter


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


SEED = option("--seed", 20260)
SECONDS = option("--seconds", 30)
MESSAGES = option("--messages", 0) // 2  # of a test; 0: for so many seconds
SIDE_BY_SIDE = 3
MUTATED = 0.2  # of the messages
PATIENCE = 0.5  # [s] for an answer that may never come
CUT_AFTER = 1  # [s] a connection on which both ends await that
# No process of a session outlives its client for longer: every wait of a session has a shorter deadline.
LAST_END = wire.SETUP_TIMEOUT + wire.SILENCE
CLIENT_END = 3 * LAST_END
STATUSES = (rdmameter.PASS, rdmameter.USAGE, rdmameter.NO_DEVICE, rdmameter.FAILED)
BAD_END = r"its session (was )?ended|its session is killed|terminate called|software device: process"
GROWTH_KIB = 4 << 10
KEPT_KIB = 64 if rdmameter.LINKED else 0  # of each session, by a sanitizer, which remembers threads and stacks

# A sanitized program tells of its faults here; a session's stderr is /dev/null.
REPORTS = tempfile.mkdtemp(prefix="rdmameter-reports-")
os.environ["ASAN_OPTIONS"] = (f"log_path={REPORTS}/asan:exitcode=86:detect_leaks=0:handle_abort=1:quarantine_size_mb=1:"
                              "detect_stack_use_after_return=1")
os.environ["UBSAN_OPTIONS"] = f"log_path={REPORTS}/ubsan:exitcode=86:halt_on_error=1:print_stacktrace=1"

CASES = (
    ("send_lat", "write_lat", "read_lat", "--transport", "rc,uc,ud", "--size", "64"),
    ("send_bw", "write_bw", "read_bw", "send_imm_bw", "write_imm_bw", "--size", "8,4K", "--transport", "rc,ud"),
    ("send_bw", "write_bw", "read_bw", "--bidirectional", "on", "--size", "4K"),
    ("send_bw", "write_bw", "--threads", "2", "--bidirectional", "off,on", "--qps", "2"),
    ("send_bw", "read_bw", "--qps", "4", "--verify", "--sge", "3", "--size", "4K", "--mr-per-qp"),
    ("send_lat", "send_bw", "--recv", "srq", "--wait", "event", "--cq", "classic,extended", "--verify"),
    ("send_lat", "write_bw", "--api", "extended", "--wait", "spin,event", "--inline", "off,max"),
    ("send_bw", "send_lat", "--transport", "ud", "--peers", "3", "--verify"),
    ("send_bw", "write_bw", "send_lat", "--connect", "cm", "--qps", "2"),
    ("connect", "--connect", "tcp,cm"),
    ("fetch_add_bw", "cmp_swap_lat", "mcast_bw", "mcast_lat"),
    ("tcp_lat", "tcp_bw"),
    ("write_lat", "send_bw", "--memory", "huge,device", "--peer-memory", "huge"),
)


def length_of(tests):
    return ("--iterations", "20") + (() if "connect" in tests else ("--warmup", "2"))


class Gone(Exception):
    """The connection has ended, or is to end."""


class Budget:
    """How long a test goes on, and what it has said so far."""

    def __init__(self):
        self.began = time.monotonic()
        self.sessions = self.messages = self.mutations = self.done = 0
        self.lock = threading.Lock()
        self.stopped = False

    def count(self, **counts):
        with self.lock:
            for name, more in counts.items():
                setattr(self, name, getattr(self, name) + more)

    def spent(self):
        return self.stopped or (self.messages >= MESSAGES if MESSAGES else time.monotonic() - self.began > SECONDS)

    def __str__(self):
        return (f"seed {SEED}: {self.sessions} sessions, {self.messages} messages, {self.mutations} of them changed, "
                f"{self.done} cases measured to their end, in {time.monotonic() - self.began:.0f} s")


class Canary:
    """A folder that the server and its clients work in, and are to leave as it is."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(f"{folder}/nest")
        for name in ("one", "nest/two", "empty"):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(b"what was here before\n" * (name != "empty") * 300)
        os.symlink("one", f"{folder}/link")
        self.paths = [f"{folder}/{name}" for name in ("one", "nest/two", "empty", "link", "new", "nest")]
        self.before = self.state()

    def state(self):
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in (*folders, *files):
                path = f"{folder}/{name}"
                status = os.lstat(path)
                data = b""
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        data = file.read()
                found[path] = (data, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return found

    def words(self):
        return (*self.paths, *(f"file:{path}" for path in self.paths), "file:one", "file:new", "file:/dev/null")


class Fuzz(wire.Test):
    arguments = ("--max-memory", "256M", "--max-threads", "16")

    def serve(self, *arguments, **options):
        self.canary = Canary(f"{self.scratch}/canary")
        return super().serve(*arguments, prefix=("env", "-C", self.canary.folder), **options)

    def setUp(self):
        super().setUp()
        self.budget = Budget()
        self.failures = []
        rdmameter.note(f"seed {SEED}")

    def side_by_side(self, work):
        """Runs `work(number)`, with numbers that go up, on some threads until the budget is spent or one has failed."""
        numbers = iter(range(1 << 40))

        def go_on():
            while not self.budget.spent():
                with self.budget.lock:
                    number = next(numbers)
                try:
                    work(number)
                    self.assertIsNone(self.server.started.process.poll(), "the server has ended")
                    self.assert_unharmed()
                except Exception as error:  # pylint: disable=broad-except
                    self.failures.append(f"session {number}: {type(error).__name__}: {error}")
                    self.budget.stopped = True
                self.budget.count(sessions=1)
        threads = [threading.Thread(target=go_on) for _ in range(SIDE_BY_SIDE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rdmameter.note(str(self.budget))

    def assert_unharmed(self):
        self.assertNotRegex(self.server.log, BAD_END)
        for name in os.listdir(REPORTS):
            with open(f"{REPORTS}/{name}", encoding="utf-8", errors="replace") as file:
                raise AssertionError(f"{name}: {file.read(6000)}")

    def assert_over(self, resident_kib):
        """Every session has ended, the server is as it was, serves, and ends; no file has changed."""
        self.assertEqual(self.failures, [])
        self.assertGreater(self.budget.done, 0)
        closed = rdmameter.fair_time()
        self.assertTrue(rdmameter.wait_until(lambda: not self.server.sessions(), 2 * LAST_END), self.server.sessions())
        rdmameter.note(f"the last session ended {rdmameter.fair_time() - closed:.1f} s after the last client")
        self.assert_nothing_left()
        growth = rdmameter.resident_kib(self.server.pid) - resident_kib
        rdmameter.note(f"the server is {growth} KiB larger")
        self.assertLess(growth, GROWTH_KIB + KEPT_KIB * self.budget.sessions)
        self.assert_serves()
        self.assertEqual(self.server.stop().status, rdmameter.PASS)
        self.assert_unharmed()
        self.assertEqual(self.canary.state(), self.canary.before)


class Proxied(Fuzz):
    """Clients and a server that are what they are, and somebody between them."""

    def test_no_message_changed_on_its_way_crashes_or_stops_an_end_or_writes_a_file(self):
        self.client(0)
        resident_kib = rdmameter.resident_kib(self.server.pid)  # what the first clients made of it stays
        self.side_by_side(self.client)
        self.assert_over(resident_kib)

    def client(self, number):
        chance = random.Random(f"{SEED} proxied {number}")
        proxy = wire.FakeServer(lambda client: self.between(client, chance, patient=number % 50 == 10))
        case = chance.choice(CASES)
        path = f"{self.scratch}/proxied-{number}.json"
        run = rdmameter.Started(["env", "-C", self.canary.folder, rdmameter.program, "run", f"127.0.0.1:{proxy.port}", *case,
                                 *length_of(case), "-o", path], rdmameter.environment(), path)
        done = run.end(CLIENT_END)
        proxy.end()
        self.assertIn(done.status, STATUSES, done)
        self.assertNotRegex(done.stderr, "terminate called|runtime error")
        if done.status != rdmameter.USAGE:  # a case of its own that it cannot measure
            self.assertTrue(done.rows, done)
            self.assert_valid(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def between(self, client, chance, patient):
        """One connection of a client. Where both ends wait, it is cut, unless somebody is to see their deadlines."""
        server = wire.Peer.to(self.port)
        last = [time.monotonic()]  # when a message was heard
        pumps = [threading.Thread(target=self.pump, args=(*ends, random.Random(chance.random()), last))
                 for ends in ((client, server), (server, client))]
        for pump in pumps:
            pump.start()
        while any(pump.is_alive() for pump in pumps) and time.monotonic() - last[0] < (CLIENT_END if patient else CUT_AFTER):
            pumps[0].join(0.05)
        hang_up(client, server)
        for pump in pumps:
            pump.join()
        server.close()

    def pump(self, source, target, chance, last):
        mutator = mutation.Mutator(chance, self.canary.words())
        try:
            while (message := source.hear()) is not None:
                last[0] = time.monotonic()
                self.budget.count(messages=1, done=message.get("type") == "done")
                pass_on(self.budget, target, message, mutator)
        except (OSError, ValueError, Gone):  # the other direction has ended, or what came is no message
            pass
        hang_up(source, target)


def hang_up(*peers):
    for peer in peers:
        with contextlib.suppress(OSError):
            peer.socket.shutdown(socket.SHUT_RDWR)


def pass_on(budget, peer, message, mutator):
    """Says a message, or what becomes of it."""
    said = [message]
    if mutator.chance.random() < MUTATED:
        budget.count(mutations=1)
        said = mutator.mutated(message)
    else:
        mutator.show(message)
    for each in said:
        if each is mutation.HANG_UP:
            raise Gone
        if isinstance(each, mutation.Raw):
            peer.socket.sendall(each)
        else:
            peer.say(each)


class Client(Fuzz):
    """A client of this test's own. It changes messages before they are sealed; it is its QPs' own peer."""
    arguments = (*Fuzz.arguments, "--bind", "0.0.0.0")

    def setUp(self):
        super().setUp()
        self.plans = [plan for case in CASES for plan in plans_of(*case, *length_of(case))]

    def test_no_message_of_a_proved_client_s_crashes_the_server_holds_a_session_or_writes_a_file(self):
        for number in range(10):
            self.client(f"before {number}")
        resident_kib = rdmameter.resident_kib(self.server.pid)  # what the first clients made of it stays
        stopped = [self.stopped("ready"), self.stopped("running")]
        self.side_by_side(self.client)
        for peer, until in stopped:
            with self.subTest(f"closed until {until:.0f} s"):
                peer.socket.settimeout(max(1, 2 * (until - time.monotonic())))
                self.assertGreaterEqual(peer.seconds_to_close(), 0)
                peer.close()
        self.assert_over(resident_kib)

    def client(self, number):
        chance = random.Random(f"{SEED} client {number}")
        mutator = mutation.Mutator(chance, self.canary.words())
        talk = Talk(self.budget, wire.Peer.to(self.port, source=f"127.0.0.{chance.randint(2, 250)}"), mutator)
        with contextlib.suppress(Gone, OSError, ValueError):
            talk.greet(self.server.token)
            for _ in range(chance.randint(1, 30)):
                talk.case(chance.choice(self.plans))
            talk.say({"type": "bye"})
        talk.close()

    def stopped(self, kind):
        """A client that says nothing more once it has heard so much; and when it must be hung up on [s]."""
        chance = random.Random(SEED)
        chance.random = lambda: 1  # it changes nothing
        talk = Talk(Budget(), wire.Peer.to(self.port), mutation.Mutator(chance, ()))
        self.addCleanup(talk.close)
        talk.peer.greet(self.server.token)
        talk.begin(self.plans[0], until=kind)
        return talk.peer, time.monotonic() + LAST_END


def plans_of(*arguments):
    """Every "prepare" of `rdmameter run ARGUMENTS`."""
    plans = []

    def answer(peer):
        wire.welcome(peer)
        while (message := peer.hear()) is not None:
            if message["type"] == "prepare":
                plans.append(message)
                peer.say({"type": "failed", "kind": "failed", "reason": "enough"})
            elif message["type"] == "abandon":
                peer.say({"type": "abandoned"})
    fake = wire.FakeServer(answer)
    rdmameter.Started([rdmameter.program, "run", f"127.0.0.1:{fake.port}", *arguments], rdmameter.environment()).end(60)
    fake.end()
    return plans


class Talk:
    """The initiator's part of a session."""

    def __init__(self, budget, peer, mutator):
        self.budget, self.peer, self.mutator, self.chance = budget, peer, mutator, mutator.chance
        self.ends = []

    def close(self):
        for end in (*self.ends, self.peer.socket):
            if self.chance.random() < 0.2:  # by a reset
                with contextlib.suppress(OSError):
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            end.close()

    def say(self, message):
        self.budget.count(messages=1)
        pass_on(self.budget, self.peer, message, self.mutator)

    def hear(self, *types):
        """The next message of these types, or the news of a failure; None if none comes."""
        until = time.monotonic() + PATIENCE
        while select.select([self.peer.socket], [], [], max(0, until - time.monotonic()))[0]:
            message = self.peer.hear()
            if message is None:
                raise Gone
            self.mutator.show(message)
            self.budget.count(done=message["type"] == "done")
            if message["type"] in (*types, "failed"):
                return message
        return None

    def greet(self, token):
        if self.chance.random() < 0.9:
            try:
                answer = self.peer.greet(token)
            except TypeError as error:  # hung up on: here the proof comes too late at times
                raise Gone from error
            if answer is None or answer["type"] != "welcome":
                raise Gone
            return
        nonce = "0" * 64
        self.say({"type": "hello", "protocol": wire.PROTOCOL, "version": "0.1.0", "nonce": nonce})
        challenge = self.hear("challenge")
        if challenge is None or "nonce" not in challenge:
            raise Gone
        self.say({"type": "proof", "proof": wire.proof(token, "initiator", nonce, challenge["nonce"]), **wire.ANY_DEVICE})
        self.hear("welcome")
        raise Gone

    def case(self, plan):
        """One case, from prepare to done, or as far as it goes."""
        if self.chance.random() < 0.1:
            self.say({"type": "list_ports", **wire.ANY_DEVICE})
            self.hear("ports")
        if self.begin(plan):
            self.go_on(plan["case"])
        if self.chance.random() < 0.3:
            self.abandon()

    def begin(self, plan, until="running"):
        """@return does it run?"""
        self.say(plan)
        ready = self.hear("ready")
        if ready is None:
            return self.abandon()
        if ready["type"] != "ready" or until == "ready":
            return False
        wait = plan["case"]["wait"] or self.chance.choice((1, 2))
        self.say({**ready, "type": "connect", "wait": wait})
        if listening := ready["forward"]["listening"]:
            self.connect_to(listening)
        running = self.hear("running")
        return running is not None and running["type"] == "running"

    def connect_to(self, listening):
        """The connection of a test over TCP."""
        end = socket.create_connection(("127.0.0.1", listening["port"]), 10)
        self.ends.append(end)
        end.sendall(listening["nonce"].encode() if self.chance.random() < 0.9 else b"0" * 64)
        if self.chance.random() < 0.5:
            end.sendall(self.chance.randbytes(self.chance.choice((1, 64, 4096))))

    def go_on(self, case):
        if case["pattern"] == 3:
            return self.make_connections()
        for _ in range(self.chance.randint(0, 3)):
            self.say(self.chance.choice(({"type": "alive"}, {"type": "gate", "step": 0}, {"type": "gate", "step": 1},
                                         {"type": "end_now"})))
        time.sleep(self.chance.choice((0, 0, 0.01)))
        if self.chance.random() < 0.3:
            return self.abandon()
        sent = self.chance.choice((0, 0, 1, case["iterations"] + case["warmup"]))
        self.say({"type": "finish", "sent": [sent] * max(1, case["threads"])})
        if self.hear("done") is None:
            self.abandon()
        return None

    def make_connections(self):
        for _ in range(self.chance.randint(0, 4)):
            self.say({"type": "make", "keep": self.chance.random() < 0.5})
            if self.hear("made") is None:
                return
            self.say({"type": "join", "qpn": self.chance.choice((0, 1, 65792)), "psn": 7})
            if self.hear("joined") is None:
                return
        self.say({"type": "finish"})
        self.hear("done")

    def abandon(self):
        """@return False"""
        self.say({"type": "abandon"})
        if self.hear("abandoned") is None:
            raise Gone
        return False


if __name__ == "__main__":
    try:
        rdmameter.main(cpus=2)
    finally:
        shutil.rmtree(REPORTS, ignore_errors=True)
