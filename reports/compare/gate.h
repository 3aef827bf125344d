// SPDX-License-Identifier: Apache-2.0
// Limits that a result must keep: 'write_lat/rc/size:64 half_round_trip.p99 <= 3us', or relative to
// BASE: 'p99=20%', 'write_lat/* p99.9=50%'. gate_check.h holds a result against them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "reports/summary/metric.h"

namespace rdmameter {

/// A limit of one metric of the cases whose name matches.
struct Gate {
  std::string text;     ///< as it was given
  std::string pattern;  ///< of the case's name; * ? [...] as a shell has them
  Metric metric = Metric::p50;
  bool half = false;  ///< of half round trips; else latencies are of round trips or completions
  std::function<bool(double value, double limit)> keeps = {};
  double limit = 0;  ///< [ns], or as bandwidth's names say
};

/// Reads "PATTERN METRIC RELATION LIMIT". METRIC: half_round_trip.p50 (and the other statistics of
/// a latency), latency.p50, bandwidth.gbps, bandwidth.mib_per_s, bandwidth.mmsg_per_s, of_line,
/// of_bound, lost. RELATION: < <= > >=. LIMIT: of times a number with ns, us, ms or s; of shares
/// one with %, or of 1; of others a number.
/// @throws UsageError  quoting the text, and saying what is wrong with it and what it takes
Gate read_gate(const std::string& text);

struct RelativeGate {
  std::string text;     ///< as it was given
  std::string pattern;  ///< of the case's name, as a shell has them
  Metric metric = Metric::p50;
  double share = 0;  ///< by which NEW's times may be above BASE's, and rates below
};

/// Reads "[CASE] METRIC=SHARE%". METRIC: p50, p90, p99, p99.9, p99.99, min, max, mean, stddev;
/// bandwidth. Nothing where the text has no '=' after a metric's name, and is no such gate.
/// @throws UsageError  quoting the text, and saying what it takes
std::optional<RelativeGate> read_relative_gate(const std::string& text);

/// Is it a gate of any kind? @throws UsageError  it is not
void require_gate(const std::string& text);

/// Is it a gate of this case? Parts of a mix have none but those whose pattern names a part.
/// @param part  is the case one?
bool is_gated(const std::string& pattern, const std::string& name, bool part);

/// Is it a gate of parts of this case? One that was not measured has none.
bool is_whole_gated(const std::string& pattern, const std::string& name);

}  // namespace rdmameter
