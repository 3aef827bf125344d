// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/lost_pairs.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// Calls `visit` with both ranks of each edge on the way, as relays choose it: each by its own tree.
/// @param first  Tree::first, by root, of those that were needed before
template <class Visit>
void visit_edges(const Graph& graph, std::map<Rank, std::vector<Rank>>& first, Rank from, Rank to,
                 Visit visit) {
  while (from != to) {
    Rank next = to;
    if (!graph.has_edge(from, to)) {
      const auto [found, is_new] = first.try_emplace(from);
      if (is_new) found->second = tree_from(graph, from).first;
      next = found->second[to];
    }
    visit(std::minmax(from, next));
    from = next;
  }
}

}  // namespace

void require_edges_of(const RefusedEdges& refused, Rank ranks) {
  for (const RefusedEdge& edge : refused.value)
    if (edge.rank >= ranks || edge.peer >= ranks)
      throw MeasurementError("the peer's message: edges names a rank that is not in the case");
}

std::map<Rank, const RefusedEdge*> cut_off_partners(const Graph& graph, Rank rank,
                                                    const std::vector<RefusedEdge>& edges) {
  std::map<std::pair<Rank, Rank>, const RefusedEdge*> refused;
  for (const RefusedEdge& edge : edges)
    if (!edge.barrier) refused.emplace(std::minmax(edge.rank, edge.peer), &edge);
  std::map<Rank, const RefusedEdge*> cut_off;
  if (refused.empty()) return cut_off;
  std::map<Rank, std::vector<Rank>> first;
  for (Rank partner = 0; partner < graph.ranks(); ++partner) {
    const auto look = [&](const std::pair<Rank, Rank>& edge) {
      if (const auto found = refused.find(edge); found != refused.end())
        cut_off.emplace(partner, found->second);
    };
    visit_edges(graph, first, rank, partner, look);
    visit_edges(graph, first, partner, rank, look);
  }
  return cut_off;
}

namespace {

bool failed(const RankResult& result) {
  return !result.failure.empty();
}

/// Is the barrier the only reason?
bool barrier_failed(const std::vector<RankResult>& results) {
  return std::ranges::all_of(results, [](const RankResult& result) {
    return !failed(result) || result.no_barrier_with || result.failure == kOutOfPatience;
  });
}

}  // namespace

bool next_attempt(PairAttempt& attempt, std::vector<RankResult>& results,
                  std::vector<RankResult> latest, std::uint64_t half_rounds) {
  if (std::ranges::any_of(latest, failed)) {
    const std::size_t known = attempt.no_barrier.size();
    for (Rank rank = 0; barrier_failed(latest) && rank < latest.size(); ++rank)
      if (const auto peer = latest[rank].no_barrier_with; peer && *peer < latest.size())
        attempt.no_barrier.insert(std::minmax(rank, static_cast<Rank>(*peer)));
    if (attempt.no_barrier.size() > known) return true;
    results = std::move(latest);
    return false;
  }
  const std::uint64_t passed_before = std::exchange(attempt.half_round, latest.front().half_rounds);
  const std::size_t lost_before = attempt.lost.size();
  for (Rank rank = 0; rank < latest.size(); ++rank)
    for (const LostPair& pair : latest[rank].lost_pairs)
      attempt.lost.insert(std::minmax(rank, pair.with));
  if (results.empty()) {
    results = std::move(latest);
  } else {
    for (std::size_t rank = 0; rank < latest.size(); ++rank)
      add_attempt(results[rank], latest[rank]);
  }
  // What has ended in its warm-up is measured again, but not for ever.
  if (attempt.half_round == passed_before && attempt.lost.size() == lost_before)
    ++attempt.half_round;
  return attempt.half_round < half_rounds;
}

}  // namespace rdmameter
