// SPDX-License-Identifier: Apache-2.0
// What stands before and behind the rows of a run at a terminal: what is measured, what came of it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/running/runner.h"

namespace rdmameter {

/// The device, link, MTU and GID of both ends, a line or more for each.
/// @param context  of the result; ends without a device (the null device has one) are left out
/// @param width    of the terminal [columns]
std::string run_header(const nlohmann::ordered_json& context, std::size_t width);

/// How many were measured, skipped and failed, and what to type next.
/// @param output  the result file; empty or "-": none that could be shown
std::string run_summary(const RunTally& tally, double elapsed_s, const std::string& output);

}  // namespace rdmameter
