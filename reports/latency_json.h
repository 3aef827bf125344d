// SPDX-License-Identifier: Apache-2.0
// A latency of a result file, written and read. docs/results.md says what each key means.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/checked_json.h"
#include "reports/latency_data.h"

namespace rdmameter {

/// "round_trip", "completion"...
const char* definition_name(LatencyData::Definition definition);

/// Definition, statistics (null without samples, or with too few for a percentile), histogram.
nlohmann::ordered_json latency_to_json(const LatencyData& data);

/// Reads definition and histogram; the statistics are not looked at but derived anew.
/// @param precision_bits  out: that the histogram was recorded with; what is returned has ours
/// @throws UsageError  naming the key and the reason
LatencyData read_latency(const CheckedJson& json, unsigned& precision_bits);

}  // namespace rdmameter
