// SPDX-License-Identifier: Apache-2.0
// perftest's command lines do not go through our parser of options: perftest's own rules apply.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/options/command.h"
#include "bench/perftest/tool.h"

namespace rdmameter {

struct PerftestCall {
  const PerftestTool* tool;
  std::vector<std::string> arguments;  ///< of the tool
};

/// `ib_write_bw ...` by the program's own name, or
/// `rdmameter perftest ib_write_bw ...`; nothing: neither.
/// @param arguments  the whole command line, not empty
/// @throws UsageError  `rdmameter perftest` is followed by a word that is no tool's name
std::optional<PerftestCall> perftest_call(const std::vector<std::string>& arguments);

/// Runs the test. The exit status is perftest's: 0, or 1 for every failure, which has
/// then been told.
/// @throws Interrupted
ExitStatus run_perftest(const PerftestCall& call, const Invocation& invocation,
                        const std::function<void(const std::exception&)>& tell_error);

}  // namespace rdmameter
