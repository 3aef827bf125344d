// SPDX-License-Identifier: Apache-2.0
// Edges over which no message can go, since a rank could not bring the QP of one to RTS, and which
// pairs of ranks have no time because of that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/wire/message.h"
#include "topologies/graphs/graph.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/schedule/barrier_meetings.h"

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
using RefusedEdges = OneField<"edges", std::vector<RefusedEdge>>;

/// @throws MeasurementError  one is not between two of so many ranks
void require_edges_of(const RefusedEdges& refused, Rank ranks);

/// The first refused edge on the way to a partner of a rank or back, by partner.
std::map<Rank, const RefusedEdge*> cut_off_partners(const Graph& graph, Rank rank,
                                                    const std::vector<RefusedEdge>& edges);

/// An attempt at a case of a traffic in rounds, as rank 0 tells it to the others: after a pair has
/// failed, all ranks connect anew and go on with those that are left.
struct PairAttempt {
  /// At which it begins; of each pair first one rank begins, then the other.
  std::uint64_t half_round = 0;
  RankPairs lost;        ///< that are not measured any more
  RankPairs no_barrier;  ///< that the barrier avoids
};

void list_fields(auto& fields, Is<PairAttempt> auto& attempt) {
  fields("half_round", attempt.half_round);
  fields("lost", attempt.lost);
  fields("no_barrier", attempt.no_barrier);
}

/// Adds the results of an attempt that has ended to those of the attempts before. One in which a
/// barrier failed counts for nothing, but for the pairs that later barriers avoid.
/// @param attempt      that one; becomes the next
/// @param results      by rank; of an attempt that was of no use, those that say why
/// @param half_rounds  of the whole case
/// @return  is another attempt needed, and of use?
bool next_attempt(PairAttempt& attempt, std::vector<RankResult>& results,
                  std::vector<RankResult> latest, std::uint64_t half_rounds);

}  // namespace rdmameter
