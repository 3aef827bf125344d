// SPDX-License-Identifier: Apache-2.0
// The matrix of latencies or bandwidths between ranks as shades and numbers, at a terminal.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/text/text.h"
#include "reports/topology/cases.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

/// Pairs of ranks: from, to.
using RankCells = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// The matrix with blocks of so many ranks as one, each as slow as its slowest; nothing is a time
/// of 0.
Matrix blocks_of(const Matrix& matrix_ns, std::size_t together);

/// A line for each rank, a cell for each peer, the darker the longer, with the time where that
/// fits; where cells alone do not fit, several ranks share one, which is as dark as the longest of
/// them. Below it, what the shades mean.
/// @param failed   crossed, where they have no time
/// @param numbers  what is told of the times
/// @return empty for a matrix without a time
std::string draw_matrix(const Matrix& matrix_ns, const TextStyle& style,
                        const RankCells& failed = {}, const PairNumbers& numbers = {});

// ---- What a matrix says of pairs within a host and between hosts: they have little in common.

/// "median by kind of pair: same host 1.02 µs, other host 5.11 µs"; empty: all pairs are of one
/// kind, or it is not known where the ranks were.
/// @param matrix_ns  of the case
std::string matrix_kinds_text(const TopologyCase& one, const Matrix& matrix_ns);

// ---- Pairs of ranks that could not be measured, and why.

/// The pairs that failed in any repetition.
RankCells failed_cells(const TopologyCase& one);

/// A sentence for each two ranks, without its full stop, of at most eight of them; and how many
/// more there are. Of a reason its first sentence.
/// @param context  of the result, for the names of hosts
std::vector<std::string> failed_pairs_text(const TopologyCase& one, const Json& context);

}  // namespace rdmameter
