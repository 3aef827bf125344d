// SPDX-License-Identifier: Apache-2.0
// How the program was called: what a subcommand is given when it runs.
#pragma once

#include <string>
#include <vector>

namespace rdmameter {

class InterruptSource;  // core/wire/wait.h

/// How the program was called, beyond the subcommand's own options.
struct Invocation {
  std::string command_line;                      ///< as one would type it; holds no secrets
  std::vector<std::string> arguments;            ///< the same, apart, without the program
  std::vector<std::string> benchmark_arguments;  ///< --benchmark_*
  InterruptSource& interrupt;
};

}  // namespace rdmameter
