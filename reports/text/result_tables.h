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

/// A line for each case: the axes that vary; where cases are repeated at least one column, for the
/// sign of their ranges.
Table key_table(const Group& group);

/// Beneath a table of medians what its signs mean; empty: it has none.
std::string legend(const Group& group, const Table& table, const TextStyle& style);

/// Adds the medians of min, percentiles, max and mean, in one unit.
/// @param cases  all repetitions of which have latencies
void add_latencies(Table& table, CasesOfTable cases);

/// A line for each case, and beneath it how its repetitions differ. Empty: no case has such
/// numbers. Groups may be joined.
std::string latency_table(const Group& group, const TextStyle& style);
/// @param line_rate_gbps  of the result; nothing: no share of it is shown
std::string bandwidth_table(const Group& group, std::optional<double> line_rate_gbps,
                            const TextStyle& style);

}  // namespace rdmameter
