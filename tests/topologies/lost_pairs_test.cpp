// SPDX-License-Identifier: Apache-2.0
// What is left of a case after pairs of ranks have failed: barriers that avoid them, further
// attempts.
#include "topologies/ranks/lost_pairs.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

/// Barriers of ranks in one memory, which make their steps one by one.
class BarriersInMemory {
 public:
  BarriersInMemory(Rank ranks, const RankPairs& avoided) : at_(ranks) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      meetings_.push_back(barrier_meetings(rank, ranks, avoided));
      words_.emplace_back(meetings_.back().size());
      for (const auto& [ahead, behind, word] : meetings_.back())
        for (const Rank peer : {ahead, behind})
          EXPECT_FALSE(avoided.contains({std::min(rank, peer), std::max(rank, peer)}));
    }
  }

  /// As far as all of those that have arrived can go. @return  ranks that have passed
  std::size_t run(const std::vector<bool>& arrived) {
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank rank = 0; rank < at_.size(); ++rank)
        while (arrived[rank] && at_[rank] < meetings_[rank].size()) {
          const auto& [ahead, behind, word] = meetings_[rank][at_[rank]];
          words_[ahead].at(word) = true;
          if (!words_[rank][at_[rank]]) break;
          ++at_[rank];
          moved = true;
        }
    }
    std::size_t passed = 0;
    for (Rank rank = 0; rank < at_.size(); ++rank) passed += at_[rank] == meetings_[rank].size();
    return passed;
  }

 private:
  std::vector<std::vector<BarrierMeeting>> meetings_;
  std::vector<std::vector<bool>> words_;  ///< by rank: what it has heard
  std::vector<std::size_t> at_;
};

TEST(BarrierMeetings, NobodyPassesBeforeTheLastHasCome) {
  for (Rank ranks = 2; ranks <= 17; ++ranks)
    for (const bool around : {false, true}) {
      if (around && ranks < 3) continue;
      const RankPairs avoided = around ? RankPairs{{0, 1}, {ranks - 2, ranks - 1}} : RankPairs{};
      if (around && ranks == 3) continue;  // rank 1 is cut off
      for (Rank last = 0; last < ranks; ++last) {
        BarriersInMemory barriers(ranks, avoided);
        std::vector<bool> arrived(ranks, true);
        arrived[last] = false;
        EXPECT_EQ(barriers.run(arrived), 0u) << ranks << " " << last;
        arrived[last] = true;
        EXPECT_EQ(barriers.run(arrived), ranks) << ranks << " " << last;
      }
    }
}

TEST(BarrierMeetings, ATreeHasAsFewQpsAsItCan) {
  std::size_t partners = 0;
  for (Rank rank = 0; rank < 8; ++rank)
    partners += barrier_partners(barrier_meetings(rank, 8, {{2, 3}})).size();
  EXPECT_EQ(partners, 14u);
  // 3 and 6 of 8 ranks have no part in each other's dissemination.
  EXPECT_EQ(barrier_partners(barrier_meetings(3, 8, {{3, 6}})),
            barrier_partners(barrier_meetings(3, 8, {})));
}

TEST(BarrierMeetings, ARankThatNobodyReachesIsNamed) {
  try {
    barrier_meetings(0, 3, {{0, 1}, {1, 2}});
    FAIL();
  } catch (const MeasurementError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos);
  }
}

std::vector<Rank> cut_off(const std::string& shape, Rank ranks, Rank rank, RefusedEdge edge) {
  std::vector<Rank> partners;
  const Graph graph = read_shape(shape, 1).make(ranks);
  const std::vector<RefusedEdge> edges{edge};
  for (const auto& [partner, why] : cut_off_partners(graph, rank, edges))
    partners.push_back(partner);
  return partners;
}

TEST(RefusedEdges, CutOffWhoseMessagesWouldGoThatWayThereOrBack) {
  const RefusedEdge edge{.rank = 2, .peer = 1};
  EXPECT_EQ(cut_off("mesh", 6, 1, edge), std::vector<Rank>{2});
  EXPECT_TRUE(cut_off("mesh", 6, 0, edge).empty());
  EXPECT_EQ(cut_off("ring", 6, 1, edge), (std::vector<Rank>{2, 3, 4}));
  // To 3 of 6 messages of a ring go up, and so do those back.
  EXPECT_EQ(cut_off("ring", 6, 0, edge), (std::vector<Rank>{2, 3}));
  EXPECT_EQ(cut_off("ring", 6, 3, edge), (std::vector<Rank>{0, 1}));
  EXPECT_EQ(cut_off("star", 6, 2, {.rank = 0, .peer = 2}), (std::vector<Rank>{0, 1, 3, 4, 5}));
  EXPECT_TRUE(cut_off("ring", 6, 1, {.rank = 2, .peer = 1, .reason = "", .barrier = true}).empty());
}

TEST(RefusedEdges, GoOverTheWireAndNotBeyondTheRanks) {
  const std::vector<RefusedEdge> edges{{.rank = 3, .peer = 0, .reason = "no route"}};
  const auto refused = read_message_text<RefusedEdges>(message_text(RefusedEdges{edges}));
  require_edges_of(refused, 4);
  const auto& received = refused.value;
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].rank, 3u);
  EXPECT_EQ(received[0].peer, 0u);
  EXPECT_FALSE(received[0].barrier);
  EXPECT_EQ(received[0].reason, "no route");
  EXPECT_THROW(require_edges_of(refused, 3), MeasurementError);
}

std::vector<RankResult> four_results(std::uint64_t half_rounds) {
  std::vector<RankResult> results(4);
  for (RankResult& result : results) {
    result.half_rounds = half_rounds;
    result.matrix_row_ns.resize(4);
    result.operations = 1;
    result.elapsed_ns = 10;
  }
  return results;
}

constexpr std::uint64_t kHalfRounds = 6;

TEST(PairAttempts, GoOnBehindAPairThatFailed) {
  PairAttempt attempt;
  std::vector<RankResult> all;
  auto results = four_results(2);
  results[3].lost_pairs.push_back({.with = 1, .reason = "no answer"});
  EXPECT_TRUE(next_attempt(attempt, all, results, kHalfRounds));
  EXPECT_EQ(attempt.half_round, 2u);
  EXPECT_EQ(attempt.lost, (RankPairs{{1, 3}}));
  EXPECT_TRUE(holds(attempt.lost, 3, 1));
  EXPECT_FALSE(holds(attempt.lost, 2, 1));
  results = four_results(6);
  results[0].matrix_row_ns[2] = 7;
  EXPECT_FALSE(next_attempt(attempt, all, results, kHalfRounds));
  EXPECT_EQ(all[0].matrix_row_ns[2], 7);
  EXPECT_EQ(all[0].operations, 2u);
  EXPECT_EQ(all[0].elapsed_ns, 20u);
  EXPECT_EQ(all[3].lost_pairs.size(), 1u);
}

TEST(PairAttempts, BeginAgainWithAnotherBarrierButNotForEver) {
  PairAttempt attempt;
  std::vector<RankResult> all;
  auto results = four_results(4);
  for (RankResult& result : results) result.failure = kOutOfPatience;
  EXPECT_FALSE(next_attempt(attempt, all, results, kHalfRounds)) << "nobody knows why";
  results[2].no_barrier_with = 0;
  EXPECT_TRUE(next_attempt(attempt, all, results, kHalfRounds));
  EXPECT_EQ(attempt.no_barrier, (RankPairs{{0, 2}}));
  EXPECT_EQ(attempt.half_round, 0u);
  EXPECT_FALSE(next_attempt(attempt, all, results, kHalfRounds)) << "that pair is avoided already";
  results[1].failure = "a byte is wrong";
  results[3].no_barrier_with = 1;
  EXPECT_FALSE(next_attempt(attempt, all, results, kHalfRounds)) << "another failure";
  EXPECT_EQ(attempt.no_barrier.size(), 1u) << "no other rank would hear of the pair";
}

TEST(PairAttempts, MeasureWhatEndedInItsWarmUpAgainButNotForEver) {
  constexpr std::uint64_t kOneRound = 2;
  PairAttempt attempt;
  std::vector<RankResult> all;
  auto results = four_results(0);
  results[3].lost_pairs.push_back({.with = 1, .reason = "no answer"});
  EXPECT_TRUE(next_attempt(attempt, all, results, kOneRound));
  EXPECT_EQ(attempt.half_round, 0u) << "without that pair";
  EXPECT_TRUE(next_attempt(attempt, all, four_results(0), kOneRound));
  EXPECT_EQ(attempt.half_round, 1u) << "nobody knows why";
  EXPECT_FALSE(next_attempt(attempt, all, four_results(2), kOneRound));
}

TEST(PairAttempts, BothDirectionsOfAFailedPairAreToldByWhoKnowsMore) {
  TestCase test_case = default_topology_case();
  test_case.graph = "mesh";
  test_case.traffic = "pairs";
  test_case.ranks = 4;
  auto results = four_results(6);
  results[1].lost_pairs.push_back({.with = 3, .reason = "it took too long", .waited = true});
  results[3].lost_pairs.push_back({.with = 1, .reason = "no acknowledgement"});
  results[0].lost_pairs.push_back({.with = 2, .reason = "a late failure"});
  results[0].matrix_row_ns[2] = 5;
  const auto failed = merge_results(plan_topology(test_case), results).topology->failed_pairs;
  ASSERT_EQ(failed.size(), 3u);  // of 0 and 2 only the way back has no time
  EXPECT_EQ(failed[0].from, 2u);
  EXPECT_EQ(failed[0].to, 0u);
  EXPECT_EQ(failed[1].reason, "rank 3: no acknowledgement");
  EXPECT_EQ(failed[2].reason, failed[1].reason);
}

}  // namespace
}  // namespace rdmameter
