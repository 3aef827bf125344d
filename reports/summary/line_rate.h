// SPDX-License-Identifier: Apache-2.0
// How fast the links of a result are: what its bandwidths are held against.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace rdmameter {

/// The rate of the slower of the two ends' links [Gb/s]; nothing: it is not known, or the messages
/// of this run pass no link (one device at both ends, a device in software).
/// @param context  of the result
std::optional<double> line_rate_gbps(const nlohmann::ordered_json& context);

}  // namespace rdmameter
