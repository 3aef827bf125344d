// SPDX-License-Identifier: Apache-2.0
// How fast the links of a result are: what its bandwidths are held against.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/result/row.h"

namespace rdmameter {

/// The largest share of a line rate that is believed [%]: a payload gets less than the whole line,
/// and the rest is for windows that begin and end between two completions.
inline constexpr double kMostLinePercent = 105;

/// Do messages of this run pass a link? Not between a device and itself, nor of a device in
/// software, nor where an end has no device.
/// @param context  of the result
bool passes_links(const nlohmann::ordered_json& context);

/// The rate of the slower of the two ends' links [Gb/s], or of the one that is known; nothing: none
/// is known, or the messages pass no link.
/// @param context  of the result
std::optional<double> line_rate_gbps(const nlohmann::ordered_json& context);

/// What the messages of a row may fill of that [Gb/s]: twice of it where both ends send; nothing of
/// a test over TCP, which may pass another link.
std::optional<double> line_rate_gbps(std::optional<double> of_the_link, const Row& row);

/// The row's bandwidth as a percentage of that; nothing: one of both is not known, or it is more
/// than kMostLinePercent.
std::optional<double> line_percent(std::optional<double> of_the_link, const Row& row);

/// Why there is no share although the rate is known: it would be above kMostLinePercent. Empty: it
/// is not. Two virtual functions of one port, for example, are switched within the adapter.
/// @param of_the_link  not twice of it where both ends send
/// @param percent      of what the messages may fill
std::string line_doubt(double of_the_link, double percent);
/// The same of a row.
std::string line_doubt(std::optional<double> of_the_link, const Row& row);

}  // namespace rdmameter
