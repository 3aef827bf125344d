// SPDX-License-Identifier: Apache-2.0
// The declared subcommands and options as plain data, of which the man page and the completion of
// shells are made: what --help says is said once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rdmameter {

struct OptionEntry {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional its name
  std::string value;               ///< "FILE", "rc|uc|ud"; empty: a flag
  std::string text;                ///< what it does, on one line

  std::string words() const;  ///< among the values, with blanks between; empty: there are none
  bool takes_file() const;
};

struct CommandEntry {
  std::string name;         ///< "history add"; empty: the program
  std::size_t depth = 0;    ///< words of the name
  std::string subcommands;  ///< their names, in the order of their declaration: "add show"
  std::string summary, usage, footer;
  std::vector<OptionEntry> options, positionals;
  std::string words;  ///< for positionals, beside files, with blanks between; the caller's to fill
};

/// The program, then each subcommand in the order of its declaration, before its own.
std::vector<CommandEntry> command_tree(const CLI::App& program);

/// Lines of a text become one.
std::string one_line(std::string text);

/// The man page, in roff for man(7).
std::string man_page(const std::vector<CommandEntry>& commands);

std::string bash_completion(const std::vector<CommandEntry>& commands);
std::string zsh_completion(const std::vector<CommandEntry>& commands);
std::string fish_completion(const std::vector<CommandEntry>& commands);

}  // namespace rdmameter
