// SPDX-License-Identifier: Apache-2.0
// rdmameter compare, as a function that `ci` calls, too: it prints, writes and throws as the
// subcommand does.
#pragma once

#include <string>
#include <vector>

#include "bench/options/result_options.h"

namespace rdmameter {

struct CompareArguments {
  std::vector<std::string> files;
  VerdictOptions verdict;
};
ExitStatus compare_results(const CompareArguments& options);

}  // namespace rdmameter
