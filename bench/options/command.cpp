// SPDX-License-Identifier: Apache-2.0
#include "bench/options/command.h"

#include <algorithm>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kHelpWidth = 80;
constexpr std::string_view kUsage = "Usage: rdmameter ";

/// Does a description begin or go on in its column?
bool is_described(std::string_view line) {
  return line.size() > kHelpColumn && line.starts_with("  ") && line[kHelpColumn] != ' ' &&
         line.substr(kHelpColumn - 2, 2) == "  ";
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

bool goes_on(std::string_view line) {
  return is_described(line) && line.find_first_not_of(' ') == kHelpColumn;
}

/// Is it a line of a usage after the first?
bool usage_goes_on(std::string_view line) {
  return line.find_first_not_of(' ') == kUsage.size();
}

/// "Usage: rdmameter ", "  rdmameter ", or the spaces before the text.
std::string_view head_of(std::string_view line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  for (const std::string_view head : {kUsage, std::string_view("rdmameter ")})
    if (line.substr(indent).starts_with(head)) return line.substr(0, indent + head.size());
  return line.substr(0, indent);
}

std::string fit_line(std::string_view line, std::size_t width) {
  if (text_width(line) <= width) return std::string(line) + "\n";
  const std::string_view head = head_of(line);
  const bool command = head.starts_with(' ') && head.ends_with("rdmameter ");
  const std::string_view rest = line.substr(head.size());
  return command ? wrap_command(head, rest, width) : wrap(head, rest, width);
}

}  // namespace

std::string fit_help(std::string_view text, std::size_t width) {
  if (width >= kHelpWidth) return std::string(text);
  const std::vector<std::string_view> lines = text_lines(text);
  std::string result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with(kUsage)) {
      std::string usage(lines[i]);
      while (i + 1 < lines.size() && usage_goes_on(lines[i + 1]))
        usage.append(" ").append(lines[++i].substr(kUsage.size()));
      result += fit_line(usage, width);
      continue;
    }
    if (!is_described(lines[i])) {
      result += fit_line(lines[i], width);
      continue;
    }
    const std::string_view head = lines[i].substr(0, kHelpColumn);
    std::string description(lines[i].substr(kHelpColumn));
    while (i + 1 < lines.size() && goes_on(lines[i + 1]))
      description.append(" ").append(lines[++i].substr(kHelpColumn));
    result += wrap(head, description, width);
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

std::string HelpLayout::make_positionals(const CLI::App* app) const {
  const std::vector<const CLI::Option*> positionals =
      app->get_options([](const CLI::Option* option) {
        return !option->get_group().empty() && option->get_positional();
      });
  return positionals.empty() ? "" : make_group("Positionals", true, positionals);
}

std::string HelpLayout::make_group(std::string group, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  if (group == kMoreAxes && !whole_) return more_axes_text(options);
  std::string text = "\n" + (group == "OPTIONS" ? "Options" : group) + ":\n";
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
