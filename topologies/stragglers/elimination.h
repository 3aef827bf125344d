// SPDX-License-Identifier: Apache-2.0
// Node, path, direction, or none of them? A suspect is measured again, alone and with other
// partners, and what remains is the verdict. Pure functions of what was measured.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topologies/graphs/graph.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

/// A round trip by its stops, the first and last being where it begins.
using RoundTripStops = std::vector<Rank>;

/// The round trips that show which part is slow:
///   its pair, with and without the network busy;
///   each of the two ranks with other partners: a node is slow with all of them;
///   pairs of other ranks, for what is usual;
///   turns past both ranks and others, in both senses: a slow direction makes only one
///   of them slow.
/// Pairs are all of the suspect's kind; of a rank, of that which most of its edges are of.
/// Streams from one to the other would not do for the last: over a reliable connection they wait
/// for what comes back, so that a delay of either direction slows both.
/// @param suspect  of find_straggler(), not Verdict::none
/// @param places   of all ranks
/// @param seed     draws partners and order
/// @return  each is to be measured alone; none: too few edges are of that kind
std::vector<RoundTripStops> elimination_trips(const Straggler& suspect, const Matrix& matrix_ns,
                                              const Graph& graph, const RankPlaces& places,
                                              std::uint64_t seed);

/// @param trips     as elimination_trips() gave them for the suspect
/// @param times_ns  the median of each round trip; 0: none
Straggler judge_elimination(std::span<const RoundTripStops> trips,
                            std::span<const double> times_ns);

}  // namespace rdmameter
