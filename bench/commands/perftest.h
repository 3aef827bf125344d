// SPDX-License-Identifier: Apache-2.0
// perftest's command lines do not go through our parser of options: perftest's own rules apply.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/options/command.h"

namespace rdmameter {

/// Runs the test of `ib_write_bw ...`, by the program's own name, or of
/// `rdmameter perftest ib_write_bw ...`.
/// @param arguments  the whole command line, not empty
/// @return  nothing: it is neither; else the exit status, which is perftest's: 0, or 1 for every
///          failure, which has then been told
/// @throws UsageError  `rdmameter perftest` is followed by a word that is no tool's name
/// @throws Interrupted
std::optional<ExitStatus> run_perftest(
    const std::vector<std::string>& arguments, const Invocation& invocation,
    const std::function<void(const std::exception&)>& tell_error);

}  // namespace rdmameter
