// SPDX-License-Identifier: Apache-2.0
// Pictures of a topology case as SVG, which need no JavaScript.
#pragma once

#include <string>

#include "reports/topology/cases.h"
#include "reports/topology/matrix_text.h"

namespace rdmameter {

/// The matrix of latencies or bandwidths, the darker the slower, with the scale beneath; a cell
/// says its ranks and number under the pointer, unless several ranks share it. A straggler's row
/// and column are framed, failed pairs crossed.
/// @return empty for a matrix without a time
std::string matrix_svg(const Matrix& matrix_ns, const std::optional<Straggler>& straggler,
                       const RankCells& failed = {}, const PairNumbers& numbers = {});

/// The ranks where their graph has its places, and the edges between them; a straggler stands out.
/// @return empty where the edges are not known, or too many to be told apart
std::string graph_svg(const TopologyData& topology, const std::optional<Straggler>& straggler);

}  // namespace rdmameter
