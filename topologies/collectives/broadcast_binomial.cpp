// SPDX-License-Identifier: Apache-2.0
// Broadcast from rank 0 over a binomial tree: a rank receives from that which lacks its lowest bit,
// and sends to those that have one lower bit more, the farthest first.
#include <bit>

#include "topologies/collectives/collective.h"

namespace rdmameter {

extern constexpr Collective kBroadcastBinomial{
    .name = "broadcast-binomial",
    .description = "rank 0's words to every rank, over a binomial tree",
    .kind = CollectiveKind::broadcast,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      RankSchedule schedule{.memory_words = words,
                            .input = {0, rank == 0 ? words : 0},
                            .result = {0, words},
                            .moves = {},
                            .steps = {}};
      const Rank lowest = rank == 0 ? std::bit_ceil(ranks) : rank & (~rank + 1);
      if (rank != 0)
        schedule.steps.push_back(
            {.receive = ReceivedWords{.from = rank - lowest, .words = {{0, words}}}});
      for (Rank bit = lowest / 2; bit != 0; bit /= 2)
        if (rank + bit < ranks)
          schedule.steps.push_back({.send = SentWords{rank + bit, {{0, words}}}});
      return schedule;
    }};

}  // namespace rdmameter
