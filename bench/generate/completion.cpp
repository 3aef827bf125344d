// SPDX-License-Identifier: Apache-2.0
// Completion of the command line, for three shells.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench/generate/command_tree.h"
#include "bench/options/token.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::string option_names(const CommandEntry& command) {
  std::string names;
  for (const OptionEntry& option : command.options)
    for (const std::string& name : option.names) add_item(names, name, " ");
  return names;
}

/// What may stand where no option is.
std::string positional_words(const CommandEntry& command) {
  std::string words = command.subcommands;
  if (!command.words.empty()) add_item(words, command.words, " ");
  return words;
}

bool takes_files(const CommandEntry& command) {
  return command.words.empty() && !command.positionals.empty();
}

/// The first clause: what fits beside an option in a menu.
std::string brief(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(";.(")));
}

// ---- bash

std::string bash_values(const CommandEntry& command) {
  std::string text;
  for (const OptionEntry& option : command.options) {
    if (option.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names)
      patterns.push_back(fmt::format("'{} {}'", command.name, name));
    const std::string action =
        option.takes_file() ? "files=1" : fmt::format("words='{}'", option.words());
    text += fmt::format("        {}) {} ;;\n", fmt::join(patterns, " | "), action);
  }
  return text;
}

std::string bash_words(const CommandEntry& command) {
  return fmt::format("            '{} -'*) words='{}' ;;\n            '{} '*) words='{}'{} ;;\n",
                     command.name, option_names(command), command.name, positional_words(command),
                     takes_files(command) ? " files=1" : "");
}

// ---- zsh

/// Within the brackets and the message of a specification of _arguments.
std::string zsh_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return quoted_text(result);
}

std::string zsh_action(const OptionEntry& option) {
  if (option.value.empty()) return "";
  const std::string words = option.words();
  const std::string action = option.takes_file() ? "_files"
                             : words.empty()     ? " "
                                                 : fmt::format("({})", words);
  return fmt::format(":{}:{}", zsh_escaped(option.value), action);
}

/// A long option's value may follow in the same word.
std::string_view zsh_equals(std::string_view name, const OptionEntry& option) {
  return name.starts_with("--") && !option.value.empty() ? "=" : "";
}

std::string zsh_command(const CommandEntry& command) {
  std::string text = fmt::format("    '{}') _arguments", command.name);
  for (const OptionEntry& option : command.options)
    for (const std::string& name : option.names)
      text += fmt::format(" \\\n        '{}{}[{}]{}'", name, zsh_equals(name, option),
                          zsh_escaped(brief(option.text)), zsh_action(option));
  if (const std::string words = positional_words(command); !words.empty())
    text += fmt::format(" \\\n        '*: :({})'", words);
  else if (takes_files(command))
    text += " \\\n        '*:file:_files'";
  return text + " ;;\n";
}

// ---- fish

std::string fish_option(const std::string& condition, const OptionEntry& option) {
  std::string text = fmt::format("complete -c rdmameter -n '{}'", condition);
  for (const std::string& name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_file())
    text += " -r -F";
  else if (const auto words = option.words(); !words.empty())
    text += fmt::format(" -x -a '{}'", words);
  else if (!option.value.empty())
    text += " -x";
  return text + fmt::format(" -d '{}'\n", quoted_text(brief(option.text)));
}

}  // namespace

std::string bash_completion(const std::vector<CommandEntry>& commands) {
  std::string values, words;
  // The longest names first: 'history add' before 'history'.
  std::vector<CommandEntry> ordered(commands.begin() + 1, commands.end());
  std::ranges::stable_sort(ordered, std::greater{}, &CommandEntry::depth);
  std::vector<std::string> parents;
  for (const CommandEntry& command : ordered) {
    values += bash_values(command);
    words += bash_words(command);
    if (command.depth > 1) parents.push_back(fmt::format("'{}'", command.name));
  }
  return fmt::format(
      "# bash completion of rdmameter, made by 'rdmameter generate bash'\n"
      "_rdmameter() {{\n"
      "    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} words='' "
      "files=''\n"
      "    local command=${{COMP_WORDS[1]}}\n"
      "    if [ \"$COMP_CWORD\" -gt 2 ]; then\n"
      "        case \"$command ${{COMP_WORDS[2]}}\" in {}) command+=\" ${{COMP_WORDS[2]}}\" ;; "
      "esac\n"
      "    fi\n"
      "    if [ \"$COMP_CWORD\" -le 1 ]; then\n"
      "        words='{} {}'\n"
      "    else\n"
      "        case \"$command $prev\" in\n{}"
      "        *)\n"
      "            case \"$command $cur\" in\n{}            esac ;;\n"
      "        esac\n"
      "    fi\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
      "    if [ -n \"$files\" ]; then\n"
      "        compopt -o filenames 2>/dev/null\n"
      "        mapfile -t -O \"${{#COMPREPLY[@]}}\" COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "    fi\n"
      "}}\n"
      "complete -F _rdmameter rdmameter\n",
      fmt::join(parents, " | "), commands.front().subcommands, option_names(commands.front()),
      values, words);
}

std::string zsh_completion(const std::vector<CommandEntry>& commands) {
  std::string names, cases;
  std::vector<std::string> parents;
  for (const CommandEntry& command : commands) {
    if (command.name.empty()) continue;
    if (!command.subcommands.empty()) parents.push_back(command.name);
    if (command.depth == 1)
      names += fmt::format("        '{}:{}'\n", command.name, zsh_escaped(brief(command.summary)));
    cases += zsh_command(command);
  }
  return fmt::format(
      "#compdef rdmameter\n"
      "# zsh completion of rdmameter, made by 'rdmameter generate zsh'\n"
      "_rdmameter() {{\n"
      "    local -a commands=(\n{}    )\n"
      "    if (( CURRENT == 2 )); then\n"
      "        if [[ $words[2] == -* ]]; then compadd -- {}; else _describe command commands; fi\n"
      "        return\n"
      "    fi\n"
      "    local command=$words[2]\n"
      "    if [[ $command == ({}) ]] && (( CURRENT > 3 )); then\n"
      "        command=\"$command $words[3]\"\n"
      "        shift words\n"
      "        (( CURRENT-- ))\n"
      "    fi\n"
      "    shift words\n"
      "    (( CURRENT-- ))\n"
      "    case $command in\n{}    esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _rdmameter ]]; then  # else the shell sources this\n"
      "    _rdmameter \"$@\"\n"
      "else\n"
      "    compdef _rdmameter rdmameter\n"
      "fi\n",
      names, option_names(commands.front()), fmt::join(parents, "|"), cases);
}

std::string fish_completion(const std::vector<CommandEntry>& commands) {
  std::string text =
      "# fish completion of rdmameter, made by 'rdmameter generate fish'\n"
      "function __rdmameter_is_at\n"
      "    set -l words (commandline -opc)\n"
      "    test \"$words[2..]\" = \"$argv\"\n"
      "end\n"
      "function __rdmameter_is_in\n"
      "    set -l words (commandline -opc)\n"
      "    set -l last (math (count $argv) + 1)\n"
      "    test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
      "end\n"
      "complete -c rdmameter -f\n";
  for (const CommandEntry& command : commands) {
    // The words after the program's name begin with those of the command. A command that has
    // subcommands is at its end there.
    const std::string condition = fmt::format(
        "__rdmameter_{} {}", command.subcommands.empty() ? "is_in" : "is_at", command.name);
    for (const OptionEntry& option : command.options) text += fish_option(condition, option);
    if (const std::string words = positional_words(command); !words.empty())
      text += fmt::format("complete -c rdmameter -n '{}' -a '{}'\n", condition, words);
    else if (takes_files(command))
      text += fmt::format("complete -c rdmameter -n '{}' -F\n", condition);
  }
  return text;
}

}  // namespace rdmameter
