// SPDX-License-Identifier: Apache-2.0
// Every rank begins with the one after it, so that at no time all send to one.
#include "topologies/schedule/schedule.h"

namespace rdmameter {

extern constexpr Schedule kStaggered{
    .name = "staggered",
    .description = "everything at once, every rank to its next one first",
    .round = [](Flow, Rank) { return std::uint32_t{0}; },
    .place = ranks_ahead};

}  // namespace rdmameter
