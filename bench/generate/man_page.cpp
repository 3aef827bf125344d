// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/generate/command_tree.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// Text of ours as roff prints it: its escapes mean themselves, '-' can be copied into a shell, and
/// no line is a request.
std::string roff(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    begins = c == '\n';
  }
  return result;
}

/// As it is, line by line.
std::string verbatim(std::string_view text) {
  return text.empty() ? "" : fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text));
}

std::string option_text(const OptionEntry& option) {
  std::string heading;
  for (const std::string& name : option.names)
    heading += fmt::format("{}\\fB{}\\fR", heading.empty() ? "" : ", ", roff(name));
  if (!option.value.empty()) heading += fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", heading, roff(option.text));
}

std::string command_text(const CommandEntry& command) {
  std::string text = fmt::format(".SH {}\n{}\n{}", roff(upper_case(command.name())),
                                 roff(one_line(command.summary)), verbatim(command.usage));
  for (const OptionEntry& positional : command.positionals) text += option_text(positional);
  for (const OptionEntry& option : command.options) text += option_text(option);
  return text + verbatim(command.footer);
}

}  // namespace

std::string man_page(const std::vector<CommandEntry>& commands, const std::string& version) {
  const CommandEntry& program = commands.front();
  std::string text =
      fmt::format(".TH RDMAMETER 1 \"\" \"rdmameter {}\" \"User Commands\"\n.ad l\n.nh\n", version);
  text += fmt::format(".SH NAME\nrdmameter \\- {}\n.SH SYNOPSIS\n.nf\n",
                      roff(one_line(program.summary)));
  for (const CommandEntry& command : commands)
    if (command.path.size() == 1) text += roff(command.usage) + "\n";
  text += ".fi\n.SH DESCRIPTION\n";
  for (const CommandEntry& command : commands)
    if (command.path.size() == 1)
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name()),
                          roff(one_line(command.summary)));
  for (const OptionEntry& option : program.options) text += option_text(option);
  text += verbatim(program.footer);
  for (const CommandEntry& command : commands)
    if (!command.path.empty()) text += command_text(command);
  return text;
}

}  // namespace rdmameter
