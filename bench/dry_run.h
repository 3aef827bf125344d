// SPDX-License-Identifier: Apache-2.0
// What a cross product would do, told before it is done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases.h"

namespace rdmameter {

/// The cases with why some are skipped; how many measurements; what is known of their time; the
/// memory of each end.
std::string dry_run_text(const std::vector<PlannedCase>& cases, std::uint64_t repetitions);

}  // namespace rdmameter
