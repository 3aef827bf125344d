// SPDX-License-Identifier: Apache-2.0
// What an end reports once the traffic has ended: to the wire and back.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/engine/endpoint_runner.h"

namespace rdmameter {

/// Messages of each thread.
using Totals = std::vector<std::uint64_t>;

/// {"operations", "elapsed_ns", "total", "traffic_ns", "counters", "arrivals", "duplicated",
/// "reordered", "peak", "gap_limit_ns", "gaps", "verdict"}
/// @param sent  by each of the peer's threads; what arrived here, where nothing at this end counts
nlohmann::json report_to_wire(const EndpointRunner& runner, const TestCase& test_case,
                              const Totals& sent);

struct Report {
  std::uint64_t operations = 0, elapsed_ns = 0, traffic_ns = 0;
  Totals totals;
  std::uint64_t total = 0;  ///< of all threads
  Totals arrivals;          ///< of each receive queue, where there are several peers; else empty
  std::optional<Verdict> verdict;
  std::optional<std::uint64_t> duplicated,
      reordered;                 ///< of what arrived, where it carries numbers
  std::optional<PeakData> peak;  ///< of what it sent
  nlohmann::ordered_json gpu;    ///< see gpu_facts_of()
  bool data_in_order = false;    ///< promised, of a case whose messages are seen in memory
  WatchData watched;             ///< of a case with `blame`: gaps, without their times
};

/// What this end's loop counted.
Report report_of(const EndpointRunner& runner, const TestCase& test_case);

/// The peer's report of such a case; what the case does not need is not looked at.
/// @param test_case  as it is in truth, its SGEs known
/// @throws MeasurementError
Report report_from_wire(const nlohmann::json& wire, const TestCase& test_case);

/// The peer's device counters: an object of counts, or null.
/// @throws MeasurementError
nlohmann::ordered_json counters_from_wire(const nlohmann::json& wire);

/// CPU numbers that a peer has sent, at `key`.
/// @throws MeasurementError
std::vector<unsigned> cpus_from_wire(const nlohmann::json& message, std::string_view key);

/// The peer's placement_json(), at `placement`.
/// @throws MeasurementError
nlohmann::ordered_json placement_from_wire(const nlohmann::json& wire);

/// @throws MeasurementError  not so many numbers below 2^53
Totals totals_from_wire(const nlohmann::json& message, std::string_view key, std::uint64_t threads);

/// A case whose QPs are connected, as the end sees it that says so: {"case", "local", "remote"}.
/// @param test_case      as it is in truth
/// @param local, remote  introductions: Duplex::connection_info()
nlohmann::json connected_to_wire(const TestCase& test_case, const nlohmann::json& local,
                                 const nlohmann::json& remote);

}  // namespace rdmameter
