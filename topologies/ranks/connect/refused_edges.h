// SPDX-License-Identifier: Apache-2.0
// Edges over which no message can go, since a rank could not bring the QP of one to RTS, and which
// pairs of ranks have no time because of that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/wire/message.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

struct RefusedEdge {
  Rank rank = 0;  ///< whose verb has failed
  Rank peer = 0;
  std::string reason;    ///< of the verb
  bool barrier = false;  ///< it is the barrier's QP, and not the graph's
};

inline constexpr std::size_t kMaxEdgeReasonBytes = 1024;

void list_fields(auto& fields, Is<RefusedEdge> auto& edge) {
  fields("rank", edge.rank);
  fields("peer", edge.peer);
  fields("reason", edge.reason, {.max_size = kMaxEdgeReasonBytes});
  fields("barrier", edge.barrier);
}

/// The refused edges, as ranks send them to each other.
struct RefusedEdges {
  std::vector<RefusedEdge> edges;
};

void list_fields(auto& fields, Is<RefusedEdges> auto& refused) {
  fields("edges", refused.edges);
}

/// @throws MeasurementError  one is not between two of so many ranks
void require_edges_of(const RefusedEdges& refused, Rank ranks);

/// The first refused edge on the way to a partner of a rank or back, by partner.
std::map<Rank, const RefusedEdge*> cut_off_partners(const Graph& graph, Rank rank,
                                                    const std::vector<RefusedEdge>& edges);

/// Why `rank` has no time with `partner`.
std::string cut_off_reason(const RefusedEdge& edge, Rank rank, Rank partner);

}  // namespace rdmameter
