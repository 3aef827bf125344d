// SPDX-License-Identifier: Apache-2.0
// What a cross product would do, told before it is done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases/cases.h"

namespace rdmameter {

struct DryRun {
  std::string text;  ///< the cases with why some are skipped; how many measurements; what is known
                     ///< of their time; the memory of each end
  bool measures;     ///< would anything be measured?
};
/// @param at_most  the repetitions are the most that there may be, and so is what they take
DryRun dry_run(const std::vector<PlannedCase>& cases, std::uint64_t repetitions,
               bool at_most = false);

}  // namespace rdmameter
