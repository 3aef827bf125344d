// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/matrix_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "topologies/graphs/placed_routes.h"

namespace rdmameter {

std::string matrix_kinds_text(const TopologyCase& one, const Matrix& matrix_ns) {
  const RankPlaces& places = one.places;
  if (places.size() != matrix_ns.size()) return "";
  ByKind<std::vector<double>> times_ns;
  for (std::size_t row = 0; row < matrix_ns.size(); ++row)
    for (std::size_t column = 0; column < matrix_ns.size(); ++column)
      if (const auto& cell = matrix_ns[row][column]; cell && row != column)
        times_ns[kind_of(places[row], places[column])].push_back(*cell);
  const PairNumbers numbers = pair_numbers(one);
  std::vector<std::string> medians;
  for (const auto& [kind, name] : kPairKindNames)
    if (!times_ns[kind].empty())
      medians.push_back(
          fmt::format("{} {}", name, numbers.text(median_of_values(std::move(times_ns[kind])))));
  if (medians.size() < 2) return "";
  return fmt::format("median by kind of pair: {}", fmt::join(medians, ", "));
}

}  // namespace rdmameter
