// SPDX-License-Identifier: Apache-2.0
// A latency as plain data: what was timed, and the samples.
#pragma once

#include "core/histogram_data.h"

namespace rdmameter {

struct LatencyData {
  enum class Definition { round_trip, completion, call, exchange };
  Definition definition = Definition::round_trip;
  HistogramData histogram;
  bool half_round_trip = false;  ///< derive and print it (ping-pong tests)
};

}  // namespace rdmameter
