// SPDX-License-Identifier: Apache-2.0
// Edges over which no message can go, since a rank could not bring the QP of one to RTS, and which
// pairs of ranks have no time because of that.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/wire/message.h"
#include "topologies/graphs/graph.h"
#include "topologies/ranks/barrier_qps.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/ranks/rank_run.h"

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

// The attempts at one case of a traffic in rounds: after a pair has failed, all ranks connect anew
// and go on with those that are left. At rank 0.

/// The data of the next attempt that each rank needs.
struct NextAttempt {
  std::uint64_t half_round = 0;  ///< at which it begins
  RankPairs lost;                ///< that are not measured any more
  RankPairs no_barrier;          ///< that the barrier avoids
};

void list_fields(auto& fields, Is<NextAttempt> auto& next) {
  fields("half_round", next.half_round);
  fields("lost", next.lost);
  fields("no_barrier", next.no_barrier);
}

class PairAttempts {
 public:
  /// @param half_rounds  of the whole case
  explicit PairAttempts(std::uint64_t half_rounds) : half_rounds_(half_rounds) {}

  /// Adds the ranks' results of an attempt. An attempt in which a barrier failed counts for
  /// nothing, but for the pairs that later barriers avoid.
  /// @param avoided  by barriers, so far; more are added
  /// @return  is another attempt needed, and of use?
  bool add(std::vector<RankResult> results, RankPairs& avoided);

  /// @param no_barrier  pairs that the barrier avoids
  NextAttempt next(const RankPairs& no_barrier) const { return {passed_, lost_, no_barrier}; }

  /// The results of all attempts, by rank. Those of an attempt that was of no use say why.
  std::vector<RankResult> take_results() { return std::move(results_); }

 private:
  const std::uint64_t half_rounds_;
  std::uint64_t passed_ = 0;  ///< half rounds
  RankPairs lost_;
  std::vector<RankResult> results_;
};

/// The pairs of one rank that are left.
PairsLeft pairs_left(const NextAttempt& next, Rank rank);

}  // namespace rdmameter
