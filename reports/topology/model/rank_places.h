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

/// Which ranks of a host share a NUMA node.
struct NumaOrder {
  std::uint64_t ranks_per_node = 0;  ///< ranks 0 to k - 1 of a host, and so on; 0: they do not
  std::uint64_t nodes_in_turn = 0;   ///< of k nodes, ranks take one after the other; 0: they do not
};

/// Nothing: not the same order on all hosts, none, or not known of all ranks.
std::optional<NumaOrder> numa_order(const RankPlaces& places);

/// Where so many ranks would be: hosts with as many ranks as measured, one after the other or in
/// turn as measured, each with the NUMA nodes of the first. More ranks of a single host are on as
/// many NUMA nodes as measured. Empty: the measured ones are not placed so.
RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks);

}  // namespace rdmameter
