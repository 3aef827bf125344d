// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/command_line.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>

#include "bench/cases/nearest.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

using OptionFate = PerftestOption::Fate;

/// getopt_long() returns this plus the index of the entry.
constexpr int kRowBase = 0x1000;

const PerftestOption& canonical(const PerftestOption& option) {
  return option.fate == OptionFate::alias ? perftest_option(option.becomes) : option;
}

int code_of(const PerftestOption& option) {
  return kRowBase + static_cast<int>(&canonical(option) - perftest_options().data());
}

/// The table as getopt_long() wants it. The leading ':' tells a missing value from
/// an unknown option.
struct GetoptTable {
  std::string letters = ":";
  std::vector<option> names;

  GetoptTable() {
    for (const PerftestOption& row : perftest_options()) {
      const bool takes = !row.value.empty();
      names.push_back(
          {row.name.data(), takes ? required_argument : no_argument, nullptr, code_of(row)});
      if (row.letter == 0) continue;
      letters += row.letter;
      if (takes) letters += ':';
    }
    names.push_back({});
  }
};

const PerftestOption* option_of(int code) {
  if (code >= kRowBase) return &perftest_options()[static_cast<std::size_t>(code - kRowBase)];
  for (const PerftestOption& row : perftest_options())
    if (row.letter == code) return &canonical(row);
  return nullptr;
}

/// @param typed  what getopt_long() knows no option for, or several
[[noreturn]] void refuse_unknown(const PerftestTool& tool, const std::string& typed) {
  const std::string name = typed.substr(0, typed.find('='));
  std::vector<std::string> known;
  for (const PerftestOption& row : perftest_options())
    known.push_back(fmt::format("--{}", row.name));
  const bool is_long = name.starts_with("--");
  const auto begins = [&](const std::string& option) { return option.starts_with(name); };
  if (is_long && std::ranges::any_of(known, begins))
    throw UsageError(
        fmt::format("{}: '{}' is short for several options: write it in full ('{} "
                    "--help' lists the options)",
                    tool.name, name, tool.name));
  const std::vector<std::string_view> views(known.begin(), known.end());
  throw UsageError(fmt::format("{} has no option '{}'{} ('{} --help' lists the options)", tool.name,
                               name, is_long ? did_you_mean(name, views) : "", tool.name));
}

void check_fate(const PerftestTool& tool, const PerftestOption& option) {
  if (option.fate == OptionFate::refused)
    throw UsageError(fmt::format("{}: {}", option.text(), option.becomes));
  if (!option.applies(tool))
    throw UsageError(fmt::format("{}: {} has no such option ('{} --help' lists its options)",
                                 option.text(), tool.name, tool.name));
}

void keep(PerftestCommand& command, const PerftestOption& option, const std::string& value) {
  check_fate(*command.tool, option);
  command.given[option.name] = value;  // the last one wins: wrappers append theirs
}

}  // namespace

std::optional<std::string> PerftestCommand::value(std::string_view option) const {
  const auto found = given.find(option);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

PerftestCommand read_perftest_command(const PerftestTool& tool,
                                      const std::vector<std::string>& arguments) {
  static const GetoptTable table;
  std::vector<std::string> words{std::string(tool.name)};  // getopt_long() reorders pointers only
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());

  PerftestCommand command{.tool = &tool, .given = {}, .host = {}};
  optind = 0;  // glibc: begin anew
  opterr = 0;
  for (int code = 0; (code = getopt_long(argc, argv.data(), table.letters.c_str(),
                                         table.names.data(), nullptr)) != -1;) {
    const bool is_short = code == '?' || code == ':' ? optopt > 0 && optopt < kRowBase : false;
    const std::string typed = is_short ? fmt::format("-{}", static_cast<char>(optopt))
                                       : std::string(argv[static_cast<std::size_t>(optind) - 1]);
    if (code == ':' || (code == '?' && optopt >= kRowBase)) {
      const PerftestOption* row = option_of(optopt);
      throw UsageError(fmt::format("{}: {}", row == nullptr ? typed : row->text(),
                                   code == ':' ? "its value is missing" : "it takes no value"));
    }
    if (code == '?') refuse_unknown(tool, typed);
    keep(command, *option_of(code), optarg == nullptr ? "" : optarg);
  }
  if (optind < argc) command.host = argv[static_cast<std::size_t>(optind++)];
  if (optind < argc)
    throw UsageError(fmt::format("{}: one host at most, not '{}' and '{}'", tool.name, command.host,
                                 argv[static_cast<std::size_t>(optind)]));
  return command;
}

}  // namespace rdmameter
