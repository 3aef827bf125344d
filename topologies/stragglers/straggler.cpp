// SPDX-License-Identifier: Apache-2.0
#include "topologies/stragglers/straggler.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/lists.h"

namespace rdmameter {
namespace {

using Edges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// @param edges  none: every rank has one to every other
Graph graph_of(std::size_t ranks, const Edges& edges) {
  Graph graph(ranks);
  for (const auto& [a, b] : edges) graph.add(a, b);
  for (Rank a = 0; a < ranks && edges.empty(); ++a)
    for (Rank b = a + 1; b < ranks; ++b) graph.add(a, b);
  return graph;
}

/// Times of pairs of ranks, each divided by what is usual for pairs whose routes are alike. Nothing
/// where these are too few.
class Proportions {
 public:
  Proportions(const Matrix& matrix_ns, const Edges& edges, const RankPlaces& places)
      : graph_(graph_of(matrix_ns.size(), edges)),
        cells_(ranks(), std::vector<std::optional<double>>(ranks())) {
    const PlacedRoutes routes(graph_, places);
    std::map<RouteKinds, std::vector<std::pair<Rank, Rank>>> alike;
    for (Rank a = 0; a < ranks(); ++a)
      for (Rank b = a + 1; b < ranks(); ++b)
        if (matrix_ns[a][b] || matrix_ns[b][a]) alike[routes.route(a, b)].emplace_back(a, b);
    for (const auto& [route, pairs] : alike)
      if (pairs.size() >= kFewestPairs) divide(matrix_ns, pairs);
  }

  std::size_t ranks() const { return graph_.ranks(); }

  /// Of all pairs that a rank is one of.
  std::vector<double> of_rank(std::size_t rank) const {
    std::vector<double> own;
    for (std::size_t other = 0; other < ranks(); ++other)
      for (const auto& cell : {cells_[rank][other], cells_[other][rank]})
        if (cell) own.push_back(*cell);
    return own;
  }

  /// Neighbours that were measured, and the mean of both directions between them.
  template <class Visit>
  void visit_neighbours(Visit visit) const {
    for (const auto& [a, b] : graph_.edges()) {
      const auto &there = cells_[a][b], &back = cells_[b][a];
      if (there && back)
        visit(a, b, (*there + *back) / 2);
      else if (there || back)
        visit(a, b, there ? *there : *back);
    }
  }

 private:
  void divide(const Matrix& matrix_ns, const std::vector<std::pair<Rank, Rank>>& pairs) {
    std::vector<double> times;
    const auto visit = [&](auto use) {
      for (const auto& [a, b] : pairs)
        for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
          if (const auto& time = matrix_ns[from][to]) use(from, to, *time);
    };
    visit([&](Rank, Rank, double time) { times.push_back(time); });
    const double usual = usual_of(std::move(times));
    if (usual > 0) visit([&](Rank from, Rank to, double time) { cells_[from][to] = time / usual; });
  }

  const Graph graph_;
  Matrix cells_;
};

std::optional<Straggler> slow_rank(const Proportions& proportions) {
  constexpr double kMinDeviations = 4;
  constexpr std::size_t kOnePartner = 2;  // there and back
  std::vector<double> scores;
  std::optional<Rank> worst;
  double highest = 0;
  for (Rank rank = 0; rank < proportions.ranks(); ++rank) {
    std::vector<double> own = proportions.of_rank(rank);
    if (own.empty()) continue;
    const bool one_partner = own.size() <= kOnePartner;  // then its path may be what is slow
    scores.push_back(usual_of(std::move(own)));
    if (one_partner || scores.back() <= highest) continue;
    worst = rank;
    highest = scores.back();
  }
  if (!worst) return std::nullopt;
  const double usual = median(scores);
  std::vector<double> deviations;
  for (const double score : scores) deviations.push_back(std::abs(score - usual));
  const double spread = 1.4826 * median(deviations);  // of a normal distribution: sigma
  if (highest < kSlowFactor * usual || highest < usual + kMinDeviations * spread)
    return std::nullopt;
  return Straggler{.verdict = Straggler::Verdict::node, .rank = worst, .factor = highest / usual};
}

std::optional<Straggler> slow_pair(const Proportions& proportions) {
  Straggler worst{.verdict = Straggler::Verdict::path};
  proportions.visit_neighbours([&](Rank a, Rank b, double factor) {
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
  proportions.visit_neighbours([&](Rank a, Rank b, double factor) {
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

Straggler find_straggler(const Matrix& matrix_ns, const Edges& edges, const RankPlaces& places) {
  const Proportions proportions(matrix_ns, edges, places);
  // A rank that looks slow by chance hides no path that is.
  for (const auto& look : {slow_rank, slow_pair})
    if (const auto found = look(proportions); found && !slow_without(*found, proportions))
      return *found;
  return {};
}

}  // namespace rdmameter
