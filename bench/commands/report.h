// SPDX-License-Identifier: Apache-2.0
// rdmameter report, as a function that `ci` calls, too: it prints, writes and throws as the
// subcommand does.
#pragma once

#include <string>
#include <vector>

#include "bench/options/command.h"

namespace rdmameter {

struct ReportArguments {
  std::vector<std::string> files, cases;
  std::string output, memory_budget;
};
ExitStatus write_report(const ReportArguments& options);

}  // namespace rdmameter
