// SPDX-License-Identifier: Apache-2.0
// What fits together badly at the two ends of a measurement.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/doctor/examination.h"

namespace rdmameter {

/// Compares the first active port of each end, which `run` takes unless it is told another.
/// @param here, peer  as examination_json() or checked_examination() makes them
/// @return  problems first; none where an end has no active port
std::vector<Finding> compare_ends(const nlohmann::ordered_json& here,
                                  const nlohmann::ordered_json& peer);

}  // namespace rdmameter
