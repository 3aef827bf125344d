# SPDX-License-Identifier: Apache-2.0
"""Messages as no rdmameter would say them: their values, types and keys, their bytes, their order."""
import json

import wire

HANG_UP = object()  # in what is said instead of a message: the end of the connection

NUMBERS = (0, 1, 2, 3, 7, 64, 255, 256, 4096, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1,
           2**63, 2**64 - 3, 2**64 - 2, 2**64 - 1, 2**64, -1, -2**63, 0.5, 1e308)
TYPES = ("hello", "challenge", "proof", "welcome", "prepare", "ready", "connect", "running", "alive", "gate", "end_now",
         "finish", "done", "failed", "abandon", "abandoned", "bye", "make", "made", "join", "joined", "")
KINDS = ("failed", "unsupported", "usage", "no_device", "token")


class Raw(bytes):
    """Bytes of the connection, not of a message."""


class Text(bytes):
    """What stands in for a message's JSON."""


def spots(value):
    """Every (object or array, key or index) within a message."""
    for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(each, (dict, list)):
            yield from spots(each)


class Mutator:
    """Changes messages; what it does follows from `chance` and from the messages that it has been shown.

    `words` are texts that mean something to an end: names of files, say.
    """

    def __init__(self, chance, words):
        self.chance, self.words = chance, words
        self.heard = [{"type": each} for each in TYPES]
        self.counts = {}

    def show(self, message):
        """A message that may be said out of turn later on."""
        self.heard.append(message)
        if len(self.heard) > 200:
            self.heard.pop(self.chance.randrange(len(TYPES), len(self.heard)))

    def mutated(self, message):
        """What is said instead of a message: a list of messages, Text, Raw and HANG_UP."""
        self.show(message)
        how, weight = zip(*(
            (self.value, 80), (self.type, 20), (self.missing, 10), (self.more, 12), (self.swapped, 12), (self.array, 12),
            (self.several, 20), (self.twice_a_key, 4), (self.repeated, 6), (self.out_of_turn, 8), (self.swallowed, 2),
            # These end the session.
            (self.bytes, 4), (self.cut, 2), (self.length, 1), (self.hung_up, 2)))
        [chosen] = self.chance.choices(how, weight)
        name = chosen.__name__
        self.counts[name] = self.counts.get(name, 0) + 1
        return chosen(json.loads(json.dumps(message)))

    def spot(self, message):
        return self.chance.choice(list(spots(message)) or [({"": 0}, "")])

    def number(self, before):
        near = [before + 1, before - 1, 2 * before, before // 2 if isinstance(before, int) else 0]
        return self.chance.choice(near) if self.chance.random() < 0.3 else self.chance.choice(NUMBERS)

    def text(self):
        return self.chance.choice((*self.words, *TYPES, *KINDS, "", "x", "\x1b[2J\n\u202e", "k" * 3000, "0" * 64, "../../x",
                                   "::1", "127.0.0.3", "roce_v2", "soft0", "soft1", "zero", "huge", "device"))

    def anything(self):
        deep = []
        for _ in range(self.chance.choice((1, 14, 40))):
            deep = [deep]
        return self.chance.choice((None, True, False, [], {}, deep, {"type": "bye"}, [1] * 2000, float("nan"), self.text(),
                                   self.chance.choice(NUMBERS)))

    def value(self, message):
        where, key = self.spot(message)
        before = where[key]
        if isinstance(before, bool):
            where[key] = not before
        elif isinstance(before, (int, float)):
            where[key] = self.number(before)
        elif isinstance(before, str):
            where[key] = self.text()
        else:
            where[key] = self.anything()
        return [message]

    def type(self, message):
        where, key = self.spot(message)
        where[key] = self.anything()
        return [message]

    def missing(self, message):
        where, key = self.spot(message)
        del where[key]
        return [message]

    def more(self, message):
        where, _ = self.spot(message)
        if isinstance(where, dict):
            where[self.text()] = self.anything()
        else:
            where.append(self.anything())
        return [message]

    def swapped(self, message):
        (one, its), (other, whose) = self.spot(message), self.spot(self.chance.choice([message, *self.heard]))
        one[its] = json.loads(json.dumps(other[whose]))
        return [message]

    def array(self, message):
        """A list of another length: longer than what it must match, or shorter."""
        arrays = [where[key] for where, key in spots(message) if isinstance(where[key], list)]
        if not arrays:
            return self.value(message)
        chosen = self.chance.choice(arrays)
        if chosen and self.chance.random() < 0.4:
            chosen.pop()
        else:
            chosen.extend(chosen[:1] * self.chance.choice((1, 2, 5000)) or [0])
        return [message]

    def several(self, message):
        for _ in range(self.chance.randint(2, 6)):
            self.value(message)
        return [message]

    def bytes(self, message):
        body = bytearray(json.dumps(message).encode())
        for _ in range(self.chance.choice((1, 1, 3, 20))):
            body[self.chance.randrange(len(body))] = self.chance.randrange(256)
        return [Text(body)]

    def twice_a_key(self, message):
        body = json.dumps(message)
        key = json.dumps(self.chance.choice(list(message) or ["type"]))
        return [Text(f"{body[:-1]}, {key}: {json.dumps(self.anything())}}}".encode())]

    def repeated(self, message):
        return [message] * self.chance.choice((2, 2, 2, 50))

    def out_of_turn(self, message):
        other = self.chance.choice(self.heard)
        return self.chance.choice(([other, message], [message, other], [other]))

    def swallowed(self, _):
        return []

    def cut(self, message):
        whole = wire.frame(message)
        return [Raw(whole[:self.chance.randrange(len(whole))]), HANG_UP]

    def length(self, message):
        announced = self.chance.choice((0, 1, len(json.dumps(message)) - 1, 2**20, 2**20 + 1, 2**31, 2**32 - 1))
        return [Raw(announced.to_bytes(4, "big") + json.dumps(message).encode())]

    def hung_up(self, message):
        return [message, HANG_UP]
