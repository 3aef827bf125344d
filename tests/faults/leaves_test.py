#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each value of each message of a session left out, null or of another type, said by either end: an error in words, no crash.

Options: --all (each value in all three ways, in each message that has it; otherwise in one of them, in turns, in the first such message of a command).
"""
import concurrent.futures
import copy
import json
import os
import re
import sys
import threading

import wire
from wire import rdmameter

LENGTH = ("--iterations", "20", "--warmup", "2")
STATUSES = (rdmameter.PASS, rdmameter.USAGE, rdmameter.NO_DEVICE, rdmameter.FAILED)
# A client's words, in which PORT and FILE are replaced, and how it may end.
CASES = ((("run", "127.0.0.1:PORT", "send_lat", "--verify", "--size", "8", "--mr-per-qp", *LENGTH, "-o", "FILE"), STATUSES),
         (("run", "127.0.0.1:PORT", "send_bw", "--bidirectional", "on", "--transport", "ud", "--size", "64", *LENGTH, "-o", "FILE"), STATUSES),
         (("perftest", "ib_send_bw", "-c", "UD", "-s", "64", "-n", "20", "-p", "PORT", "127.0.0.1"), (0, 1)),
         (("doctor", "127.0.0.1:PORT"), (*STATUSES, 1)))
LEFT_OUT = object()
BAD_WORDS = r"json\.exception|bad_alloc|terminate called|basic_string|vector::"
BAD_END = r"its session (was )?ended|its session is killed|" + BAD_WORDS


def places(value, at=()):
    """The way to each value that is no object and no array; of an array to those of its first element."""
    if not isinstance(value, (dict, list)) or not value:
        yield at
        return
    for key, each in list(value.items() if isinstance(value, dict) else enumerate(value[:1])):
        yield from places(each, (*at, key))


def of_another_type(value):
    return 1 if isinstance(value, (str, list, dict)) else "1"


def changed(message, at, how):
    """A copy with another value there; None where the message has no such place."""
    message = copy.deepcopy(message)
    where = message
    try:
        for key in at[:-1]:
            where = where[key]
        before = where[at[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    if how is LEFT_OUT:
        del where[at[-1]]
    else:
        where[at[-1]] = None if how is None else of_another_type(before)
    return message


class Proxy:
    """Between a client and the server; `change(from_client, number, message)` is what is said instead of the message of that number."""

    def __init__(self, port, change):
        def answer(client):
            server = wire.Peer.to(port)
            up = threading.Thread(target=self.pump, args=(client, server, True, change), daemon=True)
            up.start()
            self.pump(server, client, False, change)
            client.socket.close()
            up.join(60)
        self.fake = wire.FakeServer(answer)
        self.port = self.fake.port

    @staticmethod
    def pump(source, target, from_client, change):
        try:
            number = 0
            while (message := source.hear()) is not None:
                target.say(change(from_client, number, message))
                number += 1
            target.socket.shutdown(2)
        except OSError:  # the other direction has ended
            pass

    def end(self):
        self.fake.listener.shutdown(2)
        self.fake.thread.join(60)
        self.fake.listener.close()


class Leaves(wire.Test):
    def run_between(self, change, case, name):
        """@return (status, what was shown and is in the rows)"""
        proxy = Proxy(self.port, change)
        path = f"{self.scratch}/{name}.json"
        words = [word.replace("PORT", str(proxy.port)).replace("FILE", path) for word in case]
        done = rdmameter.Started([rdmameter.program, *words], rdmameter.environment(), path).end(100)
        proxy.end()
        told = done.stderr
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                told += "".join(row.get("error_message", "") + row.get("skip_message", "") for row in json.load(file)["benchmarks"])
            os.unlink(path)
        return done.status, told

    def conversation(self, case):
        """{(from the client?, number): message} of a session as it is."""
        said = {}

        def listen(from_client, number, message):
            said[from_client, number] = message
            return message
        status, told = self.run_between(listen, case, "listened")
        self.assertIn(status, (rdmameter.PASS, 1) if case[0] == "doctor" else (rdmameter.PASS,), told)
        return {key: message for key, message in said.items() if message["type"] != "alive"}

    def test_one_left_out_null_or_of_another_type_is_an_error_in_words_at_either_end(self):
        ways = {"left out": LEFT_OUT, "null": None, "of another type": 1}
        whole = "--all" in sys.argv
        tries, seen = [], set()
        for case, statuses in CASES:
            for (from_client, number), message in self.conversation(case).items():
                for at in places(message):
                    key = (case[0], from_client, message["type"], at)
                    if key in seen and not whole:
                        continue
                    seen.add(key)
                    chosen = ways if whole else [list(ways)[len(tries) % len(ways)]]
                    tries += [(case, statuses, from_client, number, message["type"], at, way) for way in chosen]
        rdmameter.note(f"{len(tries)} sessions")

        def attempt(which):
            index, (case, statuses, from_client, number, kind, at, way) = which

            def change(said_by_client, its_number, message):
                if (said_by_client, its_number) != (from_client, number) or message["type"] != kind:
                    return message
                other = changed(message, at, ways[way])
                return message if other is None else other
            status, told = self.run_between(change, case, f"changed-{index}")
            bad = status not in statuses or re.search(BAD_WORDS, told)
            who = "client" if from_client else "server"
            return bad and f"{case[0]}, the {who}'s {kind}, {'/'.join(map(str, at))} {way}: status {status}: {told[-400:]}"
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            self.assertEqual([fault for fault in pool.map(attempt, enumerate(tries)) if fault], [])
        self.assertNotRegex(self.server.log, BAD_END)
        self.assert_nothing_left()
        self.assert_serves()

    def test_an_mtu_that_is_none_is_not_known_to_perftest(self):
        def answer(peer):
            wire.welcome(peer, {"device": {"active_mtu_bytes": mtu}})
            heard = peer.hear()
            peer.say({"type": "failed", "kind": "failed", "reason": "enough"})
            return heard
        for mtu in ("4096", 0, -1, None, [], 2**64 - 1):
            with self.subTest(mtu=mtu):
                fake = wire.FakeServer(answer)
                done = rdmameter.Started([rdmameter.program, "perftest", "ib_send_bw", "-c", "UD", "-p", str(fake.port), "127.0.0.1"],
                                         rdmameter.environment()).end(60)
                self.assertIsNotNone(fake.end(), done)
                self.assertEqual(done.status, 1, done)
                self.assertRegex(done.stderr, "enough")


if __name__ == "__main__":
    rdmameter.main()
