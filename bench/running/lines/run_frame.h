// SPDX-License-Identifier: Apache-2.0
// What stands before and behind the rows of a run at a terminal: what is measured, what came of it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/running/runner.h"

namespace rdmameter {

/// The device, link, MTU and GID of both ends, then what the names of all cases have in common, a
/// line or more for each.
/// @param context  of the result; ends without a device (the null device has one) are left out
/// @param common   "iterations:2000"
/// @param width    of the terminal [columns]
std::string run_header(const nlohmann::ordered_json& context,
                       const std::vector<std::string>& common, std::size_t width);

/// How many cases of a run were measured, failed or were skipped.
struct RunCount {
  RunTally rows;
  std::size_t cases = 0;                                          ///< that were measured
  std::vector<std::pair<std::string, std::size_t>> reasons = {};  ///< why others were skipped
};

/// How many were measured, skipped and failed, and why; what to type next.
/// @param output  the result file; empty or "-": none that could be shown
std::string run_summary(const RunCount& count, double elapsed_s, const std::string& output,
                        std::size_t width);

}  // namespace rdmameter
