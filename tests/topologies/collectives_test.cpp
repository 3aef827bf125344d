// SPDX-License-Identifier: Apache-2.0
// Every collective, carried out in memory by all of its ranks, against what it must come to.
#include <gtest/gtest.h>

#include <bit>
#include <deque>
#include <map>
#include <random>

#include "tests/topologies/searched.h"
#include "tests/topologies/topology_case.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/collectives/collective.h"
#include "topologies/ranks/rank_plan.h"

namespace rdmameter {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr Rank kMostRanks = kMostCounted;

/// Words of a memory, that is long enough for them. Without optimisation and with sanitizers it is
/// vector's functions for each word that take the time of these tests.
std::uint32_t* range(Words& memory, std::uint64_t begin, std::uint64_t count) {
  if (begin > memory.size() || count > memory.size() - begin)
    throw std::out_of_range("words beyond a memory");
  return memory.data() + begin;
}

std::uint32_t word_of(Rank rank, std::uint64_t at) {
  return 2654435761U * (rank + 1) + 40503U * static_cast<std::uint32_t>(at + 7);
}

const Collective& collective_named(std::string_view name) {
  for (const Collective* each : collectives())
    if (each->name == name) return *each;
  throw std::logic_error("no such collective");
}

/// RanksInMemory that take steps in any order.
class RanksInMemory {
 public:
  RanksInMemory(const Collective& collective, Rank ranks, std::uint64_t words)
      : sent_(ranks), step_(ranks), memories_(ranks) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      schedules_.push_back(collective.make(rank, ranks, words));
      const RankSchedule& mine = schedules_.back();
      Words& memory = memories_[rank];
      memory.assign(mine.memory_words, 0xdeadbeef);
      for (std::uint64_t at = 0; at < mine.input.count; ++at)
        memory.at(mine.input.begin + at) = word_of(rank, at);
      for (const WordMove& move : mine.moves) {
        const std::uint32_t* const from = range(memory, move.from, move.count);
        std::uint32_t* const to = range(memory, move.to, move.count);
        for (std::uint64_t i = 0; i < move.count; ++i) to[i] = from[i];
      }
    }
  }

  bool is_done(Rank rank) const { return step_[rank] == schedules_[rank].steps.size(); }
  /// @return  could it do anything?
  bool advance(Rank rank) {
    if (is_done(rank)) return false;
    const CollectiveStep& step = schedules_[rank].steps[step_[rank]];
    bool moved = false;
    if (step.send && !sent_[rank]) {
      Words message;
      for (const auto& [begin, count] : step.send->words) {
        const std::uint32_t* const words = range(memories_[rank], begin, count);
        message.insert(message.end(), words, words + count);
      }
      words_sent[rank] += message.size();
      ++messages_sent[rank];
      under_way_[{rank, step.send->to}].push_back(std::move(message));
      moved = true;
    }
    sent_[rank] = true;
    if (step.receive) {
      auto& queue = under_way_[{step.receive->from, rank}];
      if (queue.empty()) return moved;
      put(rank, *step.receive, queue.front());
      queue.pop_front();
    }
    sent_[rank] = false;
    ++step_[rank];
    return true;
  }
  bool nothing_is_left() const {
    for (const auto& [between, queue] : under_way_)
      if (!queue.empty()) return false;
    return true;
  }
  Words result(Rank rank) const {
    const WordRange& range = schedules_[rank].result;
    const auto begin = memories_[rank].begin() + static_cast<std::ptrdiff_t>(range.begin);
    return {begin, begin + static_cast<std::ptrdiff_t>(range.count)};
  }

  std::map<Rank, std::uint64_t> words_sent, messages_sent;

 private:
  void put(Rank rank, const ReceivedWords& received, Words& message) {
    Words& memory = memories_[rank];
    std::size_t next = 0;
    for (const auto& [begin, count] : received.words) {
      const std::uint32_t* const from = range(message, next, count);
      std::uint32_t* const to = range(memory, begin, count);
      const std::uint32_t* const before =
          received.added_to ? range(memory, *received.added_to, count) : nullptr;
      for (std::uint64_t i = 0; i < count; ++i) to[i] = (before ? before[i] : 0) + from[i];
      next += count;
    }
    EXPECT_EQ(next, message.size());
  }

  std::vector<RankSchedule> schedules_;
  std::vector<bool> sent_;
  std::vector<std::size_t> step_;
  std::vector<Words> memories_;
  std::map<std::pair<Rank, Rank>, std::deque<Words>> under_way_;
};

/// What the ranks must hold then, by the collective's name alone.
Words textbook(std::string_view name, Rank rank, Rank ranks, std::uint64_t words) {
  Words result;
  if (name.starts_with("allreduce")) {
    result.resize(words);
    for (Rank other = 0; other < ranks; ++other)
      for (std::uint64_t at = 0; at < words; ++at) result[at] += word_of(other, at);
  } else if (name.starts_with("alltoall")) {
    for (Rank other = 0; other < ranks; ++other)
      for (std::uint64_t at = 0; at < words; ++at)
        result.push_back(word_of(other, rank * words + at));
  } else if (name.starts_with("allgather")) {
    for (Rank other = 0; other < ranks; ++other)
      for (std::uint64_t at = 0; at < words; ++at) result.push_back(word_of(other, at));
  } else if (name.starts_with("broadcast")) {
    for (std::uint64_t at = 0; at < words; ++at) result.push_back(word_of(0, at));
  } else {
    for (Rank behind = 1; behind < ranks; behind *= 2)
      result.push_back(word_of((rank + ranks - behind) % ranks, 0));
  }
  return result;
}

TEST(Collectives, EveryRankHasTheTextbookResultInWhateverOrderRanksTakeTheirSteps) {
  std::mt19937 random(3);
  for (const Collective* collective : collectives())
    for (Rank n = 2; n <= kMostRanks; ++n)
      for (const std::uint64_t most : {3U, 70U}) {
        if (most > 3 && n > 20 && n % 11 != 0) continue;  // they take most of the time
        SCOPED_TRACE(fmt::format("{} of {} words among {}", collective->name, most, n));
        const std::uint64_t words = collective->kind == CollectiveKind::barrier ? 1 : most;
        RanksInMemory ranks(*collective, n, words);
        for (std::uint64_t idle = 0; idle < 20 * n;) {
          const Rank rank = static_cast<Rank>(random() % n);
          idle = ranks.advance(rank) ? 0 : idle + 1;
        }
        EXPECT_TRUE(ranks.nothing_is_left());
        for (Rank rank = 0; rank < n; ++rank) {
          ASSERT_TRUE(ranks.is_done(rank)) << rank;
          ASSERT_EQ(ranks.result(rank), textbook(collective->name, rank, n, words)) << rank;
          ASSERT_EQ(ranks.result(rank), expected_result(*collective, rank, n, words, word_of));
        }
      }
}

TEST(Collectives, NoRankPassesTheBarrierBeforeTheLastHasCome) {
  const Collective& barrier = collective_named("barrier-dissemination");
  for (Rank n = 2; n <= kMostRanks; ++n)
    for (Rank late = 0; late < n; ++late) {
      RanksInMemory ranks(barrier, n, 1);
      for (bool moved = true; moved;) {
        moved = false;
        for (Rank rank = 0; rank < n; ++rank)
          if (rank != late) moved |= ranks.advance(rank);
      }
      for (Rank rank = 0; rank < n; ++rank) EXPECT_FALSE(ranks.is_done(rank)) << n << " " << late;
    }
}

/// What textbooks say: words and messages of all ranks, steps, and words of these.
struct Volume {
  std::uint64_t words, messages, steps, step_words;
  bool operator==(const Volume&) const = default;
};

Volume textbook_volume(std::string_view name, std::uint64_t n, std::uint64_t words) {
  const std::uint64_t doubling = std::bit_floor(n), folded = n - doubling;
  const auto log2_up = static_cast<std::uint64_t>(std::bit_width(n - 1));
  if (name == "allreduce-ring")  // of whole blocks
    return {2 * (n - 1) * words, 2 * n * (n - 1), 2 * (n - 1), 2 * (n - 1) * words / n};
  if (name == "allreduce-rd") {
    const auto steps = static_cast<std::uint64_t>(std::bit_width(doubling) - 1);
    const std::uint64_t messages = doubling * steps + 2 * folded;
    const std::uint64_t all_steps = steps + (folded > 0 ? 2 : 0);
    return {messages * words, messages, all_steps, all_steps * words};
  }
  if (name == "alltoall-pairwise")
    return {n * (n - 1) * words, n * (n - 1), n - 1, (n - 1) * words};
  if (name == "alltoall-bruck") {
    std::uint64_t bits = 0;  // a block goes as often as its distance has bits
    for (std::uint64_t distance = 1; distance < n; ++distance) bits += std::popcount(distance);
    return {n * bits * words, n * log2_up, log2_up, bits * words};
  }
  if (name == "allgather-ring") return {n * (n - 1) * words, n * (n - 1), n - 1, (n - 1) * words};
  if (name == "broadcast-binomial") return {(n - 1) * words, n - 1, log2_up, log2_up * words};
  return {n * log2_up, n * log2_up, log2_up, log2_up};
}

TEST(Collectives, TheirBytesAndStepsAreThoseOfTextbooks) {
  for (const Collective* collective : collectives())
    for (Rank n = 2; n <= kMostRanks; ++n) {
      SCOPED_TRACE(fmt::format("{} among {}", collective->name, n));
      const std::uint64_t words = collective->kind == CollectiveKind::barrier ? 1 : 3 * n;
      const CollectiveTotals totals = collective_totals(*collective, n, words);
      const Volume told{totals.words, totals.messages, totals.steps, totals.step_words};
      EXPECT_EQ(told, textbook_volume(collective->name, n, words))
          << told.words << " " << told.messages << " " << told.steps << " " << told.step_words;
      RanksInMemory ranks(*collective, n, words);
      for (bool moved = true; moved;) {
        moved = false;
        for (Rank rank = 0; rank < n; ++rank) moved |= ranks.advance(rank);
      }
      std::uint64_t sent = 0, messages = 0;
      for (const auto& [rank, count] : ranks.words_sent) sent += count;
      for (const auto& [rank, count] : ranks.messages_sent) messages += count;
      EXPECT_EQ(sent, totals.words);
      EXPECT_EQ(messages, totals.messages);
    }
}

TEST(Collectives, SizesAndBusBandwidthAreThoseOfNcclTests) {
  using enum CollectiveKind;
  EXPECT_EQ(words_of_size(allreduce, 8, 1024), 256u);
  EXPECT_EQ(words_of_size(broadcast, 8, 1027), 256u);
  EXPECT_EQ(words_of_size(allgather, 8, 1024), 32u);  // of a rank: the size is what all receive
  EXPECT_EQ(words_of_size(alltoall, 3, 100), 8u);     // 25 words are 8 for each, and one is left
  EXPECT_EQ(bytes_of_words(alltoall, 3, 8), 96u);
  EXPECT_EQ(bytes_of_words(allreduce, 3, 8), 32u);
  EXPECT_EQ(words_of_size(alltoall, 8, 31), 0u);
  EXPECT_EQ(least_size(alltoall, 8), 32u);
  EXPECT_EQ(bytes_of_words(barrier, 8, 1), 0u);
  EXPECT_DOUBLE_EQ(bus_factor(allreduce, 8), 2 * 7 / 8.0);
  EXPECT_DOUBLE_EQ(bus_factor(alltoall, 8), 7 / 8.0);
  EXPECT_DOUBLE_EQ(bus_factor(allgather, 4), 3 / 4.0);
  EXPECT_DOUBLE_EQ(bus_factor(broadcast, 8), 1);
}

TestCase collective_case(const std::string& graph, std::string_view collective,
                         std::uint64_t ranks) {
  TestCase test_case = topology_case(graph, collective, ranks);
  test_case.size_bytes = 4096;
  return test_case;
}

TEST(Collectives, WhatRelaysSendIsCounted) {
  for (Rank n = 2; n <= kMostRanks; ++n)
    for (const std::string& graph :
         {std::string("ring"), std::string("star"), std::string("kring:2"),
          std::string("hypercube"), std::string("random:4"),
          shape_figures("torus2d:1x1", n)->graph}) {  // of n ranks
      if (!read_shape(graph, 1).why_not(n).empty()) continue;
      const auto hops = all_hops(read_shape(graph, default_topology_case().seed).make(n));
      for (const Collective* collective : collectives()) {
        const TestCase test_case = collective_case(graph, collective->name, n);
        SCOPED_TRACE(fmt::format("{} over {} of {}", collective->name, graph, n));
        const TopologyPlan plan = plan_topology(test_case);
        std::uint64_t relayed = 0;
        std::uint32_t farthest = 0;
        for (Rank rank = 0; rank < n; ++rank)
          for (const auto& step : collective->make(rank, n, plan.words).steps) {
            if (!step.send) continue;
            relayed += hops[rank][step.send->to] - 1;
            farthest = std::max(farthest, hops[rank][step.send->to]);
          }
        EXPECT_EQ(plan.relayed_hops, relayed);
        EXPECT_EQ(plan.hops.max, farthest);
      }
    }
}

TEST(Collectives, WhatCannotBeMeasuredIsSkippedWithItsReason) {
  TestCase test_case = collective_case("ring", "alltoall-bruck", 4);
  EXPECT_EQ(why_no_topology(test_case), "");
  EXPECT_EQ(plan_topology(test_case).message_bytes, 2048u);  // half of the blocks
  const auto why = [&](auto change) {
    TestCase changed = test_case;
    change(changed);
    return why_no_topology(changed);
  };
  const auto names = [](const std::string& text, const char* option) {
    return text.find(option) != std::string::npos;
  };
  EXPECT_TRUE(names(why([](TestCase& c) { c.size_bytes = 15; }), "at least --size 16"));
  EXPECT_TRUE(names(why([](TestCase& c) { c.transport = Transport::uc; }), "--transport rc"));
  EXPECT_TRUE(names(why([](TestCase& c) { c.qps_per_edge = 2; }), "--qps-per-edge 1"));
  EXPECT_TRUE(names(why([](TestCase& c) { c.iterations = kMaxCollectives + 1; }), "--iterations"));
}

TEST(Collectives, ABarrierHasNoSize) {
  const Axis& size = *find_axis("size", topology_axes());
  EXPECT_FALSE(size.applies(collective_case("mesh", "barrier-dissemination", 4)));
  EXPECT_TRUE(size.applies(collective_case("mesh", "broadcast-binomial", 4)));
  EXPECT_TRUE(size.applies(collective_case("mesh", "pairs", 4)));
}

}  // namespace
}  // namespace rdmameter
