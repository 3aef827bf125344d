// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/pair_attempts.h"

#include <algorithm>
#include <utility>

namespace rdmameter {
namespace {

std::pair<Rank, Rank> in_order(Rank a, Rank b) {
  return {std::min(a, b), std::max(a, b)};
}

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

bool PairAttempts::add(std::vector<RankResult> results, RankPairs& avoided) {
  if (std::ranges::any_of(results, failed)) {
    const std::size_t known = avoided.size();
    for (std::size_t rank = 0; rank < results.size(); ++rank)
      if (const auto peer = results[rank].no_barrier_with; peer && *peer < results.size())
        avoided.insert(in_order(static_cast<Rank>(rank), static_cast<Rank>(*peer)));
    if (barrier_failed(results) && avoided.size() > known) return true;
    results_ = std::move(results);
    return false;
  }
  const std::uint64_t passed_before = std::exchange(passed_, results.front().half_rounds);
  const std::size_t lost_before = lost_.size();
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (const LostPair& pair : results[rank].lost_pairs)
      lost_.insert(in_order(static_cast<Rank>(rank), pair.with));
  if (results_.empty()) {
    results_ = std::move(results);
  } else {
    for (std::size_t rank = 0; rank < results.size(); ++rank)
      add_attempt(results_[rank], results[rank]);
  }
  // What has ended in its warm-up is measured again, but not for ever.
  if (passed_ == passed_before && lost_.size() == lost_before) ++passed_;
  return passed_ < half_rounds_;
}

PairsLeft pairs_left(const NextAttempt& next, Rank rank) {
  PairsLeft left{.half_round = next.half_round};
  for (const auto& [a, b] : next.lost) {
    if (a == rank) left.lost.insert(b);
    if (b == rank) left.lost.insert(a);
  }
  return left;
}

}  // namespace rdmameter
