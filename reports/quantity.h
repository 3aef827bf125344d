// SPDX-License-Identifier: Apache-2.0
// The numbers of a case that are told to other tools and kept over time, each with its unit and
// which way is better.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/row.h"
#include "reports/summary.h"

namespace rdmameter {

inline constexpr double kNsPerSecond = 1e9;

struct Quantity {
  std::string_view key;   ///< "p50_ns", "gbps": the unit ends it
  std::string_view name;  ///< "p50", "bandwidth"
  std::string_view unit;  ///< "ns", "Gb/s"
  bool smaller_is_better;
  std::optional<double> (*value)(const Row&);  ///< of one repetition; nothing: it has none
};

/// Latencies (half round trips for ping-pong tests, as everywhere), then rates. The first that a
/// case has is the one to watch: p50, or bandwidth (whose rows may have latencies, too).
std::span<const Quantity> quantities();

/// One quantity over the repetitions of a case.
struct CaseNumber {
  const Quantity* quantity;
  double median, least, greatest;  ///< in the quantity's unit
};

/// What a case's repetitions came to. Borrows the rows.
struct CaseNumbers {
  std::string name;  ///< the rows'; " a" or " b" after it: a side of `ab`; " (2)" and so on: two
                     ///< cases have the same
  CaseSummary summary;
  std::vector<CaseNumber> values;  ///< in the order of quantities(); what all repetitions have

  const CaseNumber* find(std::string_view key) const;  ///< null: the case has no such number
};

/// The measured cases, ordered as group_rows() does.
std::vector<CaseNumbers> case_numbers(std::span<const Row> rows);

/// The number to watch: bandwidth where there is one, else p50, else the first; null: none.
const CaseNumber* primary_number(const CaseNumbers& values);

}  // namespace rdmameter
