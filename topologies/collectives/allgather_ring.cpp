// SPDX-License-Identifier: Apache-2.0
// Allgather over a ring: in n - 1 steps every block goes around.
#include "topologies/collectives/collective.h"

namespace rdmameter {

extern constexpr Collective kAllgatherRing{
    .name = "allgather-ring",
    .description = "every rank's block to every rank, around a ring",
    .kind = CollectiveKind::allgather,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      const auto block = [&](Rank behind) {
        return WordRange{(rank + ranks - behind) % ranks * words, words};
      };
      RankSchedule schedule{.memory_words = ranks * words,
                            .input = block(0),
                            .result = {0, ranks * words},
                            .moves = {},
                            .steps = {}};
      for (Rank step = 0; step + 1 < ranks; ++step)
        add_step(schedule, {(rank + 1) % ranks, {block(step)}},
                 {.from = (rank + ranks - 1) % ranks, .words = {block(step + 1)}});
      return schedule;
    },
    .receivers = only_next};

}  // namespace rdmameter
