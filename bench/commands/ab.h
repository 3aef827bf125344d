// SPDX-License-Identifier: Apache-2.0
// rdmameter ab, as a function that `ci` calls, too: it prints, writes and throws as
// the subcommand does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/options/command.h"
#include "bench/options/result_options.h"

namespace rdmameter {

struct AbArguments {
  std::string a, b;
  std::optional<std::uint64_t> blocks;
  std::uint64_t budget_ns = 0;  ///< 0: no limit
  std::string output;
  bool against_itself = false, confirm = false;
  std::vector<std::string> common;
  VerdictOptions verdict;
};
ExitStatus measure_and_compare(const AbArguments& options, const Invocation& invocation);

}  // namespace rdmameter
