// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

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

/// Blanks stay as many as they are; a line may be broken at the last of several.
std::string kept_blanks(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i)
    kept += text[i] == ' ' && i + 1 < text.size() && text[i + 1] == ' ' ? "\\ "
                                                                        : std::string(1, text[i]);
  return kept;
}

/// Lines as they are, from the left edge to the right one, where man(1) leaves two columns, so that
/// those made for 80 columns fit into them. On a narrower terminal what does not fit goes on
/// beneath, further in.
std::string verbatim(std::string_view text) {
  constexpr std::size_t kFurther = 4;
  std::string lines = ".PP\n.ll +2n\n";
  for (const std::string_view line : text_lines(text)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    lines += fmt::format(".in {}n\n.ti {}n\n{}\n", indent + kFurther, indent,
                         kept_blanks(roff(line.substr(indent))));
  }
  return lines + ".br\n.in\n.ll -2n\n";
}

/// Filled, a longer one indented after its first line.
std::string usage_text_of(std::string_view usage) {
  return fmt::format(".HP 7\n{}\n", roff(usage));
}

/// Paragraphs, which are filled unless lines of theirs are indented: lists and examples.
std::string paragraphs(std::string_view text) {
  std::string paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    const std::string_view paragraph = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    if (paragraph.empty()) continue;
    const bool filled = !paragraph.starts_with(' ') && paragraph.find("\n ") == paragraph.npos;
    paragraphs += filled ? fmt::format(".PP\n{}\n", roff(one_line(std::string(paragraph))))
                         : verbatim(paragraph);
  }
  return paragraphs;
}

std::string option_text(const OptionEntry& option) {
  std::string heading;
  for (const std::string& name : option.names)
    add_item(heading, fmt::format("\\fB{}\\fR", roff(name)));
  if (!option.value.empty()) heading += fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", heading, roff(option.text));
}

/// @param told  the footer stands in the page already
std::string command_text(const CommandEntry& command, bool told) {
  std::string text = fmt::format(".SH {}\n{}\n{}", roff(upper_case(command.name)),
                                 roff(one_line(command.summary)), usage_text_of(command.usage));
  for (const OptionEntry& positional : command.positionals) text += option_text(positional);
  for (const OptionEntry& option : command.options) text += option_text(option);
  return told ? text : text + paragraphs(command.footer);
}

}  // namespace

std::string man_page(const std::vector<CommandEntry>& commands) {
  const CommandEntry& program = commands.front();
  // AD: groff 1.23 adjusts lines again as it says, at each paragraph.
  std::string text = ".TH RDMAMETER 1 \"\" \"rdmameter " RDMAMETER_VERSION
                     "\" \"User Commands\"\n.ad l\n.ds AD l\n.nh\n";
  text += fmt::format(".SH NAME\nrdmameter \\- {}\n.SH SYNOPSIS\n.PD 0\n",
                      roff(one_line(program.summary)));
  for (const CommandEntry& command : commands)
    if (command.depth == 1) text += usage_text_of(command.usage);
  text += ".PD\n.SH DESCRIPTION\n";
  for (const CommandEntry& command : commands)
    if (command.depth == 1)
      text +=
          fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name), roff(one_line(command.summary)));
  for (const OptionEntry& option : program.options) text += option_text(option);
  text += paragraphs(program.footer);
  std::set<std::string> told;
  for (const CommandEntry& command : commands)
    if (!command.name.empty()) text += command_text(command, !told.insert(command.footer).second);
  return text;
}

}  // namespace rdmameter
