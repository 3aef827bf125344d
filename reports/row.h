// SPDX-License-Identifier: Apache-2.0
// One repetition of one case as plain data: what a row of a result file says.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "reports/latency_data.h"
#include "reports/topology_row.h"

namespace rdmameter {

struct BandwidthData {
  std::uint64_t messages = 0;  ///< counted in the window
  std::uint64_t bytes = 0;     ///< payload of those
  std::uint64_t window_ns = 0;
  enum class CountedBy { initiator, receiver };
  CountedBy counted_by = CountedBy::initiator;
  bool injected = false;  ///< plain UC write: nobody knows what arrived
  std::uint64_t traffic_messages = 0, traffic_ns = 0;  ///< all of it, first post to last completion
  std::optional<std::uint64_t> sent, received;         ///< whole traffic, where the receiver counts
  std::optional<std::uint64_t> duplicated, reordered;  ///< of those received, where numbers tell
};

struct Row {
  std::string name;  ///< test/transport/key:value...
  nlohmann::ordered_json case_object;
  enum class Status { ok, error, skipped };
  Status status = Status::ok;
  std::string message;  ///< of an error or a skip
  std::uint64_t repetition = 0, repetitions = 1;
  std::uint64_t family_index = 0;  ///< which case
  std::uint64_t iterations = 0;
  double real_time_ns = 0, cpu_time_ns = 0;  ///< per operation
  std::optional<LatencyData> latency;
  std::optional<BandwidthData> bandwidth;
  std::optional<TopologyData> topology;
  std::optional<std::uint64_t> lost;       ///< UC/UD pings without a pong
  nlohmann::ordered_json device_counters;  ///< {"initiator":{...},"responder":{...}}; null: none
  nlohmann::ordered_json work;             ///< {"wrs":..,"doorbells":..,"cqes":..,"polls":..}
  nlohmann::ordered_json resources;
  nlohmann::ordered_json more;  ///< further keys of the row ("path", "shared_responder"...)
};

}  // namespace rdmameter
