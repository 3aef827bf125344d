// SPDX-License-Identifier: Apache-2.0
// Allreduce by recursive doubling (Thakur, Rabenseifner and Gropp, 2005): in step k a rank
// exchanges all of its words with rank XOR 2^k. If n is no power of two, of the first ranks every
// second one gives its words to the next one before, and gets the sum from it after.
#include <bit>

#include "topologies/collectives/collective.h"

namespace rdmameter {

extern constexpr Collective kAllreduceRd{
    .name = "allreduce-rd",
    .description = "the sum of all ranks' words to every rank, by recursive doubling",
    .kind = CollectiveKind::allreduce,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      RankSchedule schedule{.memory_words = 2 * words, .input = {0, words}, .result = {0, words}};
      const Rank doubling = std::bit_floor(ranks), folded = ranks - doubling;
      const bool in_pair = rank < 2 * folded, gives = in_pair && rank % 2 == 0;
      if (gives) {
        add_step(schedule, {rank + 1, {{0, words}}});
        add_step(schedule, {}, {.from = rank + 1, .words = {{words, words}}});
        schedule.result.begin = words;
        return schedule;
      }
      // Sums are put where nothing is being sent from: by turns into one half and the other.
      std::uint64_t sums = 0;
      if (in_pair) {
        add_step(schedule, {}, {.from = rank - 1, .words = {{words, words}}, .added_to = 0});
        sums = words;
      }
      const auto rank_of = [folded](Rank place) {
        return place < folded ? 2 * place + 1 : place + folded;
      };
      const Rank place = in_pair ? rank / 2 : rank - folded;
      for (Rank bit = 1; bit < doubling; bit *= 2) {
        const Rank partner = rank_of(place ^ bit);
        add_step(schedule, {partner, {{sums, words}}},
                 {.from = partner, .words = {{words - sums, words}}, .added_to = sums});
        sums = words - sums;
      }
      if (in_pair) add_step(schedule, {rank - 1, {{sums, words}}});
      schedule.result.begin = sums;
      return schedule;
    }};

// Barrier by dissemination (Hensgen, Finkel and Manber, 1988): in step k a rank sends a word to the
// one 2^k ahead and waits for the one 2^k behind. It goes over the links of the graph, unlike the
// barrier before each sample.

extern constexpr Collective kBarrierDissemination{
    .name = "barrier-dissemination",
    .description = "no rank goes on before all have come, in log2(n) steps",
    .kind = CollectiveKind::barrier,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      RankSchedule schedule{.memory_words = words, .input = {0, words}, .result = {words, 0}};
      for (Rank ahead = 1; ahead < ranks; ahead *= 2) {
        add_step(
            schedule, {(rank + ahead) % ranks, {{0, words}}},
            {.from = (rank + ranks - ahead) % ranks, .words = {{schedule.memory_words, words}}});
        schedule.memory_words += words;
        schedule.result.count += words;
      }
      return schedule;
    }};

// Broadcast from rank 0 over a binomial tree: a rank receives from that which lacks its lowest bit,
// and sends to those that have one lower bit more, the farthest first.

extern constexpr Collective kBroadcastBinomial{
    .name = "broadcast-binomial",
    .description = "rank 0's words to every rank, over a binomial tree",
    .kind = CollectiveKind::broadcast,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      RankSchedule schedule{
          .memory_words = words, .input = {0, rank == 0 ? words : 0}, .result = {0, words}};
      const Rank lowest = rank == 0 ? std::bit_ceil(ranks) : rank & (~rank + 1);
      if (rank != 0) add_step(schedule, {}, {.from = rank - lowest, .words = {{0, words}}});
      for (Rank bit = lowest / 2; bit != 0; bit /= 2)
        if (rank + bit < ranks) add_step(schedule, {rank + bit, {{0, words}}});
      return schedule;
    }};

}  // namespace rdmameter
