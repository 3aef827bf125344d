// SPDX-License-Identifier: Apache-2.0
// What a repetition of a topology case measured over all its ranks, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/latency_data.h"

namespace rdmameter {

/// Rows leave out the edges of a larger graph, and the matrix of more ranks: a file of many such
/// rows could no longer be handled.
inline constexpr std::size_t kMostEdges = 4096;
inline constexpr std::uint64_t kMostMatrixRanks = 256;

/// The most ranks that a row may tell of.
inline constexpr std::uint64_t kMostRanks = 1U << 20;

/// Vectors are empty, and optionals nothing, where they do not apply or are not known. A vector by
/// rank has one element for each.
struct TopologyData {
  std::string graph, traffic, schedule;  ///< as people type them: "torus2d:2x4", "incast:3"
  std::uint64_t ranks = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< undirected, of two ranks each

  struct Hops {
    std::uint64_t max = 0;
    double mean = 0;
  };
  std::optional<Hops> hops;  ///< over the pairs of source and destination of the traffic

  std::vector<std::uint64_t> qps_per_rank;   ///< of the graph
  std::optional<std::uint64_t> qps_total;    ///< their sum
  std::optional<std::uint64_t> barrier_qps;  ///< those of the barrier of all ranks, apart

  using Amounts = std::vector<std::pair<std::string, std::uint64_t>>;
  Amounts setup_ns;      ///< by step: resources, exchange, connect... the slowest rank's
  Amounts memory_bytes;  ///< by kind, computed: buffers, qps, cqs, mrs... of the rank with most
  Amounts kernel;        ///< of that rank, as the kernel counts it: qps, cqes, mr_bytes...

  std::optional<double> barrier_ns;  ///< median time of the RDMA barrier
  /// Median one-way time, that is half a round trip, from row to column; nothing: not measured.
  std::vector<std::vector<std::optional<double>>> matrix_ns;

  struct AtDistance {
    std::uint64_t hops = 0;
    LatencyData latency;
  };
  std::vector<AtDistance> by_hops;  ///< ascending

  std::vector<double> rank_gbps;
  std::optional<double> jain;         ///< fairness index of `rank_gbps`: 1/ranks to 1
  std::optional<double> model_share;  ///< reached, of what its model gives; may be beyond 1
  bool yielding = false;              ///< waiting loops gave up their core between polls
  nlohmann::ordered_json more;        ///< further keys, kept as they are; null: none
};

}  // namespace rdmameter
