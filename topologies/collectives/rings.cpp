// SPDX-License-Identifier: Apache-2.0
// Allgather over a ring: in n - 1 steps every block goes around.
#include <algorithm>

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
      RankSchedule schedule{
          .memory_words = ranks * words, .input = block(0), .result = {0, ranks * words}};
      for (Rank step = 0; step + 1 < ranks; ++step)
        add_step(schedule, {(rank + 1) % ranks, {block(step)}},
                 {.from = (rank + ranks - 1) % ranks, .words = {block(step + 1)}});
      return schedule;
    },
    .receivers = [](Rank rank, Rank ranks) { return std::vector{(rank + 1) % ranks}; }};

// Allreduce over a ring (Patarasuk and Yuan, 2009): the words are divided into a block for each
// rank. In n - 1 steps each block goes around and becomes the sum, in n - 1 more the
// sums go around.

extern constexpr Collective kAllreduceRing{
    .name = "allreduce-ring",
    .description = "the sum of all ranks' words to every rank, in blocks around a ring",
    .kind = CollectiveKind::allreduce,
    .make = [](Rank rank, Rank ranks, std::uint64_t words) -> RankSchedule {
      RankSchedule schedule{.memory_words = words, .input = {0, words}, .result = {0, words}};
      const Rank next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
      // Of the rest each of the first blocks has a word.
      const std::uint64_t each = words / ranks, rest = words % ranks;
      const auto block = [&](Rank behind) {
        const Rank number = (rank + 2 * ranks - behind) % ranks;
        return WordRange{.begin = number * each + std::min<std::uint64_t>(number, rest),
                         .count = each + (number < rest ? 1 : 0)};
      };
      for (Rank step = 0; step + 1 < ranks; ++step) {
        const WordRange sum = block(step + 1);
        add_step(schedule, {next, {block(step)}},
                 {.from = last, .words = {sum}, .added_to = sum.begin});
      }
      for (Rank step = 0; step + 1 < ranks; ++step)
        add_step(schedule, {next, {block(step + ranks - 1)}},
                 {.from = last, .words = {block(step)}});
      return schedule;
    },
    .receivers = kAllgatherRing.receivers};

}  // namespace rdmameter
