// SPDX-License-Identifier: Apache-2.0
// rdmameter report, as a function that `ci` calls, too: it prints, writes and throws as the
// subcommand does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/options/command.h"
#include "bench/options/result_options.h"

namespace rdmameter {

struct ReportArguments {
  std::vector<std::string> files, cases;
  std::string output;
  std::optional<std::uint64_t> memory_budget_bytes = {};  ///< of a rank of a topology
  VerdictOptions how = {};                                ///< of a page of `ci`
};
ExitStatus write_report(const ReportArguments& options);

}  // namespace rdmameter
