// SPDX-License-Identifier: Apache-2.0
// The settings of a test as perftest tells them: the block above its table, and `test_info`
// of its file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/perftest/report.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The title and the settings, between two lines of dashes; empty for one number per row.
/// @param test_case    as it is in truth, where it is connected
/// @param environment  of this end; null where it is not known
std::string perftest_banner(const PerftestReport& report, const TestCase& test_case,
                            const nlohmann::ordered_json& environment);

/// `"test_info": {...}` of perftest's JSON file: its keys, a line each, which scripts look for.
std::string perftest_test_info(const PerftestReport& report, const TestCase& test_case,
                               const nlohmann::ordered_json& environment);

}  // namespace rdmameter
