// SPDX-License-Identifier: Apache-2.0
// The attempts at one case of a traffic in rounds: after a pair has failed, all ranks connect anew
// and go on with those that are left. At rank 0.
#pragma once

#include <vector>

#include "core/wire/message.h"
#include "topologies/ranks/barrier_qps.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/ranks/rank_run.h"

namespace rdmameter {

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
