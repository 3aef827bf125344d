// SPDX-License-Identifier: Apache-2.0
// Alltoall by pairwise exchange: n - 1 steps, and in each the rank sends one block to its
// destination. If n is a power of two it exchanges with rank XOR the step; else it sends as many
// ranks ahead as it receives from behind.
#include <bit>

#include "topologies/collectives/collective.h"

namespace rdmameter {

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
