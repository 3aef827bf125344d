// SPDX-License-Identifier: Apache-2.0
// How fast the links of a result are: what its bandwidths are held against.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "core/result/row.h"

namespace rdmameter {

/// The rate of the slower of the two ends' links [Gb/s]; nothing: it is not known, or the messages
/// of this run pass no link (one device at both ends, a device in software).
/// @param context  of the result
std::optional<double> line_rate_gbps(const nlohmann::ordered_json& context);

/// What the messages of a row may fill of that [Gb/s]: twice of it where both ends send; nothing of
/// a test over TCP, which may pass another link.
std::optional<double> line_rate_gbps(std::optional<double> of_the_link, const Row& row);

/// The row's bandwidth as a percentage of that; nothing: one of both is not known.
std::optional<double> line_percent(std::optional<double> of_the_link, const Row& row);

}  // namespace rdmameter
