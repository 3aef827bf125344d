// SPDX-License-Identifier: Apache-2.0
#include "bench/generate/command_tree.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cctype>

#include "core/base/parse_value.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  const std::string names = option.get_name(false, true);  // "-o,--output"; "FILE"
  for (const std::string_view name : split(names, ",")) entry.names.emplace_back(name);
  if (option.get_type_size() != 0) entry.value = option.get_type_name();
  entry.text = one_line(option.get_description());
  return entry;
}

CommandEntry command_of(const CLI::App& app, const std::string& name, std::size_t depth) {
  CommandEntry command{
      .name = name, .depth = depth, .summary = app.get_description(), .footer = app.get_footer()};
  for (const CLI::App* sub : app.get_subcommands(nullptr))
    add_item(command.subcommands, sub->get_name(), " ");
  const auto formatter = std::dynamic_pointer_cast<CLI::Formatter>(app.get_formatter());
  if (formatter) command.usage = one_line(formatter->make_usage(&app, ""));
  constexpr std::string_view kUsage = "Usage: ";
  if (command.usage.starts_with(kUsage)) command.usage.erase(0, kUsage.size());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // one that --help does not show
    (option->get_positional() ? command.positionals : command.options).push_back(entry_of(*option));
  }
  return command;
}

void add_commands(std::vector<CommandEntry>& commands, const CLI::App& app,
                  const std::string& name = "", std::size_t depth = 0) {
  commands.push_back(command_of(app, name, depth));
  for (const CLI::App* sub : app.get_subcommands(nullptr))
    add_commands(commands, *sub, depth == 0 ? sub->get_name() : name + " " + sub->get_name(),
                 depth + 1);
}

bool has_upper(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isupper(c) != 0; });
}

}  // namespace

std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; ++at) {
    const std::size_t next = text.find_first_not_of(' ', at + 1);  // of a line that is indented
    text.replace(at, std::min(next, text.size()) - at, " ");
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::string OptionEntry::words() const {
  std::string list;
  for (const std::string_view word : split(value, "|"))
    if (!word.empty() && !has_upper(word)) add_item(list, word, " ");  // N, FILE: what it is
  return list;
}

bool OptionEntry::takes_file() const {
  return value == "FILE" || value == "DIR" || value == "PATH";
}

std::vector<CommandEntry> command_tree(const CLI::App& program) {
  std::vector<CommandEntry> commands;
  add_commands(commands, program);
  return commands;
}

}  // namespace rdmameter
