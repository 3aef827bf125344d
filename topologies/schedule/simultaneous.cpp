// SPDX-License-Identifier: Apache-2.0
// As a loop over all ranks has it: all begin with rank 0, which is then flooded, then rank 1...
#include "topologies/schedule/schedule.h"

namespace rdmameter {

extern constexpr Schedule kSimultaneous{
    .name = "simultaneous",
    .description = "everything at once, every rank to rank 0 first",
    .round = [](Flow, Rank) { return std::uint32_t{0}; },
    .place = [](Flow flow, Rank) { return flow.to; }};

}  // namespace rdmameter
