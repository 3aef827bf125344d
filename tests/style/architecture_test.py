#!/usr/bin/python3
"""Holds the direction of dependencies (docs/architecture.md), one TAP line for each rule.

Usage: architecture_test.py SOURCE_ROOT
"""
import os
import re
import sys

FOLDERS = ("core", "topologies", "reports", "bench", "tests")
# Each folder may include what stands above it in its list, and of other lists what MAY_INCLUDE names.
ORDER = {
    "core": ("base", "log", "instrument", "result", "test_case", "wire", "verbs", "verbs/memory", "verbs/cm", "doctor", "engine/device", "engine/layout", "engine/loop", "engine/account", "engine/blame",
             "engine/placement", "engine", "engine/null", "engine/search", "control", "session", "server"),
    "topologies": ("graphs", "collectives", "traffic", "schedule", "stragglers", "axes", "ranks/loop", "ranks/bootstrap", "ranks", "simulator"),
    "reports": ("stats", "summary", "text", "figures", "compare", "topology/model", "topology", "history", "export", "html", ""),
    "bench": ("cases", "check", "doctor", "background", "child", "remote", "running", "running/lines", "options", "perftest", "generate", "commands", "", "micro"),
}
PURE_CORE = tuple(f"core/{folder}/" for folder in ("base", "log", "instrument", "result"))
PURE_TOPOLOGIES = tuple(f"topologies/{folder}/" for folder in ("graphs", "collectives", "traffic", "schedule", "stragglers"))
MAY_INCLUDE = {
    "topologies/axes/": ("core/base/", "core/test_case/"),
    "topologies/stragglers/": ("core/base/", "core/result/"),
    **dict.fromkeys(PURE_TOPOLOGIES[:-1], ("core/base/",)),
    "core/": (),
    "topologies/": ("core/",),
    "reports/topology/": PURE_CORE + PURE_TOPOLOGIES,
    "reports/": PURE_CORE,
    "bench/": ("core/", "topologies/", "reports/"),
}
# The measured path: core/loop, but for the table that chooses among its instances.
MEASURED = re.compile(r"(core/engine|topologies/ranks)/loop/(?!(rank_)?loop_table|table).*\.h$")
# What allocates, locks or formats has no business on the measured path.
BARRED = re.compile(r"nlohmann/|fmt/|(string|vector|map|unordered_map|deque|list|functional|memory|mutex|"
                    r"condition_variable|thread|future|iostream|sstream|fstream|format|regex)$")


def sources(root):
    """Returns {path below root: [(line, quoted?, included)]} of every source."""
    found = {}
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith((".h", ".cpp")):
                    path = os.path.join(directory, name)
                    with open(path, encoding="utf-8") as file:
                        lines = file.read().splitlines()
                    found[os.path.relpath(path, root)] = [
                        (number, match[1] == '"', match[2]) for number, line in enumerate(lines, 1)
                        if (match := re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line))]
    return found


def reached(path, files, seen):
    """Every header that `path` sees, with the chain of includes that leads there."""
    for _, _, header in files[path]:
        if header not in seen:
            seen[header] = path
            if header in files:
                reached(header, files, seen)
    return seen


def chain(header, start, seen):
    names = [header]
    while names[-1] != start:
        names.append(seen[names[-1]])
    return " <- ".join(names)


def unknown_headers(files, root):
    return [f"{path}:{line}: \"{header}\" (name its folder, as in \"core/instrument/clock.h\")"
            for path, includes in files.items() for line, quoted, header in includes
            if quoted and header not in files and not os.path.exists(os.path.join(root, header))
            # a test's own helper may lie beside it
            and not (path.startswith("tests/") and f"{os.path.dirname(path)}/{header}" in files)]


def folder_of(path):
    """("core", "engine/loop") of core/engine/loop/wait.h."""
    top, _, rest = os.path.dirname(path).partition("/")
    return top, rest


def may_include(path, header):
    (top, folder), (other, theirs) = folder_of(path), folder_of(header)
    if top == other:
        order = ORDER[top]
        return folder in order and theirs in order and order.index(theirs) <= order.index(folder)
    allowed = next(names for start, names in MAY_INCLUDE.items() if path.startswith(start))
    return header.startswith(allowed)


def wrong_direction(files):
    return [f"{path}:{line}: {header}"
            for path, includes in files.items() if folder_of(path)[0] in ORDER
            for line, quoted, header in includes
            if quoted and header in files and not may_include(path, header)]


def reaching(files, start, barred):
    """Chains from files matching `start` to headers matching `barred`."""
    found = []
    for path in files:
        if re.match(start, path):
            seen = reached(path, files, {})
            found += [chain(header, path, seen) for header in seen if re.match(barred, header)]
    return found


def without(files, root, pattern, mark):
    found = []
    for path in files:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            if re.search(pattern, path) and mark not in file.read():
                found.append(path)
    return found


def without_include(files, root, name, header):
    """Files that say `name` and do not include the header that declares it in every release of its library."""
    found = []
    for path, includes in files.items():
        if all(included != header for _, _, included in includes):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                found += [f"{path}: {name} needs <{header}>"] if name in file.read() else []
    return found


def writing(files, root, pattern, but=()):
    """Where the program writes to a standard stream, but in the files that are its way there, which alone cannot fail."""
    found = []
    for path in files:
        if path.startswith("tests/") or path in but:
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            found += [f"{path}:{number}: {line.strip()}" for number, line in enumerate(file, 1)
                      if re.search(pattern, line.partition("//")[0])]
    return found


def twice_defined(files, root):
    """Types or constants of one name in two headers: one namespace holds all, and a linker takes either for both."""
    named = re.compile(r"^(?:(?:struct|class|enum class) (?:alignas\(\d+\) )?(\w+)[^;\n]*\{"
                       r"|inline constexpr [\w:<> ]*\b(k[A-Z]\w*)\b)", re.M)
    where = {}
    for path in files:
        if not path.endswith(".h") or path.startswith("tests/"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for type_name, constant in named.findall(file.read()):
                where.setdefault(type_name or constant, []).append(path)
    return [f"{name}: {', '.join(paths)}" for name, paths in where.items() if len(paths) > 1]


def deriving(files, root, base, known):
    """Classes of the program that derive from `base`, but those of `known`."""
    found = []
    for path in files:
        if not path.startswith("tests/"):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                found += [f"{path}: {name}" for name in re.findall(rf"(\w+)(?: final)? : (?:public )?{base}\b", file.read())
                          if name not in known]
    return found


def unnamed(files, root, pattern, page):
    """Classes of headers that a page of docs/ does not name."""
    with open(os.path.join(root, page), encoding="utf-8") as file:
        text = file.read()
    found = []
    for path in filter(re.compile(pattern).match, files):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            found += [f"{path}: {name}" for name in re.findall(r"^class (\w+)[^;]*\{$", file.read(), re.MULTILINE) if f"`{name}`" not in text]
    return found


# Who measures holds no case that can be changed, but for the files that settle it, that choose devices for it, that make
# it a row's or a message's, and that ask for cases of their own.
SETTLING = tuple(f"core/{name}" for name in (
    "engine/settle.h", "engine/settle.cpp", "session/end_choice.h", "session/end_choice.cpp",
    "engine/measurer.h", "engine/introduction.h",
    "engine/search/sweep_measurer.cpp", "engine/null/null_measurer.cpp"))


def main():
    root = sys.argv[1]
    files = sources(root)
    checks = [
        ("an include of ours names its folder, and is there", unknown_headers(files, root)),
        ("folders include only what lies below them", wrong_direction(files)),
        ("reports, and what of core and topologies they use, reach no verbs header",
         reaching(files, "|".join(("reports/", *PURE_CORE, *PURE_TOPOLOGIES)), r"infiniband/|rdma/")),
        ("core and topologies reach neither options nor the benchmark library",
         reaching(files, r"(core|topologies)/", r"CLI/|benchmark/")),
        ("the measured path reaches nothing that allocates, locks or formats",
         reaching(files, MEASURED, BARRED)),
        ("rows of a file are read by their lists of fields: nothing else asks the parser of their text",
         reaching(files, r"(?!core/result/|tests/)", r"core/result/(row_parser|plain_json|json_parts)\.h$")),
        ("what shows a comparison reads its verdict table, not its cases",
         [line for line in writing(files, root, r"\bCaseComparison\b")
          if line.startswith(("reports/compare/ci_text", "reports/html/", "bench/options/"))]),
        ("stderr is written to by tell() alone",
         writing(files, root, r"[(,]\s*stderr\b|std::(cerr|clog)|\bperror\(")),
        ("stdout is written to by print() alone",
         writing(files, root, r"[(,]\s*stdout\b|std::cout|fmt::print\(|\b(printf|puts|putchar)\(", ("core/log/print.cpp",))),
        ("an end is data: what derives from EndpointRunner is a network, and passes nothing on to other runners",
         deriving(files, root, "EndpointRunner", ("VerbsRunner", "SocketRunner"))),
        ("a case is settled in three moments, by core/engine/settle.cpp: who measures it can read it alone",
         [line for line in writing(files, root, r"(?<!const )\bTestCase(&&?|\*)? \w+\s*[=;,){]", SETTLING)
          if line.startswith(("core/engine/", "core/session/", "core/control/", "core/server/"))]),
        ("a server is given how it serves a client: neither it nor a run knows the process of a session",
         reaching(files, r"core/server/server(_host)?\.|bench/(running|remote/remote_server)", r"core/server/(session_|sandbox|call_)")),
        ("blame and reports of perftest know no loop",
         reaching(files, r"(core/engine/blame|bench/perftest)/", r"core/engine/loop/(bandwidth|completion|open_loop|ping_pong|receive)")),
        ("a rank's queues are a device's or the simulator's: nothing else derives from RankQueues",
         deriving(files, root, "RankQueues", ("DeviceQueues", "SimRank"))),
        ("a rank's case has the classes that docs/architecture.md names",
         unnamed(files, root, r"topologies/ranks/\w+\.h$", "docs/architecture.md")),
        ("no two headers define a type or a constant of one name", twice_defined(files, root)),
        ("a header is guarded by #pragma once", without(files, root, r"\.h$", "#pragma once")),
        # fmt 10 and before have it in <fmt/format.h>, too.
        ("what joins by fmt includes fmt/ranges.h", without_include(files, root, "fmt::join", "fmt/ranges.h")),
        ("a source names its licence", without(files, root, r".", "SPDX-License-Identifier: Apache-2.0")),
    ]
    print(f"1..{len(checks)}")
    for number, (claim, violations) in enumerate(checks, 1):
        print(f"{'not ok' if violations else 'ok'} {number} - {claim}")
        for violation in violations:
            print(f"#   {violation}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
