// SPDX-License-Identifier: Apache-2.0
// The bandwidth of a row, from what the loops of both ends have counted.
#pragma once

#include "core/engine/measurer.h"
#include "core/result/json_text.h"
#include "core/session/report.h"

namespace rdmameter {

/// Where the receiver counts: sends whose arrival nothing tells the sender.
bool receiver_counts(const TestCase& test_case);

/// The bandwidth of one direction. A window of fewer messages than twice those that may be under
/// way says little of their rate: then the whole traffic is the window, from the first post to
/// the last completion.
/// @param sent, received  what the sender's loop counted, and the receiver's
BandwidthData bandwidth_of(const TestCase& test_case, const Report& sent, const Report& received);

/// The bandwidth of both directions: their windows open together and neither end stops before both
/// are closed, so that each rate is one under the load of the other. The window of both is the one
/// in which their messages give the sum of the rates.
BandwidthData both(const BandwidthData& forward, const BandwidthData& backward);

/// What each of several devices did, by what each end's loops on it counted; `bound_gbps` is not
/// known here.
/// @param sent, received  of the forward direction
/// @param back_sent, back_received  of the other; null: there is none
std::vector<DeviceData> per_device(const TestCase& test_case, const Report& sent,
                                   const Report& received, const Report* back_sent,
                                   const Report* back_received);

/// What each of several devices did in an open loop, whose initiator alone counts.
std::vector<DeviceData> per_device_of_load(const TestCase& test_case, const Side& initiator);

/// "messages", "window_ns", and where they are counted "sent", "received".
Json direction_json(const BandwidthData& one);

}  // namespace rdmameter
