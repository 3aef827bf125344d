// SPDX-License-Identifier: Apache-2.0
#include "bench/options/command.h"

#include <algorithm>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// Where the descriptions of options begin, and for how many columns texts are made.
constexpr std::size_t kHelpColumn = 30, kHelpWidth = 80;
constexpr std::string_view kProgram = "rdmameter ";

/// Of lines that are broken here [columns].
std::size_t line_width() {
  return std::min(terminal_style().width, kHelpWidth - 1);
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

/// Lines that are made for kHelpWidth, broken anew where the terminal is narrower.
std::string fit_lines(std::string_view text) {
  std::string lines;
  for (const std::string_view line : text_lines(text))
    lines += fit_line(line, terminal_style().width);
  return lines;
}

/// "  NAME   DESCRIPTION", the description in its column, from the next line on where the
/// name is long.
std::string described(const std::string& name, std::string_view description) {
  const std::string head = "  " + name;
  const bool beside = head.size() < kHelpColumn;
  return (beside ? "" : fit_lines(head)) +
         wrap(pad_right(beside ? head : "", kHelpColumn), description, line_width());
}

/// What --help shows of kMoreAxes: their names.
std::string more_axes_text(const std::vector<const CLI::Option*>& options) {
  std::string names;
  for (const CLI::Option* option : options) names += option->get_name() + " ";
  return fit_lines(fmt::format("\n{}, which --help-all describes, and --help AXIS one of them:\n{}",
                               kMoreAxes, wrap("  ", names, kHelpWidth - 1)));
}

}  // namespace

CLI::Option* with_value(CLI::Option* option) {
  const std::string type = option->get_type_name();
  if (option->get_positional() || type == "SIDE") return option;
  return option->check(
      [name = option->get_name()](const std::string& value) {
        if (value.empty()) throw UsageError("{}: takes a value, and got an empty text", name);
        return std::string();
      },
      "");
}

std::string usage_text(std::string_view call) {
  return wrap("Usage: rdmameter ", call, line_width());
}

std::string HelpLayout::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
  whole_ = mode == CLI::AppFormatMode::All;
  return fit_lines(app->get_description() + "\n") + make_usage(app, std::move(name)) +
         make_positionals(app) + make_groups(app, mode) + make_subcommands(app, mode) + "\n" +
         fit_lines(app->get_footer() + "\n");
}

std::string HelpLayout::make_group(std::string group, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  if (group == kMoreAxes && !whole_) return more_axes_text(options);
  if (is_positional) group = "Positionals";
  if (group == "OPTIONS") group = "Options";
  std::string text = "\n" + fit_lines(group + ":");
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
