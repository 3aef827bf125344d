// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/families.h"

#include <algorithm>

#include "reports/stats/benjamini_hochberg.h"

namespace rdmameter {

double simes(std::vector<double> p_values) {
  const std::vector<double> adjusted = benjamini_hochberg(p_values);
  return adjusted.empty() ? 1 : std::ranges::min(adjusted);
}

std::vector<FamilyResult> judge_families(std::span<const std::vector<double>> families,
                                         double rate) {
  std::vector<double> p_values;
  for (const std::vector<double>& family : families) p_values.push_back(simes(family));
  const std::vector<double> q_values = benjamini_hochberg(p_values);
  const auto selected = std::ranges::count_if(q_values, [&](double q) { return q <= rate; });
  const double share = static_cast<double>(selected) / static_cast<double>(families.size());
  std::vector<FamilyResult> results;
  for (std::size_t i = 0; i < families.size(); ++i) {
    FamilyResult result{.q = q_values[i], .significant = {}};
    for (const double q : benjamini_hochberg(families[i]))
      result.significant.push_back(q_values[i] <= rate && q <= rate * share);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace rdmameter
