// SPDX-License-Identifier: Apache-2.0
// Do more samples lie far above the median than before, although the median is as it was?
#pragma once

#include <vector>

#include "reports/compare/pairing.h"
#include "reports/compare/replication.h"
#include "reports/compare/verdict.h"

namespace rdmameter {

/// The share of sweeps of identical code in which some case's shape may be suspect.
inline constexpr double kShapeRate = 0.025;

/// Latencies: the shares of samples that lie above BASE's p75, p90 and p99 by more than the floor,
/// all relative to each run's own p50, so that a second mode is seen whatever the members of the
/// case say. The shares are read off the percentiles that rows have. A case is suspect where the
/// odds of one of the shares have doubled at least, significantly among all cases. None fails by
/// its shape alone: how shapes differ from batch to batch nobody knows.
/// @param floor  a share of the latency, such as 0.03
/// @return  of each pair those that have anything to say
std::vector<std::vector<CaseFinding>> changed_shapes(const std::vector<Pair>& pairs,
                                                     const Batches& batches, double floor);

}  // namespace rdmameter
