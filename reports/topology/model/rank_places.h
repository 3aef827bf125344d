// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a result are: on which host, and on which NUMA node of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "topologies/graphs/placed_routes.h"

namespace rdmameter {

/// Which way its messages went: "network", "same_device", "simulated"... Empty: not told.
std::string row_path(const Row& row);

/// The hosts, as the context of a result has them.
RankPlaces hosts_of(const nlohmann::ordered_json& context);

/// Of the ranks of each row; of a simulated one as in its network. Hosts are those of the result,
/// NUMA nodes those of the row. A rank that was not pinned, and that rows saw on different nodes,
/// has none. If no row has two ranks on different nodes of a host, no rank has one.
std::vector<RankPlaces> places_of(std::span<const Row* const> rows, const RankPlaces& of_result);

/// Those places with hosts alone.
RankPlaces without_numa_nodes(RankPlaces places);

/// Of ranks 0 to k - 1, k to 2 k - 1 and so on; the last host may have fewer. Nothing: not so.
std::optional<std::uint64_t> equal_ranks_per_host(const RankPlaces& places);

/// On which hosts so many ranks would be: each with as many ranks as measured, one after the other
/// or in turn as measured; of a single host, all on it. Empty: the measured ones are not placed so.
/// @param measured  hosts alone
RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks);

}  // namespace rdmameter
