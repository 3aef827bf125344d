// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/straggler.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// The value that a quarter of them does not exceed. @param values  not empty
double lower_quartile(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 4];
}

/// Hops of the shortest ways, 1 throughout where no edges are known.
std::vector<std::vector<std::uint32_t>> hops_between(std::size_t ranks, const Edges& edges) {
  std::vector<std::vector<std::uint32_t>> hops(ranks, std::vector<std::uint32_t>(ranks, 1));
  if (edges.empty()) return hops;
  std::vector<std::vector<std::uint32_t>> neighbours(ranks);
  for (const auto& [a, b] : edges) {
    neighbours[a].push_back(b);
    neighbours[b].push_back(a);
  }
  for (std::uint32_t from = 0; from < ranks; ++from) {
    std::vector<bool> seen(ranks);
    std::vector<std::uint32_t> queue{from};
    seen[from] = true;
    hops[from][from] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
      for (const std::uint32_t next : neighbours[queue[i]])
        if (!seen[next]) {
          seen[next] = true;
          hops[from][next] = hops[from][queue[i]] + 1;
          queue.push_back(next);
        }
  }
  return hops;
}

/// Each time divided by what is usual for as many hops.
Matrix in_proportion(const Matrix& matrix_ns, const Edges& edges) {
  const auto hops = hops_between(matrix_ns.size(), edges);
  std::map<std::uint32_t, std::vector<double>> by_hops;
  for (std::size_t from = 0; from < matrix_ns.size(); ++from)
    for (std::size_t to = 0; to < matrix_ns.size(); ++to)
      if (from != to && matrix_ns[from][to])
        by_hops[hops[from][to]].push_back(*matrix_ns[from][to]);
  std::map<std::uint32_t, double> usual;
  for (const auto& [distance, times] : by_hops) usual[distance] = lower_quartile(times);
  Matrix matrix = matrix_ns;
  for (std::size_t from = 0; from < matrix.size(); ++from)
    for (std::size_t to = 0; to < matrix.size(); ++to) {
      auto& cell = matrix[from][to];
      if (from == to || !cell || !(usual[hops[from][to]] > 0))
        cell.reset();
      else
        *cell /= usual[hops[from][to]];
    }
  return matrix;
}

std::optional<Straggler> slow_rank(const Matrix& proportion) {
  constexpr double kMinFactor = 1.33, kMinDeviations = 4;
  std::vector<double> scores;
  for (std::size_t rank = 0; rank < proportion.size(); ++rank) {
    std::vector<double> own;
    for (std::size_t other = 0; other < proportion.size(); ++other)
      for (const auto& cell : {proportion[rank][other], proportion[other][rank]})
        if (cell) own.push_back(*cell);
    if (own.empty()) return std::nullopt;
    scores.push_back(lower_quartile(std::move(own)));
  }
  const auto worst = std::max_element(scores.begin(), scores.end());
  const double usual = median(scores);
  std::vector<double> deviations;
  for (const double score : scores) deviations.push_back(std::abs(score - usual));
  const double spread = 1.4826 * median(deviations);  // of a normal distribution: sigma
  if (*worst < kMinFactor * usual || *worst < usual + kMinDeviations * spread) return std::nullopt;
  return Straggler{static_cast<std::uint32_t>(worst - scores.begin()), {}, *worst / usual};
}

std::optional<Straggler> slow_pair(const Matrix& proportion) {
  constexpr double kMinFactor = 1.5;
  Straggler worst;
  for (std::uint32_t from = 0; from < proportion.size(); ++from)
    for (std::uint32_t to = 0; to < proportion.size(); ++to)
      if (const auto& cell = proportion[from][to]; cell && *cell > worst.factor)
        worst = {from, to, *cell};
  if (worst.factor < kMinFactor) return std::nullopt;
  return worst;
}

}  // namespace

Matrix median_matrix(const std::vector<const Matrix*>& matrices) {
  if (matrices.empty()) return {};
  Matrix result = *matrices.front();
  for (std::size_t row = 0; row < result.size(); ++row)
    for (std::size_t column = 0; column < result.size(); ++column) {
      std::vector<double> values;
      for (const Matrix* matrix : matrices) {
        if (matrix->size() != result.size()) return {};
        if (const auto& cell = (*matrix)[row][column]) values.push_back(*cell);
      }
      result[row][column] = values.empty() ? std::nullopt : std::optional(median(values));
    }
  return result;
}

std::optional<Straggler> find_straggler(const Matrix& matrix_ns, const Edges& edges) {
  constexpr std::size_t kMinRanks = 3;  // of two, neither is slower than the other
  if (matrix_ns.size() < kMinRanks) return std::nullopt;
  const Matrix proportion = in_proportion(matrix_ns, edges);
  if (const auto rank = slow_rank(proportion)) return rank;
  return slow_pair(proportion);
}

}  // namespace rdmameter
