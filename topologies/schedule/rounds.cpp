// SPDX-License-Identifier: Apache-2.0
// Pairwise exchange (as MPI libraries do all-to-all of large messages; Thakur, Rabenseifner and
// Gropp, 2005): in round r a rank's partner is rank XOR r where their number is a power of two;
// else it sends r ranks ahead, and receives from r ranks behind.
#include <bit>

#include "topologies/schedule/schedule.h"

namespace rdmameter {

extern constexpr Schedule kRounds{
    .name = "rounds",
    .description = "pairwise exchange: a partner a round, the next after its answer",
    .round =
        [](Flow flow, Rank ranks) {
          return std::has_single_bit(ranks) ? flow.from ^ flow.to : ranks_ahead(flow, ranks);
        },
    .place = [](Flow flow, Rank) { return flow.to; }};

}  // namespace rdmameter
