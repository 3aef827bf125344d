// SPDX-License-Identifier: Apache-2.0
// The options of perftest (release 4.5 and its sources of July 2026), and what each becomes here. A
// new one is an entry here and, where it takes more than an axis, a line in translate.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/perftest/tool.h"

namespace rdmameter {

struct PerftestOption {
  enum class Fate {
    axis,     ///< one of our axes, which takes the value as it is
    meaning,  ///< translate.cpp or the report knows what it means
    nothing,  ///< taken, and changes nothing; `becomes` says why
    refused,  ///< `becomes` says what to do instead
    alias,    ///< another name of the option that `becomes` names
  };
  char letter;             ///< of the short form; 0: there is none
  std::string_view name;   ///< of the long form, without dashes
  std::string_view value;  ///< what help calls its value; empty: it takes none
  Fate fate;
  std::string_view becomes;
  std::string_view help;  ///< empty: not listed by --help
  unsigned tools = ~0U;   ///< the tools that have it, see option_table.cpp

  bool applies(const PerftestTool& tool) const noexcept;
  /// "-s, --size", "--report_gbits"
  std::string text() const;
};

/// A pong of UC or UD that comes later is lost, where perftest waits for ever: longer than a busy
/// machine keeps one from its core. As a value, and as a message says it.
inline constexpr std::string_view kPongIsLostAfter = "1s", kWithinThat = "within 1 s:";

/// Why a bandwidth test takes no rate, and what does.
inline constexpr std::string_view kPerftestPaced =
    "a bandwidth test goes as fast as the device; for the latency at a given rate: `rdmameter run "
    "HOST write_load --rate RATE`";

/// Every option, in the order of perftest's help.
std::span<const PerftestOption> perftest_options();

/// The entry with this long name, which must exist.
const PerftestOption& perftest_option(std::string_view name);

/// Our options that a letter's entries become: "--size" for 's'.
std::vector<std::string> options_of_perftest_letter(char letter);

/// `ib_write_bw --help`: laid out as perftest's, since scripts read it.
/// @param width  of its lines [columns]; an option and its value stay together
std::string perftest_help(const PerftestTool& tool, std::size_t width);

/// The whole table for docs/perftest.md.
std::string perftest_options_markdown();

/// The whole table, a paragraph for each option. @param width  of its lines [columns]
std::string perftest_options_text(std::size_t width);

}  // namespace rdmameter
