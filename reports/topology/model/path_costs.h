// SPDX-License-Identifier: Apache-2.0
// What a message costs on each kind of path between two ranks, fitted to the matrices of a result:
// within a host and between hosts, each with coefficients of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result/result_file.h"
#include "reports/topology/model/costs.h"
#include "reports/topology/model/rank_places.h"

namespace rdmameter {

struct PathCosts {
  ByKind<KnownCosts> of_kind;
  /// Nothing: hosts have different numbers, or not one after the other.
  std::optional<std::uint64_t> ranks_per_host;
  std::uint64_t rows = 0;           ///< that were fitted
  std::uint64_t yielding = 0;       ///< rows passed over, since ranks shared cores
  std::uint64_t unknown_hosts = 0;  ///< rows passed over, since the result does not say whose ranks
                                    ///< are on one host
  double spread = 0;                ///< of a pair's time about the fit, relative, one sigma
};

/// Fits costs to the measured rows of traffic `pairs` with a matrix, over RC. Simulated rows and
/// those of ranks that shared cores tell nothing of a network.
PathCosts fit_path_costs(const ResultFile& file);

}  // namespace rdmameter
