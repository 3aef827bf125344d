// SPDX-License-Identifier: Apache-2.0
// What a cross product would do, told before it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/cases.h"

namespace rdmameter {

struct DryRun {
  std::string text;  ///< the cases with why some are skipped; how many measurements; what is known
                     ///< of their time; the memory of each end
  bool measures;     ///< would anything be measured?
};
/// @param budget_ns  of the repetitions of each case, which are at most so many
DryRun dry_run(const std::vector<PlannedCase>& cases, std::uint64_t repetitions,
               std::optional<std::uint64_t> budget_ns = std::nullopt);

}  // namespace rdmameter
