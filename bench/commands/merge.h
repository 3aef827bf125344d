// SPDX-License-Identifier: Apache-2.0
// rdmameter merge, as a function that `ci` calls, too: it prints, writes and throws as the
// subcommand does.
#pragma once

#include <string>
#include <vector>

#include "bench/options/command.h"

namespace rdmameter {

struct MergeArguments {
  std::vector<std::string> files;
  std::string output;
  bool allow_environment_change = false;
};
ExitStatus write_merged(const MergeArguments& options, const Invocation& invocation);

}  // namespace rdmameter
