// SPDX-License-Identifier: Apache-2.0
// Rows put together: the repetitions of one case, and the cases of one test.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/instrument/histogram_data.h"
#include "core/result/row.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"

namespace rdmameter {

/// The measured repetitions of one case. Borrows the rows.
struct CaseSummary {
  Json case_object;
  std::vector<const Row*> repetitions;  ///< never empty

  const Row& first() const { return *repetitions.front(); }
};

/// The measured cases of one test over one transport. Borrows the rows.
struct Group {
  std::string test, transport;
  Json constant;                     ///< case keys with one value in all cases, and that value
  std::vector<std::string> varying;  ///< the others; size_bytes first, then as the rows have them
  std::vector<CaseSummary> cases;    ///< ordered by the values of `varying`
};

/// Do all repetitions have such a part of a measurement, or such a list?
/// @tparam part  a member of Row, or a function
template <auto part>
bool all_have(const CaseSummary& summary) {
  return std::ranges::all_of(summary.repetitions, [](const Row* row) {
    const auto& found = std::invoke(part, *row);
    if constexpr (requires { found.has_value(); })
      return found.has_value();
    else
      return !found.empty();
  });
}

/// Groups in the order of their first rows. Rows that failed or were skipped are in none, nor those
/// that were interrupted where the case has whole repetitions as well.
std::vector<Group> group_rows(std::span<const Row> rows);

/// All cases of some groups as one, in their order, which is not empty. `test` and `transport` are
/// keys of its cases as the axes are, and both names are empty where the groups differ. A key that
/// has no meaning for some cases is constant if all others have one value.
Group join(std::span<const Group* const> groups);

/// One number over the repetitions of a case.
struct Spread {
  double median = 0, min = 0, max = 0;
  double half_range() const { return (max - min) / 2; }
};

/// @return nothing where any repetition has no such number
std::optional<Spread> spread(const CaseSummary& summary, const RowNumber& number);

Number median_of(const CaseSummary& summary, const RowNumber& number);

/// The samples of all repetitions, exactly as if recorded into one histogram.
HistogramData merged_latency(const CaseSummary& summary);

/// The name of a latency in reports: "half round trip", "round trip", "completion", "call"...
std::string latency_kind(const LatencyData& latency);

// ---- The metrics of a case over its repetitions.

inline constexpr double kNsPerSecond = 1e9;

/// One metric over the repetitions of a case, in the metric's unit.
struct CaseNumber : Spread {
  const MetricInfo* metric = nullptr;
};

/// The numbers of a case's repetitions. Borrows the rows.
struct CaseNumbers {
  std::string name;  ///< the rows'; " a" or " b" after it: a side of `ab`; " (2)" and so on: two
                     ///< cases have the same
  CaseSummary summary;
  std::vector<CaseNumber>
      values;  ///< in the order of exported_metrics(); what all repetitions have

  const CaseNumber* find(std::string_view key) const;  ///< null: the case has no such number
};

/// The measured cases, ordered as group_rows() does.
std::vector<CaseNumbers> case_numbers(std::span<const Row> rows);

// ---- What a latency that ends with a WRITE's last byte may lack.

inline constexpr std::string_view kTailMayBeMissing =
    "write_lat ends with a message's last byte, and it is not known that this arrives last "
    "(data_in_order): of messages longer than the MTU the tail may be missing. ";

/// Is that so of this row?
bool tail_may_be_missing(const Row& row);

}  // namespace rdmameter
