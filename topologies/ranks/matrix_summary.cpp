// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/matrix_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// Calls `visit` with each pair that was measured.
template <class Visit>
void visit_pairs(const std::vector<std::vector<std::optional<double>>>& matrix_ns,
                 const Graph& graph, Visit visit) {
  for (Rank from = 0; from < matrix_ns.size(); ++from) {
    const Tree tree = tree_from(graph, from);
    for (Rank to = 0; to < matrix_ns[from].size(); ++to)
      if (const std::optional<double>& ns = matrix_ns[from][to])
        visit(from, to, tree.hops[to], *ns);
  }
}

bool is_slower(const MatrixSummary::Pair& a, const MatrixSummary::Pair& b) {
  return std::tuple(-a.of_median, a.from, a.to) < std::tuple(-b.of_median, b.from, b.to);
}

}  // namespace

std::optional<MatrixSummary> summarise_matrix(
    const std::vector<std::vector<std::optional<double>>>& matrix_ns, const Graph& graph) {
  std::map<Rank, std::vector<double>> by_hops;
  std::vector<double> all;
  visit_pairs(matrix_ns, graph, [&](Rank, Rank, std::uint32_t hops, double ns) {
    by_hops[hops].push_back(ns);
    all.push_back(ns);
  });
  if (all.empty()) return std::nullopt;
  std::map<Rank, double> median;
  for (auto& [hops, times] : by_hops) {
    std::ranges::sort(times);
    median[hops] = nearest_rank(times, 0.5);
  }
  std::ranges::sort(all);
  MatrixSummary summary{.pairs = all.size(),
                        .min_ns = all.front(),
                        .p10_ns = nearest_rank(all, 0.1),
                        .p50_ns = nearest_rank(all, 0.5),
                        .p90_ns = nearest_rank(all, 0.9),
                        .p99_ns = nearest_rank(all, 0.99),
                        .max_ns = all.back()};
  auto& slowest = summary.slowest;  // a heap, the quickest on top, until it is sorted
  visit_pairs(matrix_ns, graph, [&](Rank from, Rank to, std::uint32_t hops, double ns) {
    const MatrixSummary::Pair pair{from, to, hops, ns, ns / median[hops]};
    if (slowest.size() == kMaxSlowestPairs && !is_slower(pair, slowest.front())) return;
    slowest.push_back(pair);
    std::push_heap(slowest.begin(), slowest.end(), is_slower);
    if (slowest.size() <= kMaxSlowestPairs) return;
    std::pop_heap(slowest.begin(), slowest.end(), is_slower);
    slowest.pop_back();
  });
  std::sort_heap(slowest.begin(), slowest.end(), is_slower);
  return summary;
}

}  // namespace rdmameter
