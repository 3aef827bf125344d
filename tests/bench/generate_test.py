#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The man page and the completion of shells, as the shells take them.

Usage: generate_test.py PATH_OF_RDMAMETER [unittest's arguments]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None
COMMANDS = ("devices", "doctor", "serve", "run", "topo", "show", "compare", "ab", "ci", "merge", "report", "history", "export",
            "perftest", "generate")


def generated(what):
    result = subprocess.run([PROGRAM, "generate", what], capture_output=True, text=True, timeout=60, check=True)
    assert result.stderr == "", result.stderr
    return result.stdout


def helped(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, check=True).stdout


class ManPage(unittest.TestCase):
    def test_has_every_subcommand_and_each_option_of_its_help(self):
        page = generated("man").replace("\\-", "-").replace("\\e", "\\")
        for command in COMMANDS:
            self.assertIn(f"\n.SH {command.upper()}\n", page)
            text = helped(command, "--help-all" if command == "run" else "--help")
            for option in re.findall(r"^  (?:-\w,)?(--[a-z][\w-]*)", text, re.MULTILINE):
                self.assertIn(f"\\fB{option}\\fR", page, command)

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_is_formatted_without_a_warning(self):
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-K", "utf8", "-rLL=78n"], input=generated("man"),
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = re.sub("\x1b\\[[\\d;]*m|.\b", "", result.stdout)
        self.assertIn("rdmameter run [HOST | --loopback] TEST", text)
        self.assertIn("--repetitions N", text)


class Bash(unittest.TestCase):
    def completed(self, *words, folder=None):
        """What is offered for the last of the words."""
        with tempfile.TemporaryDirectory() as scratch:
            script = os.path.join(scratch, "rdmameter")
            with open(script, "w", encoding="utf-8") as file:
                file.write(generated("bash"))
            shell = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rdmameter; printf "%s\\n" "${COMPREPLY[@]}"'
            result = subprocess.run(["bash", "-uc", shell, script, "rdmameter", *words], capture_output=True, text=True,
                                    timeout=60, check=True, cwd=folder or scratch)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_offers_subcommands_first(self):
        self.assertEqual(set(COMMANDS) - set(self.completed("")), set())
        self.assertEqual(self.completed("me"), ["merge"])
        self.assertEqual(set(self.completed("history", "")) - {"show", "add", "check", "ack"}, set())

    def test_offers_options_tests_and_words_of_an_axis(self):
        self.assertEqual(self.completed("run", "--bidi"), ["--bidirectional"])
        self.assertEqual(self.completed("run", "write_l"), ["write_lat", "write_load"])
        self.assertEqual(self.completed("run", "write_lat", "--transport", ""), ["rc", "uc", "ud"])
        self.assertEqual(self.completed("run", "write_lat", "--port", ""), [])
        self.assertEqual(self.completed("topo", "hyper"), ["hypercube"])
        self.assertEqual(self.completed("history", "add", "--in"), ["--into"])
        self.assertEqual(self.completed("perftest", "ib_write_l"), ["ib_write_lat"])

    def test_offers_files_where_a_file_is_taken(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "result.json"), "w", encoding="utf-8"):
                pass
            for words in (("show", "res"), ("run", "-o", "res"), ("merge", "a.json", "res"), ("history", "add", "res")):
                self.assertEqual(self.completed(*words, folder=folder), ["result.json"], words)


class OtherShells(unittest.TestCase):
    def test_read_theirs(self):
        for shell in ("zsh", "fish"):
            text = generated(shell)
            for command in COMMANDS:
                self.assertIn(command, text)
            self.assertIn("rc uc ud", text)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    result = subprocess.run([shell, "-n", file.name], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
