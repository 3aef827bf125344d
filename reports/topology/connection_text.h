// SPDX-License-Identifier: Apache-2.0
// How rate, latency and memory grow with active connections, at a terminal.
#pragma once

#include <span>
#include <string>

#include "core/result/result_file.h"
#include "reports/text/table.h"
#include "reports/topology/connection_curves.h"

namespace rdmameter {

/// Knees, a plot of the rates for each opcode, a table for each curve. Empty: no row is of
/// `topo connections`.
std::string connection_text(const ResultFile& file, const TextStyle& style);

/// A line for each number of connections of all curves.
Table connection_table(std::span<const ConnectionCurve> curves);

}  // namespace rdmameter
