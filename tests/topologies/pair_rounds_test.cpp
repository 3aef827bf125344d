// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "topologies/graphs/routes.h"
#include "topologies/schedule/schedule.h"

namespace rdmameter {
namespace {

Graph graph_of(const char* shape, Rank ranks) {
  return read_shape(shape, 1).make(ranks);
}

/// Those on the way there and back, hop by hop as each rank sends on.
std::set<Rank> ranks_on(const Graph& graph, const Flow& pair) {
  std::set<Rank> ranks;
  for (const auto& [from, to] : {pair, Flow{pair.to, pair.from}}) {
    ranks.insert(to);
    for (Rank at = from; at != to; at = tree_from(graph, at).first[to]) ranks.insert(at);
  }
  return ranks;
}

TEST(PairRounds, HaveEachPairOnceAndInAMeshNoMoreRoundsThanThereMustBe) {
  for (Rank ranks = 2; ranks <= 33; ++ranks) {
    const std::vector<PairRound> rounds = pair_rounds(graph_of("mesh", ranks), ranks, 0);
    EXPECT_EQ(rounds.size(), ranks % 2 == 0 ? ranks - 1 : ranks);
    std::set<std::pair<Rank, Rank>> pairs;
    for (const PairRound& round : rounds) {
      EXPECT_EQ(round.size(), ranks / 2);  // 15 rounds of 16 ranks: 15 times as long as one pair
      std::set<Rank> busy;
      for (const auto& [one, other] : round) {
        EXPECT_LT(one, other);
        EXPECT_TRUE(pairs.emplace(one, other).second);
        EXPECT_TRUE(busy.insert(one).second && busy.insert(other).second);
      }
    }
    EXPECT_EQ(pairs.size(), ranks * (ranks - 1) / 2);
  }
}

TEST(PairRounds, NeverLetTheRoutesOfTwoPairsMeetInARank) {
  for (const char* shape : {"ring", "hypercube", "star", "torus2d:2x4", "kring:2"}) {
    const Graph graph = graph_of(shape, 8);
    std::size_t pairs = 0, together = 0;
    for (const PairRound& round : pair_rounds(graph, 3, 0)) {
      std::set<Rank> busy;
      for (const Flow& pair : round)
        for (const Rank rank : ranks_on(graph, pair))
          EXPECT_TRUE(busy.insert(rank).second) << shape << " rank " << rank;
      pairs += round.size();
      together = std::max(together, round.size());
    }
    EXPECT_EQ(pairs, 28u) << shape;
    EXPECT_EQ(together > 1, std::string(shape) != "star") << shape;
  }
}

TEST(PairRounds, AreDrawnByTheirSeed) {
  const Graph graph = graph_of("mesh", 8);
  EXPECT_EQ(pair_rounds(graph, 1, 0), pair_rounds(graph, 1, 0));
  EXPECT_NE(pair_rounds(graph, 1, 0), pair_rounds(graph, 2, 0));
}

TEST(PairRounds, OfASampleHaveSoManyPartnersOfEachRank) {
  for (const Rank ranks : {16u, 17u}) {
    std::vector<std::uint64_t> partners(ranks);
    for (const PairRound& round : pair_rounds(graph_of("mesh", ranks), 5, 3))
      for (const auto& [one, other] : round) {
        ++partners[one];
        ++partners[other];
      }
    for (const std::uint64_t count : partners) {
      EXPECT_LE(count, 3u);
      EXPECT_GE(count, ranks % 2 == 0 ? 3u : 2u);
    }
  }
}

TEST(PairRounds, GiveBothRanksOfAPairTheSameRoundAndOneOfThemTheFirstTurn) {
  const std::vector<PairRound> rounds = pair_rounds(graph_of("ring", 5), 1, 0);
  for (Rank rank = 0; rank < 5; ++rank) {
    const std::vector<PairTurn> turns = pair_turns(rounds, rank);
    ASSERT_EQ(turns.size(), rounds.size());
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (turns[i].partner == rank) continue;
      const PairTurn theirs = pair_turns(rounds, turns[i].partner)[i];
      EXPECT_EQ(theirs.partner, rank);
      EXPECT_NE(theirs.first, turns[i].first);
    }
  }
}

TEST(PairsOption, TakesAllOrASampleAndNothingElse) {
  EXPECT_EQ(partners_of_pairs("all", 8), 0u);
  EXPECT_EQ(partners_of_pairs("sampled:3", 8), 3u);
  EXPECT_EQ(partners_of_pairs("sampled:7", 8), 0u);
  EXPECT_EQ(partners_of_pairs("sampled:9", 8), 0u);
  for (const char* wrong : {"", "some", "sampled", "sampled:", "sampled:0", "sampled:-1", "all:1"})
    try {
      partners_of_pairs(wrong, 8);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("sampled:K"));
    }
}

}  // namespace
}  // namespace rdmameter
