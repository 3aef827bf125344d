// SPDX-License-Identifier: Apache-2.0
// The bandwidth of a row, from what the loops of both ends have counted.
#pragma once

#include <nlohmann/json.hpp>

#include "core/measurer.h"
#include "core/session/report.h"

namespace rdmameter {

/// Where the receiver counts: sends whose arrival nothing tells the sender.
bool receiver_counts(const Case& one_case);

/// Of one direction.
/// @param sent, received  what the sender's loop counted, and the receiver's
BandwidthTally bandwidth_of(const Case& one_case, const Report& sent, const Report& received);

/// Both directions: their windows open together and neither end stops before both are closed, so
/// that each rate is one under the load of the other. The window of both is the one in which their
/// messages give the sum of the rates.
BandwidthTally both(const BandwidthTally& forward, const BandwidthTally& backward);

/// "messages", "window_ns", and where they are counted "sent", "received".
nlohmann::ordered_json direction_json(const BandwidthTally& one);

}  // namespace rdmameter
