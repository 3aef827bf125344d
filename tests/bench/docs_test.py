#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the lists and tables of the docs to what the program has: nothing is left out.

Usage: docs_test.py PATH_OF_RDMAMETER FOLDER_OF_DOCS [unittest's arguments]
"""
import os
import re
import subprocess
import sys
import unittest

PROGRAM, DOCS = sys.argv[1:3]
NO_MEASUREMENT = {"--help", "--help-all", "--list"}
BY_ITS_LETTER = {"--output"}  # the docs say -o
OTHER_PROGRAMS = {  # tools/bisect, tools/rxe-vm, packaging/, Meson, containers, Google Benchmark
    "--build", "--program", "--no-charts", "--no-chroot", "--build-arg", "--cpus", "--env", "--init", "--kernel", "--network",
    "--nodes", "--siw", "--ulimit", "--user", "--userns", "--volume", "--wrap-mode", "--benchmark_repetitions"}
OF_PERFTEST = ("perftest.md", "extending.md")


def output(*arguments):
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def section(page, heading):
    """Text of a page from a heading to the next one of its level or above."""
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        text = file.read()
    level = heading.split()[0]
    start = text.index(f"\n{heading}\n") + len(heading) + 2
    end = re.search(rf"^#{{1,{len(level)}}} ", text[start:], re.MULTILINE)
    return text[start:start + end.start()] if end else text[start:]


def first_cells(text):
    """Words in backquotes of the first column of all tables."""
    cells = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    return {word for cell in cells for word in re.findall(r"`([^` ]+)", cell)}


def listed(text, heading):
    """First words of the lines below a heading of the program's output."""
    lines = text.splitlines()
    names = []
    for line in lines[next(i for i, line in enumerate(lines) if line.startswith(heading)) + 1:]:
        if not line.startswith("  "):
            break
        if not line.startswith("   "):
            names.append(line.split()[0])
    return names


def anchors(page):
    """What a link to a heading of the page is called."""
    with open(page, encoding="utf-8") as file:
        headings = re.findall(r"^#+ +(.+)$", file.read(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def options_of(*subcommand):
    return set(re.findall(r"--[a-z][\w-]+", output(*subcommand, "--help")))


class Docs(unittest.TestCase):
    def all_in(self, names, where, text):
        names = set(names)
        self.assertTrue(names)
        self.assertEqual(names - text, set(), f"{where} lacks these")

    def test_every_subcommand_is_at_the_head_of_running_md(self):
        with open(os.path.join(DOCS, "running.md"), encoding="utf-8") as file:
            head = set(re.findall(r"^rdmameter (\w+)", file.read().partition("\n## ")[0], re.MULTILINE))
        self.all_in(listed(output("--help"), "Subcommands:"), "the list at the head of running.md", head)

    def test_every_option_of_run_is_in_a_table_of_running_md(self):
        options = re.findall(r"^ +(?:-\w,)?(--[\w-]+)", output("run", "--help-all"), re.MULTILINE)
        places = section("running.md", "## Where to measure") + section("running.md", "## The server")
        told = set(re.findall(r"`[^`]*?(--[\w-]+)", places)) | first_cells(section("running.md", "## Axes"))
        self.all_in(set(options) - NO_MEASUREMENT - BY_ITS_LETTER, "running.md", told)

    def test_every_option_that_is_named_exists(self):
        subcommands = listed(output("--help"), "Subcommands:")
        known = set().union(*map(options_of, subcommands), *(options_of(command, verb) for command in ("history", "topo")
                                                             for verb in listed(output(command, "--help"), "Subcommands:")), re.findall(r"--[a-z][\w-]+", output("run", "--help-all")))
        for page in sorted(os.listdir(DOCS)):
            if not page.endswith(".md") or page in OF_PERFTEST:
                continue
            with open(os.path.join(DOCS, page), encoding="utf-8") as file:
                named = set(re.findall(r"`(--[a-z][\w-]+)", file.read()))
            self.assertEqual(named - known - OTHER_PROGRAMS, set(), page)

    def test_every_link_leads_somewhere(self):
        pages = [os.path.join(DOCS, name) for name in os.listdir(DOCS)]
        root = os.path.dirname(DOCS)
        pages += [os.path.join(root, name) for name in os.listdir(root)]
        for page in filter(lambda path: path.endswith(".md"), pages):
            with open(page, encoding="utf-8") as file:
                links = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", file.read())
            for path, anchor in links:
                target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
                if not path.startswith("http"):
                    self.assertTrue(os.path.exists(target), (page, path))
                    self.assertIn(anchor, anchors(target) if anchor else [""], (page, path))

    def test_every_test_is_in_the_table_of_measuring_md(self):
        tests = [line.split()[0] for line in output("run", "--list").splitlines()]
        self.all_in(tests, "the table of measuring.md", first_cells(section("measuring.md", "## The tests")))

    def test_every_graph_traffic_and_schedule_is_in_a_table_of_the_reference(self):
        text = output("topo", "--list")
        page = "topologies-reference.md"
        traffics = section(page, "## Traffics") + section(page, "## Collectives")
        for heading, places in (("Graphs:", section(page, "### Choosing a graph")), ("Traffics", traffics), ("Schedules", traffics)):
            names = {name.split(":")[0] for name in listed(text, heading)}
            self.all_in(names, f"a table of {page}", {cell.split(":")[0] for cell in first_cells(places)})

    def test_every_export_format_is_in_the_table_of_reports_md(self):
        formats = listed(output("export", "--help"), "Formats:")
        self.all_in(formats, "the table of reports.md", first_cells(section("reports.md", "## For other tools")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
