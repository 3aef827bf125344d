// SPDX-License-Identifier: Apache-2.0
#include "bench/options/command.h"

#include <algorithm>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kHelpWidth = 80;
constexpr std::string_view kUsage = "Usage: rdmameter ", kProgram = "rdmameter ";

/// The column in which a usage or a description begins, and goes on in the lines below; 0: the line
/// has neither.
std::size_t column_of_text(std::string_view line) {
  if (line.starts_with(kUsage)) return kUsage.size();
  const bool described = line.size() > kHelpColumn && line.starts_with("  ") &&
                         line[kHelpColumn] != ' ' && line.substr(kHelpColumn - 2, 2) == "  ";
  return described ? kHelpColumn : 0;
}

/// "  NAME   DESCRIPTION", the description in its column, from the next line on where the
/// name is long.
std::string described(const std::string& name, std::string_view description) {
  const std::string indent(kHelpColumn, ' ');
  std::string text = "  " + name;
  text += text.size() >= kHelpColumn ? "\n" + indent : indent.substr(text.size());
  for (const char c : description) {
    text += c;
    if (c == '\n') text += indent;
  }
  return text + "\n";
}

/// What --help shows of kMoreAxes: their names.
std::string more_axes_text(const std::vector<const CLI::Option*>& options) {
  std::string names;
  for (const CLI::Option* option : options) names += option->get_name() + " ";
  return std::string("\n") + kMoreAxes +
         ", which --help-all describes, and --help AXIS one of them:\n" + wrap("  ", names, 79);
}

/// Goes on below "rdmameter ", or below the first character.
std::string fit_line(std::string_view line, std::size_t width) {
  if (text_width(line) <= width) return std::string(line) + "\n";
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const bool program = line.substr(indent).starts_with(kProgram);
  const std::size_t head = indent + (program ? kProgram.size() : 0);
  const std::string_view before = line.substr(0, head), rest = line.substr(head);
  return program && indent > 0 ? wrap_command(before, rest, width) : wrap(before, rest, width);
}

}  // namespace

std::string fit_help(std::string_view help, std::size_t width) {
  if (width >= kHelpWidth) return std::string(help);
  const std::vector<std::string_view> lines = text_lines(help);
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const std::size_t column = column_of_text(line);
    if (column == 0) {
      result += fit_line(line, width);
      continue;
    }
    std::string text(line.substr(column));
    while (i + 1 < lines.size() && lines[i + 1].find_first_not_of(' ') == column)
      text.append(" ").append(lines[++i].substr(column));
    result += wrap(line.substr(0, column), text, width);
  }
  return result;
}

std::string help_text(std::string_view description) {
  std::string lines = wrap("", description, 79 - kHelpColumn);
  lines.pop_back();  // CLI11 ends the line itself
  return lines;
}

std::string usage_text(std::string_view call) {
  return wrap(kUsage, call, kHelpWidth - 1);
}

std::string HelpLayout::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
  whole_ = mode == CLI::AppFormatMode::All;
  return app->get_description() + "\n" + make_usage(app, std::move(name)) + make_positionals(app) +
         make_groups(app, mode) + make_subcommands(app, mode) + "\n" + app->get_footer() + "\n";
}

std::string HelpLayout::make_group(std::string group, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  if (group == kMoreAxes && !whole_) return more_axes_text(options);
  if (is_positional) group = "Positionals";
  if (group == "OPTIONS") group = "Options";
  std::string text = "\n" + group + ":\n";
  for (const CLI::Option* option : options) text += make_option(option, is_positional);
  return text;
}

std::string HelpLayout::make_option(const CLI::Option* option, bool is_positional) const {
  return described(make_option_name(option, is_positional) + make_option_opts(option),
                   option->get_description());
}

std::string HelpLayout::make_subcommands(const CLI::App* app, CLI::AppFormatMode) const {
  std::string text;
  for (const CLI::App* sub : app->get_subcommands(nullptr))
    text += described(sub->get_name(), sub->get_description());
  return text.empty() ? "" : "\nSubcommands:\n" + text;
}

}  // namespace rdmameter
