// SPDX-License-Identifier: Apache-2.0
// What an end tells of its side once the traffic has ended: to the wire and back.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/side.h"

namespace rdmameter {

/// Messages of each thread.
using Totals = std::vector<std::uint64_t>;

/// {"operations", "elapsed_ns", "total", "traffic_ns", "counters", "arrivals", "duplicated",
/// "reordered", "verdict"}
/// @param sent  by each of the peer's threads; what arrived here, where nothing at this end counts
nlohmann::json report_to_wire(const Side& side, const Case& one_case, const Totals& sent);

struct Report {
  std::uint64_t operations = 0, elapsed_ns = 0, traffic_ns = 0;
  Totals totals;
  std::uint64_t total = 0;  ///< of all threads
  Totals arrivals;          ///< of each receive queue, where there are several peers; else empty
  std::optional<Verdict> verdict;
  std::optional<std::uint64_t> duplicated,
      reordered;  ///< of what arrived, where it carries numbers
};

/// What this end's loop counted.
Report report_of(const Side& side, const Case& one_case);

/// @throws MeasurementError
Report report_from_wire(const nlohmann::json& wire, std::uint64_t threads);

/// @throws MeasurementError  not so many numbers below 2^53
Totals totals_from_wire(const nlohmann::json& message, std::string_view key, std::uint64_t threads);

}  // namespace rdmameter
