// SPDX-License-Identifier: Apache-2.0
// The tables of cases of a kind, and the columns that a page has of them, too.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "reports/summary/summary.h"
#include "reports/summary/unit.h"
#include "reports/text/table.h"

namespace rdmameter {

/// The remark of a table that has kUnknown.
inline constexpr const char* kTooFewSamples = "–: too few samples. ";

using CasesOfTable = std::span<const CaseSummary* const>;

/// Adds medians over the repetitions, half their range as notes of repeated cases; no column where
/// no case has such a number.
/// @param column        its head and unit
/// @param max_decimals  0: whole numbers
void add_medians(Table& table, CasesOfTable cases, Table::Column column, const Unit& unit,
                 int max_decimals, const std::function<std::optional<double>(const Row&)>& number);

/// Adds the medians of min, percentiles, max and mean, in one unit.
/// @param cases  all repetitions of which have latencies
void add_latencies(Table& table, CasesOfTable cases);

/// Adds the medians of load_metrics(); no column for unsent requests where there were none.
/// @param cases  all repetitions of which are of open loops
void add_load(Table& table, CasesOfTable cases);

/// Adds the medians of sweep_metrics().
/// @param cases  all repetitions of which are sweeps
void add_sweep(Table& table, CasesOfTable cases);

/// What the numbers of sweeps do not tell, such as why there are none. @param cases  as above
std::string sweep_remarks(CasesOfTable cases);

/// A line for each case, and beneath it how its repetitions differ. Empty: no case has such
/// numbers. Groups may be joined.
std::string latency_table(const Group& group, const TextStyle& style);
/// @param line_rate_gbps  of the result; nothing: no share of it is shown
std::string bandwidth_table(const Group& group, std::optional<double> line_rate_gbps,
                            const TextStyle& style);

/// Of an open loop what was offered and reached, how many requests waited, service and lateness.
std::string load_table(const Group& group, const TextStyle& style);

/// Of latencies over time how much p50 and p99 vary, and in which interval the longest sample is.
std::string over_time_table(const Group& group, const TextStyle& style);

/// Of sweeps where latency over load bends, and the rates that say so.
std::string sweep_table(const Group& group, const TextStyle& style);

}  // namespace rdmameter
