// SPDX-License-Identifier: Apache-2.0
// What a subcommand is: a function that declares its options once, with CLI11, and returns what the
// subcommand will then do. Exceptions and statuses become the process's exit in main() alone.
#pragma once

#include <CLI/App.hpp>
// What App constructs: their definitions must be where its own are.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <string>
#include <vector>

#include "bench/running/exit_status.h"

namespace rdmameter {

class InterruptSource;  // core/wire/wait.h

/// How the program was called, beyond the subcommand's own options.
struct Invocation {
  std::string command_line;                      ///< as one would type it; holds no secrets
  std::vector<std::string> arguments;            ///< the same, apart, without the program
  std::vector<std::string> benchmark_arguments;  ///< --benchmark_*
  InterruptSource& interrupt;
};

using Action = std::function<ExitStatus(const Invocation&)>;

}  // namespace rdmameter
