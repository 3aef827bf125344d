// SPDX-License-Identifier: Apache-2.0
#include "bench/arguments.h"

#include <fmt/format.h>

#include <CLI/Error.hpp>
#include <algorithm>

#include "bench/command.h"
#include "bench/nearest.h"
#include "core/case.h"
#include "core/error.h"
#include "core/parse_value.h"

namespace rdmameter {
namespace {

bool names_switch(std::string_view argument) {
  if (!argument.starts_with("--")) return false;
  const Axis* axis = find_axis(argument.substr(2));
  return axis != nullptr && is_switch(*axis);
}

/// `--verify` alone means on, as any axis that is on or off. CLI11 has no option whose value may be
/// left out before a positional.
void complete_switches(std::vector<std::string>& arguments) {
  const auto is_value = [](const std::string& text) {
    return text == "on" || text == "off" || text == "on,off" || text == "off,on";
  };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (names_switch(arguments[i]) && (i + 1 == arguments.size() || !is_value(arguments[i + 1])))
      arguments[i] += "=on";
}

/// "run", "history add"
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (parent == nullptr || parent->get_parent() == nullptr) return app.get_name();
  return parent->get_name() + " " + app.get_name();
}

[[noreturn]] void refuse_option(const CLI::App& app, const std::string& typed) {
  const std::string name = typed.substr(0, typed.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  const std::vector<std::string_view> views(known.begin(), known.end());
  throw UsageError(fmt::format("unknown option '{}'{} ('{} --help' lists the options)", name,
                               did_you_mean(name, views), full_name(app)));
}

[[noreturn]] void refuse_subcommand(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw UsageError(fmt::format("there is no subcommand '{}'{} (subcommands: {})", typed,
                               did_you_mean(typed, views), fmt::join(names, ", ")));
}

void check_rest(const CLI::App& app) {
  const auto subs = app.get_subcommands();
  if (subs.size() > 1)
    throw UsageError(fmt::format("'{}' and '{}': one subcommand at a time", subs[0]->get_name(),
                                 subs[1]->get_name()));
  const CLI::App* last = &app;  // 'history add' goes two steps down
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  std::vector<std::string> rest = app.remaining(true);
  std::erase(rest, "--");  // CLI11 keeps the mark behind which everything is positional
  if (rest.empty()) return;
  if (rest.front().starts_with('-') && rest.front() != "-") refuse_option(*last, rest.front());
  if (subs.empty()) refuse_subcommand(app, rest.front());
  throw UsageError(fmt::format("{} does not take '{}'", full_name(*last), rest.front()));
}

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:,=@%+").find(c) != std::string_view::npos;
}

}  // namespace

bool parse(CLI::App& app, std::vector<std::string> arguments) {
  complete_switches(arguments);
  std::ranges::reverse(arguments);  // what CLI11's parse(vector) wants
  try {
    app.parse(arguments);
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
    return false;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return false;
  } catch (const CLI::CallForAllHelp&) {
    fmt::print("{}", app.help("", CLI::AppFormatMode::All));
    return false;
  } catch (const CLI::ParseError& error) {  // CLI11's own exit codes are not ours
    throw UsageError(error.what());
  }
  check_rest(app);
  return true;
}

std::string shell_text(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    if (!text.empty()) text += ' ';
    if (!argument.empty() && std::ranges::all_of(argument, plain)) {
      text += argument;
      continue;
    }
    text += '\'';
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::uint64_t read_option(std::string_view option, std::string_view text, std::uint64_t least,
                          std::uint64_t most) {
  const auto value = parse_count(text);
  if (!value || *value < least || *value > most)
    throw UsageError(fmt::format("{} does not take '{}'; it takes a whole number from {} to {}",
                                 option, text, least, most));
  return *value;
}

}  // namespace rdmameter
