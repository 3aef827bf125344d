// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/connect/refused_edges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/printable.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// Calls `visit` with both ranks of each edge on the way.
class EdgesOnWay {
 public:
  explicit EdgesOnWay(const Graph& graph) : graph_(graph) {}

  template <class Visit>
  void visit(Rank from, Rank to, Visit visit) {
    while (from != to) {
      const Rank next = step(from, to);
      visit(std::minmax(from, next));
      from = next;
    }
  }

 private:
  /// As a relay does it: by its own tree.
  Rank step(Rank from, Rank to) {
    if (std::ranges::binary_search(graph_.neighbours[from], to)) return to;
    auto found = first_.find(from);
    if (found == first_.end()) found = first_.emplace(from, tree_from(graph_, from).first).first;
    return found->second[to];
  }

  const Graph& graph_;
  std::map<Rank, std::vector<Rank>> first_;  ///< Tree::first, by root
};

}  // namespace

void require_edges_of(const RefusedEdges& refused, Rank ranks) {
  for (const RefusedEdge& edge : refused.edges)
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
  EdgesOnWay ways(graph);
  for (Rank partner = 0; partner < graph.ranks(); ++partner) {
    const auto look = [&](const std::pair<Rank, Rank>& edge) {
      if (const auto found = refused.find(edge); found != refused.end())
        cut_off.emplace(partner, found->second);
    };
    ways.visit(rank, partner, look);
    ways.visit(partner, rank, look);
  }
  return cut_off;
}

std::string cut_off_reason(const RefusedEdge& edge, Rank rank, Rank partner) {
  if (edge.rank == rank && edge.peer == partner) return edge.reason;
  return fmt::format("nothing goes from rank {} to rank {}, which is on the way: {}", edge.rank,
                     edge.peer, edge.reason);
}

}  // namespace rdmameter
