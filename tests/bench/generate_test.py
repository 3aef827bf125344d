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
COMMANDS = ("devices", "doctor", "check", "serve", "run", "topo", "show", "compare", "ab", "ci", "merge", "report", "history", "export",
            "perftest", "generate")
# What each shell offers for the last of the words.
OFFERED = {
    ("me",): ["merge"],
    ("history", ""): ["ack", "add", "check", "show"],
    ("history", "add", "--in"): ["--into"],
    ("history", "add", "res"): ["result.json"],
    ("history", "show", "--qu"): ["--quantity"],
    ("history", "show", "--percent"): [],  # 'show' takes it
    ("run", "--bidi"): ["--bidirectional"],
    ("run", "--ssh"): ["--ssh-command"],
    ("run", "--remote"): ["--remote-program"],
    ("serve", "--token-s"): ["--token-stdin"],
    ("ci", "--base-"): ["--base-binary"],
    ("run", "write_l"): ["write_lat", "write_load"],
    ("run", "write_lat", "--transport", ""): ["rc", "uc", "ud"],
    ("run", "write_lat", "--port", ""): [],
    ("run", "-o", "res"): ["result.json"],
    ("topo", "hyper"): ["hypercube"],
    ("perftest", "ib_write_l"): ["ib_write_lat"],
    ("show", "report", "res"): ["result.json"],
    ("merge", "a.json", "res"): ["result.json"],
}


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
        text = self.formatted(78)
        self.assertIn("rdmameter run [HOST | ssh://HOST | --hosts FILE | --loopback]", text)
        self.assertIn("--repetitions N", text)

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_has_the_lines_of_help_and_breaks_them_where_a_terminal_is_narrow(self):
        lines = [line for line in helped("history", "--help").splitlines() if line.startswith("  rdmameter ")]
        self.assertGreater(len(lines), 2)
        text = self.formatted(78)
        for line in lines:
            self.assertEqual(text.count(f"\n{line}\n"), 1, line)
        self.assertIn("\n  rdmameter history add result.json --into history.jsonl\n      --commit ", self.formatted(58, "-Wbreak"))

    def formatted(self, width, *warnings):
        """As man(1) formats it, which leaves two columns of the terminal free."""
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", *warnings, "-K", "utf8", f"-rLL={width}n"], text=True,
                                input=generated("man"), capture_output=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = re.sub("\x1b\\[[\\d;]*m|.\b", "", result.stdout)
        self.assertLessEqual(max(map(len, text.splitlines())), width + 2, max(text.splitlines(), key=len))
        return text


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

    def test_offers_options_words_and_files(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "result.json"), "w", encoding="utf-8"):
                pass
            for words, offered in OFFERED.items():
                self.assertEqual(sorted(self.completed(*words, folder=folder)), offered, words)


class OtherShells(unittest.TestCase):
    def test_are_told_every_subcommand_and_the_words_of_an_axis(self):
        for shell in ("zsh", "fish"):
            text = generated(shell)
            for word in (*COMMANDS, "rc uc ud"):
                self.assertIn(word, text, shell)


class Zsh(unittest.TestCase):
    # An interactive shell in a terminal of its own, whose compadd tells what it is to offer.
    INSIDE = """PS1= PS2= RPS1= LISTMAX=9999
unset zle_bracketed_paste
autoload -Uz compinit; compinit -u -D
autoload -Uz _rdmameter; compdef _rdmameter rdmameter
comppostfuncs=(ended)
ended() { comppostfuncs=(ended); print -r -- "ENDED"; }
compadd() {
    if (( ! ${@[(I)-[OAD]]} )); then
        local -a offered
        builtin compadd -A offered "$@"
        print -rl -- "OFFERED "$^offered
    fi
    builtin compadd "$@"
}
print READY
"""
    OUTSIDE = """zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "fpath=($1 \\$fpath); source $1/inside"
zpty -r -m shell said "*READY*"
for line in "${@[2,-1]}"; do
    zpty -w -n shell $'\\C-u'"$line"$'\\t'
    zpty -r -m shell said "*ENDED*"
    print -r -- "$said"
done
"""

    def completed(self, lines):
        """What is offered for the last word of each line."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("_rdmameter", generated("zsh")), ("inside", self.INSIDE), ("outside", self.OUTSIDE), ("result.json", "")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            words = [" ".join(("rdmameter", *line)) for line in lines]
            result = subprocess.run(["zsh", "-f", "outside", folder, *words], capture_output=True, text=True, timeout=100, check=True,
                                    cwd=folder, env={**os.environ, "TERM": "dumb"})
        return [sorted(re.findall(r"OFFERED (.+)\n", said)) for said in result.stdout.split("ENDED\n")[:-1]]

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_may_be_sourced(self):
        shell = 'autoload -Uz compinit; compinit -u -D; eval "$(cat)"; print -r -- $_comps[rdmameter]'
        result = subprocess.run(["zsh", "-fc", shell], input=generated("zsh"), capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual((result.stdout, result.stderr), ("_rdmameter\n", ""))

    @unittest.skipUnless(shutil.which("zsh"), "no zsh here")
    def test_offers_what_bash_offers(self):
        wanted = {**OFFERED, ("run", "--transport="): ["rc", "uc", "ud"], ("--v",): ["--version"]}
        self.assertEqual(dict(zip(wanted, self.completed(wanted))), wanted)


class Fish(unittest.TestCase):
    def completed(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("rdmameter.fish", generated("fish")), ("result.json", "")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            line = " ".join(("rdmameter",) + words)
            result = subprocess.run(["fish", "-c", f"source rdmameter.fish; complete -C '{line}'"], capture_output=True, text=True,
                                    timeout=60, check=True, cwd=folder, env={**os.environ, "HOME": folder})
        self.assertEqual(result.stderr, "")
        return [each.partition("\t")[0] for each in result.stdout.splitlines()]

    @unittest.skipUnless(shutil.which("fish"), "no fish here")
    def test_offers_what_bash_offers(self):
        for words, offered in OFFERED.items():
            self.assertEqual(sorted(self.completed(*words)), offered, words)
        self.assertEqual(sorted(self.completed("run", "--transport=")), ["--transport=rc", "--transport=uc", "--transport=ud"])
        self.assertEqual(self.completed("--v"), ["--version"])
        self.assertEqual(set(self.completed("")), set(COMMANDS))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
