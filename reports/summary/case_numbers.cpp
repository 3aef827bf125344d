// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/case_numbers.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "reports/stats/sample.h"
#include "reports/summary/date.h"

namespace rdmameter {
namespace {

std::optional<CaseNumber> over_repetitions(const MetricInfo& metric, const CaseSummary& summary) {
  std::vector<double> values;
  for (const Row* row : summary.repetitions) {
    const auto value = metric.value(*row);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  const auto [min, max] = std::ranges::minmax(values);
  return CaseNumber{&metric, median(std::move(values)), min, max};
}

}  // namespace

const CaseNumber* CaseNumbers::find(std::string_view key) const {
  const auto found = std::find_if(values.begin(), values.end(), [key](const CaseNumber& value) {
    return value.metric->key == key;
  });
  return found == values.end() ? nullptr : &*found;
}

std::vector<CaseNumbers> case_numbers(std::span<const Row> rows) {
  std::vector<CaseNumbers> cases;
  std::map<std::string, int> taken;
  for (Group& group : group_rows(rows))
    for (CaseSummary& summary : group.cases) {
      CaseNumbers result{summary.repetitions.front()->name, std::move(summary), {}};
      if (const std::string side = text_at(result.summary.case_object, "side"); !side.empty())
        result.name += " " + side;
      if (const int times = ++taken[result.name]; times > 1)
        result.name += fmt::format(" ({})", times);
      for (const MetricInfo& metric : exported_metrics())
        if (const auto value = over_repetitions(metric, result.summary))
          result.values.push_back(*value);
      cases.push_back(std::move(result));
    }
  return cases;
}

}  // namespace rdmameter
