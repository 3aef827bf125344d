// SPDX-License-Identifier: Apache-2.0
// The matrix of latencies or bandwidths between ranks as shades and numbers, at a terminal.
#pragma once

#include <string>

#include "reports/text/text.h"
#include "reports/topology/cases.h"
#include "reports/topology/failed_pairs.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

/// A line for each rank, a cell for each peer, the darker the longer, with the time where that
/// fits; where cells alone do not fit, several ranks share one, which is as dark as the longest of
/// them. Below it, what the shades mean.
/// @param failed   crossed, where they have no time
/// @param numbers  what is told of the times
/// @return empty for a matrix without a time
std::string draw_matrix(const Matrix& matrix_ns, const TextStyle& style,
                        const RankCells& failed = {}, const PairNumbers& numbers = {});

}  // namespace rdmameter
