// SPDX-License-Identifier: Apache-2.0
// Every rank begins with the one after it, so that at no time all send to one.
#include "topologies/schedule/schedule.h"

namespace rdmameter {

std::uint32_t by_distance(Flow flow, Rank ranks) {
  return (flow.to + ranks - flow.from) % ranks;
}

}  // namespace rdmameter
