// SPDX-License-Identifier: Apache-2.0
// The matrix of latencies between ranks as shades, at a terminal.
#pragma once

#include <string>

#include "reports/text/text.h"
#include "reports/topology/straggler.h"

namespace rdmameter {

/// A line for each rank, a cell for each peer, the darker the longer; where they do not fit,
/// several ranks share a cell, which is as dark as the longest of them. Below it, what the shades
/// mean.
/// @return empty for a matrix without a time
std::string draw_matrix(const Matrix& matrix_ns, const TextStyle& style);

}  // namespace rdmameter
