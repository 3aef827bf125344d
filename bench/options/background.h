// SPDX-License-Identifier: Apache-2.0
// --background: traffic that goes on beside a case, as people type it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/cases.h"

namespace rdmameter {

/// @param texts  each a test with traffic, and axes with one value each: "write_bw --size 64K"
/// @throws UsageError  naming --background and what is wrong
std::vector<std::shared_ptr<const Background>> read_backgrounds(std::span<const std::string> texts);

}  // namespace rdmameter
