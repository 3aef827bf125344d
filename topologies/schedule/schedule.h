// SPDX-License-Identifier: Apache-2.0
// What each schedule is made of; see the table in topologies/schedules.cpp.
#pragma once

#include "topologies/schedule.h"

namespace rdmameter {

std::uint32_t one_round(Flow, Rank ranks);
std::uint32_t by_number(Flow flow, Rank ranks);
std::uint32_t by_distance(Flow flow, Rank ranks);
std::uint32_t pairwise_round(Flow flow, Rank ranks);

}  // namespace rdmameter
