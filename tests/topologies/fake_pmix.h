// SPDX-License-Identifier: Apache-2.0
// In place of libpmix and a launcher's server: the ranks of a job are threads of this process.
#pragma once

#include <cstdint>
#include <string>

#include "topologies/graphs/graph.h"

namespace rdmameter::fake_pmix {

/// Begins a job. Each of its ranks is a thread that has called be(), until the next one begins.
/// @param here  ranks that take part; a fence waits for so many. Of the others only cards are there
void begin(Rank ranks, Rank here);

/// From now on this thread is that rank.
void be(Rank rank);

/// What a rank that does not take part has published.
void put_card(Rank rank, std::string card);

/// Of all ranks, since the job began: whatever they have asked of PMIx.
std::uint64_t calls();

}  // namespace rdmameter::fake_pmix
