// SPDX-License-Identifier: Apache-2.0
// Topology results of an imaginary cluster whose costs are known, the same at every run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result/row.h"

namespace rdmameter {

/// What a message costs in the imaginary cluster.
struct SampleCosts {
  double alpha_ns = 2'000;  ///< one way between neighbours, of no bytes
  double beta_ns_per_byte = 0.1;
  double per_hop_ns = 3'000;  ///< beyond the first
  double spread = 0.01;       ///< of a repetition, and of a pair: relative, one standard deviation
  double straggler = 1;       ///< factor on all that the last rank sends or gets
};

/// Neighbours of each rank in a "mesh", "ring" or "hypercube".
std::vector<std::vector<std::uint32_t>> sample_graph(const std::string& graph, std::uint64_t ranks);

/// Hops of a shortest path from `from` to each rank.
std::vector<std::uint64_t> sample_distances(const std::vector<std::vector<std::uint32_t>>& graph,
                                            std::uint32_t from);

/// Latencies of all pairs, one at a time: matrix and histograms by hops.
Row pairs_row(const std::string& graph, std::uint64_t ranks, std::uint64_t size_bytes,
              std::uint64_t repetition, std::uint64_t repetitions, const SampleCosts& costs = {});

/// Bandwidth of an exchange of all with all.
/// Among so many ranks that the matrix is summarised: from rank 7 to 20 takes twice as long.
Row summarised_row(std::uint64_t ranks, std::uint64_t repetition, std::uint64_t repetitions);

Row alltoall_row(const std::string& graph, std::uint64_t ranks, std::uint64_t size_bytes,
                 std::uint64_t repetition, std::uint64_t repetitions,
                 const SampleCosts& costs = {});

/// The context of a run of so many ranks on two hosts.
nlohmann::ordered_json topology_context(std::uint64_t ranks);

/// Mesh, ring and hypercube of 2, 4 and 8 ranks, two sizes, both traffics, two repetitions; a ring
/// of 6 ranks with a straggler, one row that was skipped.
std::vector<Row> topology_rows();

}  // namespace rdmameter
