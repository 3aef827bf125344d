// SPDX-License-Identifier: Apache-2.0
// Edges over which no message can go, since a rank could not bring the QP of one to RTS, and which
// pairs of ranks have no time because of that.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

struct RefusedEdge {
  Rank rank = 0;  ///< whose verb has failed
  Rank peer = 0;
  std::string reason;    ///< of the verb
  bool barrier = false;  ///< it is the barrier's QP, and not the graph's
};

nlohmann::json refused_edges_to_wire(const std::vector<RefusedEdge>& edges);
/// @param ranks  of the case
/// @throws MeasurementError  it is not what refused_edges_to_wire() makes
std::vector<RefusedEdge> refused_edges_from_wire(const nlohmann::json& wire, Rank ranks);

/// Of the graph's edges, by partner of a rank the first one on the way there or back.
std::map<Rank, const RefusedEdge*> cut_off_partners(const Graph& graph, Rank rank,
                                                    const std::vector<RefusedEdge>& edges);

/// Why `rank` has no time with `partner`.
std::string cut_off_reason(const RefusedEdge& edge, Rank rank, Rank partner);

}  // namespace rdmameter
