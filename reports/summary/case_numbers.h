// SPDX-License-Identifier: Apache-2.0
// The metrics of a case over its repetitions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/row.h"
#include "reports/summary/metric.h"
#include "reports/summary/summary.h"

namespace rdmameter {

inline constexpr double kNsPerSecond = 1e9;

/// One metric over the repetitions of a case.
struct CaseNumber {
  const MetricInfo* metric;
  double median, min, max;  ///< in the metric's unit
};

/// What a case's repetitions came to. Borrows the rows.
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

}  // namespace rdmameter
