#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds that no source reads a JSON by a key in brackets, since of a const JSON that lacks the key `json["key"]` ends the program; and
that what libraries throw is told by error_text() (core/base/error_text.h).

Usage: json_access_test.py SOURCE_ROOT

`json["key"] = value` writes, and stays. What is read is read by at() (which throws), find(), value(), CheckedJson or
a list of fields. Types are not known here, so the test goes by names: a text in brackets, and any key in brackets behind a name that
is declared as a const JSON in the same file.
"""
import re
import subprocess
import sys

FOLDERS = ("core", "bench", "reports", "topologies")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Members of our structs that are JSONs.
MEMBERS = {"context", "extra", "case_object", "setting", "environment", "initiator_environment_", "responder_environment_"}
# What may follow the last bracket of a chain: a write.
WRITES = re.compile(r"\s*(=(?!=)|\+=|\.(push_back|emplace_back|update|emplace|insert|clear|erase)\()")
KEY = r"\"(?:[^\"\\]|\\.)*\""
CHAIN = re.compile(rf"(?<![\w\"])(?P<name>\w+(?:(?:\.|->)\w+)*(?:\(\))?)(?P<keys>(?:\[[^][]*(?:\[[^][]*\])?[^][]*\])+)")
BOUND = re.compile(r"(?<!const )\b(auto|[Jj]son|nlohmann::json|nlohmann::ordered_json)& \w+ = $")


def const_names(text):
    """Names of const JSONs: parameters, variables and members."""
    types = {"Json", "json", "nlohmann::json", "nlohmann::ordered_json"}
    types |= set(re.findall(r"using (\w+) = nlohmann::(?:ordered_)?json;", text))
    types.add("auto")
    joined = "|".join(sorted(map(re.escape, types), key=len, reverse=True))
    names = MEMBERS | set(re.findall(rf"\bconst (?:{joined})\s*&?\s*(\w+)\b", text))
    names |= set(re.findall(rf"\bconst (?:{joined})\s*&?\s*\w+, &?(\w+)\b", text))
    names |= set(re.findall(rf"\bconst (?:{joined}) &\w+ = [^;]*?, &(\w+) =", text))
    return names


def is_index(key):
    """An index: a number, or a name of one."""
    return re.fullmatch(r"\d+|[ijkmn](?: [+-] \d+)?|byte|element|index|rank|row|from|to|at|place|\w+_index|static_cast<.*|std::minmax.*|.* / \d+", key) is not None


def reads(text):
    """[(line, source)] of what is read by a key."""
    text = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    names = const_names(text)
    for found in CHAIN.finditer(text):
        keys = [key.strip() for key in re.findall(r"\[((?:[^][]|\[[^][]*\])*)\]", found["keys"])]
        texts = [key for key in keys if re.fullmatch(KEY, key)]
        name = found["name"].rpartition(".")[2]
        if found["name"] in ("auto", "return", "delete") or not texts and (name not in names or all(map(is_index, keys))):
            continue
        after, before = text[found.end():found.end() + 40], text[max(0, found.start() - 80):found.start()]
        # Nothing const can be written, so a write is one whatever else has that name.
        bound = BOUND.search(before)
        if WRITES.match(after) or bound and (name not in names or bound[1] != "auto"):
            continue
        yield text.count("\n", 0, found.start()) + 1, found[0]


CATCH = re.compile(r"catch \(const (?:std::exception|[\w:]*[Jj]son::exception)& (\w+)\) \{")


def untranslated(text):
    """[(line, source)] of texts of libraries that are shown as they are: "[json.exception.type_error.302] ...", "std::bad_alloc"."""
    for found in CATCH.finditer(text):
        depth, at = 1, found.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        for said in re.finditer(rf"\b{found[1]}\.what\(\)", text[found.end():at]):
            yield text.count("\n", 0, found.end() + said.start()) + 1, said[0]


def main():
    root = sys.argv[1]
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--", *(f"{folder}/*.{end}" for folder in FOLDERS for end in ("h", "cpp"))],
                            check=True, capture_output=True, text=True).stdout.split("\0")
    faults, texts = [], []
    for path in filter(None, listed):
        with open(f"{root}/{path}", encoding="utf-8") as file:
            text = file.read()
        if re.search(r"\b[Jj]son\b|ordered_json", text):
            faults += [f"{path}:{line}: {source}: read it by at(), find() or value()" for line, source in reads(text)]
        if path != "bench/program.cpp":  # where there is no memory for a text
            texts += [f"{path}:{line}: {source}: error_text() says it in words of ours" for line, source in untranslated(text)]
    own = list(reads('int f(const Json& a, Json& b) { b["x"] = 1; b["y"]["z"] = 2; b["w"].push_back(1); Json& c = b["v"];\n'
                     'return a["x"] + b["y"].get<int>() + a[key] + (b["z"] == 1) + a[0]; }  // a["z"]'))
    claims = {
        "no source reads a JSON by a key in brackets": faults,
        "no text of a library's exception is shown as it is": texts,
        "what reads so is found, and what writes is not": [] if [one for _, one in own] == ['a["x"]', 'b["y"]', "a[key]", 'b["z"]'] else [str(own)],
    }
    for number, (claim, found) in enumerate(claims.items(), 1):
        print(f"{'not ok' if found else 'ok'} {number} - {claim}")
        for fault in found:
            print(f"# {fault}")
    print(f"1..{len(claims)}")
    return any(claims.values())


if __name__ == "__main__":
    sys.exit(main())
