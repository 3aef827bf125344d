// SPDX-License-Identifier: Apache-2.0
// Did the machine change, and not only what is measured on it?
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/compare/case_judge.h"

namespace rdmameter {

/// Canaries are what neither the network nor its device has a part in: the instrument's floor,
/// which each run measures (reading the clock, ping-pongs and streams on the null device), and
/// cases over TCP or on the null device among others.
/// @param base, other  contexts of the results
/// @return  of each that changed "clock_read_ns 8.75 -> 12.1"; empty: none did
std::vector<std::string> changed_canaries(const nlohmann::ordered_json& base,
                                          const nlohmann::ordered_json& other,
                                          const std::vector<CaseComparison>& cases);

}  // namespace rdmameter
