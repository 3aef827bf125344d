// SPDX-License-Identifier: Apache-2.0
// What measuring a topology yields beside latency and bandwidth, over all its ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/histogram_data.h"

namespace rdmameter {

struct TopologyTally {
  enum class Sample {
    pair,      ///< a round trip between two ranks
    turn,      ///< a message's way past all ranks and back
    exchange,  ///< one exchange, from a rank's first post to its last arrival and completion
    none,
  };
  Sample sample = Sample::none;
  HistogramData latency;  ///< of all ranks

  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::uint64_t hops_max = 0;
  double hops_mean = 0;
  std::vector<std::uint64_t> qps_per_rank;
  std::uint64_t barrier_qps = 0;                                    ///< of all ranks
  std::vector<std::pair<std::string, std::uint64_t>> setup_ns;      ///< the slowest rank's, by step
  std::vector<std::pair<std::string, std::uint64_t>> memory_bytes;  ///< of the rank with most
  std::vector<std::pair<std::string, std::uint64_t>> kernel;        ///< what it counts of that rank
  std::optional<double> barrier_ns;                                 ///< median
  std::vector<std::vector<std::optional<double>>> matrix_ns;        ///< half round trips, medians
  std::vector<std::pair<std::uint64_t, HistogramData>> by_hops;
  std::vector<double> rank_gbps;  ///< empty: no bandwidth was measured
  std::optional<double> jain;
  bool yielding = false;
};

}  // namespace rdmameter
