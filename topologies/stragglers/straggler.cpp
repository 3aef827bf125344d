// SPDX-License-Identifier: Apache-2.0
#include "topologies/stragglers/straggler.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace rdmameter {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

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

/// Times of pairs of ranks, each divided by what is usual for as many hops.
class Proportions {
 public:
  Proportions(const Matrix& matrix_ns, const Edges& edges)
      : hops_(hops_between(matrix_ns.size(), edges)), cells_(matrix_ns) {
    std::map<std::uint32_t, std::vector<double>> by_hops;
    for (std::size_t from = 0; from < ranks(); ++from)
      for (std::size_t to = 0; to < ranks(); ++to)
        if (from != to && cells_[from][to]) by_hops[hops_[from][to]].push_back(*cells_[from][to]);
    std::map<std::uint32_t, double> usual;
    for (const auto& [distance, times] : by_hops) usual[distance] = usual_of(times);
    for (std::size_t from = 0; from < ranks(); ++from)
      for (std::size_t to = 0; to < ranks(); ++to) {
        auto& cell = cells_[from][to];
        if (from == to || !cell || !(usual[hops_[from][to]] > 0))
          cell.reset();
        else
          *cell /= usual[hops_[from][to]];
      }
  }

  std::size_t ranks() const { return cells_.size(); }

  /// Of all pairs that a rank is one of.
  std::vector<double> of_rank(std::size_t rank) const {
    std::vector<double> own;
    for (std::size_t other = 0; other < ranks(); ++other)
      for (const auto& cell : {cells_[rank][other], cells_[other][rank]})
        if (cell) own.push_back(*cell);
    return own;
  }

  /// Of two neighbours, whoever begins: the mean. Nothing: they are none, or were not measured.
  std::optional<double> of_neighbours(std::size_t a, std::size_t b) const {
    if (hops_[a][b] != 1) return std::nullopt;
    const auto &there = cells_[a][b], &back = cells_[b][a];
    if (!there) return back;
    return back ? (*there + *back) / 2 : *there;
  }

  template <class Visit>
  void visit_neighbours(Visit visit) const {
    for (std::uint32_t a = 0; a < ranks(); ++a)
      for (std::uint32_t b = a + 1; b < ranks(); ++b)
        if (const auto factor = of_neighbours(a, b)) visit(a, b, *factor);
  }

 private:
  const std::vector<std::vector<std::uint32_t>> hops_;
  Matrix cells_;
};

std::optional<Straggler> slow_rank(const Proportions& proportions) {
  constexpr double kMinDeviations = 4;
  std::vector<double> scores;
  for (std::size_t rank = 0; rank < proportions.ranks(); ++rank) {
    std::vector<double> own = proportions.of_rank(rank);
    if (own.empty()) return std::nullopt;
    scores.push_back(usual_of(std::move(own)));
  }
  const auto worst = std::max_element(scores.begin(), scores.end());
  const double usual = median_of_values(scores);
  std::vector<double> deviations;
  for (const double score : scores) deviations.push_back(std::abs(score - usual));
  const double spread = 1.4826 * median_of_values(deviations);  // of a normal distribution: sigma
  if (*worst < kSlowFactor * usual || *worst < usual + kMinDeviations * spread) return std::nullopt;
  Straggler found{.verdict = Straggler::Verdict::node};
  found.rank = static_cast<std::uint32_t>(worst - scores.begin());
  found.factor = *worst / usual;
  return found;
}

std::optional<Straggler> slow_pair(const Proportions& proportions) {
  Straggler worst{.verdict = Straggler::Verdict::path};
  proportions.visit_neighbours([&](std::uint32_t a, std::uint32_t b, double factor) {
    if (factor < kSlowFactor || factor <= worst.factor.value_or(0)) return;
    worst.rank = a;
    worst.to = b;
    worst.factor = factor;
  });
  return worst.factor ? std::optional(worst) : std::nullopt;
}

/// Has a quarter of the pairs in which the suspect has no part at least half of its excess?
bool slow_without(const Straggler& suspect, const Proportions& proportions) {
  const double threshold = 1 + (suspect.factor.value_or(1) - 1) / 2;
  std::size_t all = 0, slow = 0;
  proportions.visit_neighbours([&](std::uint32_t a, std::uint32_t b, double factor) {
    for (const auto& rank : {suspect.rank, suspect.to})
      if (rank == a || rank == b) return;
    ++all;
    slow += factor >= threshold ? 1 : 0;
  });
  return slow != 0 && 4 * slow >= all;
}

}  // namespace

double usual_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 4];
}

double median_of_values(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

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
      result[row][column] = values.empty() ? std::nullopt : std::optional(median_of_values(values));
    }
  return result;
}

Straggler find_straggler(const Matrix& matrix_ns, const Edges& edges) {
  constexpr std::size_t kMinRanks = 3;  // of two, neither is slower than the other
  if (matrix_ns.size() < kMinRanks) return {};
  const Proportions proportions(matrix_ns, edges);
  std::optional<Straggler> found = slow_rank(proportions);
  if (!found) found = slow_pair(proportions);
  return found && !slow_without(*found, proportions) ? *found : Straggler{};
}

}  // namespace rdmameter
