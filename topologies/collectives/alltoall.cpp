// SPDX-License-Identifier: Apache-2.0
// Alltoall in log2(n) steps (Bruck, Ho, Kipnis, Upfal and Weathersby, 1997): a block has to go d
// ranks ahead, and in step k all blocks go 2^k ahead whose d has that bit. A block that passes a
// rank waits where, at its destination, the block of its source belongs; so none is moved
// at the end.
#include <bit>

#include "topologies/collectives/collective.h"

namespace rdmameter {

extern constexpr Collective kAlltoallBruck{
    .name = "alltoall-bruck",
    .description = "a block from every rank to every other, in log2(n) steps of many blocks",
    .kind = CollectiveKind::alltoall,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      const std::uint64_t all = ranks * words;
      RankSchedule schedule = begin_alltoall(rank, ranks, words);
      for (Rank bit = 1; bit < ranks; bit *= 2) {
        SentWords sent{(rank + bit) % ranks, {}};
        ReceivedWords received{.from = (rank + ranks - bit) % ranks, .words = {}};
        for (Rank ahead = bit; ahead < ranks; ++ahead) {
          if ((ahead & bit) == 0) continue;
          const bool is_own = (ahead & (bit - 1)) == 0;  // its first step
          const std::uint64_t waits = all + (rank + ranks - ahead) % ranks * words;
          sent.words.push_back({is_own ? (rank + ahead) % ranks * words : waits, words});
          received.words.push_back({waits, words});
        }
        add_step(schedule, std::move(sent), std::move(received));
      }
      return schedule;
    },
    .receivers =
        [](Rank rank, Rank ranks) {
          std::vector<Rank> ahead;
          for (Rank bit = 1; bit < ranks; bit *= 2) ahead.push_back((rank + bit) % ranks);
          return ahead;
        }};

// Alltoall by pairwise exchange: n - 1 steps, and in each the rank sends one block to its
// destination. If n is a power of two it exchanges with rank XOR the step; else it sends as many
// ranks ahead as it receives from behind.

extern constexpr Collective kAlltoallPairwise{
    .name = "alltoall-pairwise",
    .description = "a block from every rank to every other, one partner after the other",
    .kind = CollectiveKind::alltoall,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      const std::uint64_t all = ranks * words;
      RankSchedule schedule = begin_alltoall(rank, ranks, words);
      for (Rank step = 1; step < ranks; ++step) {
        const bool is_power = std::has_single_bit(ranks);
        const Rank to = is_power ? rank ^ step : (rank + step) % ranks;
        const Rank from = is_power ? to : (rank + ranks - step) % ranks;
        add_step(schedule, {to, {{to * words, words}}},
                 {.from = from, .words = {{all + from * words, words}}});
      }
      return schedule;
    },
    .to_all = true};

}  // namespace rdmameter
