// SPDX-License-Identifier: Apache-2.0
// What a matrix says of pairs within a host and between hosts: they have little in common.
#pragma once

#include <string>

#include "reports/topology/cases.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

/// "median by kind of pair: same host 1.02 µs, other host 5.11 µs"; empty: all pairs are of one
/// kind, or it is not known where the ranks were.
/// @param matrix_ns  of the case
std::string matrix_kinds_text(const TopologyCase& one, const Matrix& matrix_ns);

}  // namespace rdmameter
