// SPDX-License-Identifier: Apache-2.0
// Rate, latency and memory over the number of active connections, from rows of
// `topo connections`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "core/result/row.h"
#include "reports/stats/knee.h"
#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

/// One number of active connections. Of each repetition that has it:
struct ConnectionPoint {
  std::vector<double> mmsg_per_s;
  std::vector<double> p50_ns, p99_ns;  ///< one way or completion, one message at a time
  std::vector<double> lost_share;      ///< of the messages sent, where the receiver counts
  std::uint64_t memory_bytes = 0;      ///< of the end that takes more
};

/// One opcode over connections of one kind.
struct ConnectionCurve {
  std::string kind, opcode;  ///< "rc", "srq", "ud", "shared:2"; "send", "write", "read"
  std::uint64_t size_bytes = 0;
  /// By the number of active connections; those with a rate, a latency or both.
  std::map<std::uint64_t, ConnectionPoint> points;
  Knee knee;  ///< of the rates
};

/// Was the row measured by `topo connections`?
bool of_connections(const Row& row);

/// The curves in the order of the rows. Rows that failed, were skipped or interrupted are left out.
std::vector<ConnectionCurve> connection_curves(std::span<const Row> rows);

/// "write, rc: the rate falls between 64 and 65 connections: ..."
std::string knee_sentence(const ConnectionCurve& curve);

/// Why curves end where they do. @param context  of the result
std::vector<std::string> connection_limits(const Json& context);

// ---- How rate, latency and memory grow with active connections, at a terminal.

/// Knees, a plot of the rates for each opcode, a table for each curve. Empty: no row is of
/// `topo connections`.
std::string connection_text(const ResultFile& file, const TextStyle& style);

/// A line for each number of connections of all curves.
Table connection_table(std::span<const ConnectionCurve> curves);

}  // namespace rdmameter
