// SPDX-License-Identifier: Apache-2.0
// A command line of perftest, read as perftest reads it: by getopt_long(3), so that options may be
// abbreviated, joined with their values, and follow the host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/perftest/option_table.h"

namespace rdmameter {

struct PerftestCommand {
  const PerftestTool* tool = nullptr;
  std::map<std::string_view, std::string> given;  ///< by the option's long name; flags: ""
  std::string host;                               ///< empty: this is the server

  bool has(std::string_view option) const { return given.contains(option); }
  /// Nothing where the option was not given.
  std::optional<std::string> value(std::string_view option) const;
};

/// @param arguments  without the tool's name
/// @throws UsageError  an option is unknown (with the nearest known), refused (with what to use
///                     instead), not this tool's, or without its value; more than one host
PerftestCommand read_perftest_command(const PerftestTool& tool,
                                      const std::vector<std::string>& arguments);

/// perftest takes 0x10 as 16. What is no such number stays as it was typed.
std::string decimal_text(const std::string& typed);

// Messages are written for `rdmameter run`, whose options perftest's tools do not have.

/// The message with each option of `rdmameter run` as perftest's option: "-c RC" for
/// "--transport rc", "-i" for "--port-num". One that perftest has not is named as an option of
/// `rdmameter run`.
std::string in_words_of_perftest(std::string_view message);

}  // namespace rdmameter
