// SPDX-License-Identifier: Apache-2.0
// Barrier by dissemination (Hensgen, Finkel and Manber, 1988): in step k a rank sends a word to the
// one 2^k ahead and waits for the one 2^k behind. It goes over the links of the graph, unlike the
// barrier before each sample.
#include "topologies/collectives/collective.h"

namespace rdmameter {

extern constexpr Collective kBarrierDissemination{
    .name = "barrier-dissemination",
    .description = "no rank goes on before all have come, in log2(n) steps",
    .kind = CollectiveKind::barrier,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      RankSchedule schedule{.memory_words = words,
                            .input = {0, words},
                            .result = {words, 0},
                            .moves = {},
                            .steps = {}};
      for (Rank ahead = 1; ahead < ranks; ahead *= 2) {
        add_step(
            schedule, {(rank + ahead) % ranks, {{0, words}}},
            {.from = (rank + ranks - ahead) % ranks, .words = {{schedule.memory_words, words}}});
        schedule.memory_words += words;
        schedule.result.count += words;
      }
      return schedule;
    }};

}  // namespace rdmameter
