// SPDX-License-Identifier: Apache-2.0
// What a matrix says of pairs within a host and between hosts: they have little in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/topology/cases.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

/// "median by kind of pair: same host 1.02 µs, other host 5.11 µs"; empty: all pairs are of one
/// kind, or it is not known where the ranks were.
/// @param matrix_ns  of the case
/// @param context    of the result, for the hosts
std::string matrix_kinds_text(const TopologyCase& one, const Matrix& matrix_ns,
                              const nlohmann::ordered_json& context);

}  // namespace rdmameter
