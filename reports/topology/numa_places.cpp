// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/numa_places.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/topology/model/rank_places.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// Nothing: an older version wrote the row, or somebody else.
const Json* placement_of(const Row& row) {
  static const Json::json_pointer kRanks("/placement/ranks");
  if (!row.extra.is_object() || !row.extra.contains(kRanks)) return nullptr;
  const Json& placement = row.extra.at(kRanks);
  return placement.is_object() ? &placement : nullptr;
}

void add_measured_nodes(const Row& row, RankPlaces& places) {
  const Json* const placement = placement_of(row);
  if (placement == nullptr || !placement->contains("numa_nodes")) return;
  const Json& nodes = placement->at("numa_nodes");
  if (!nodes.is_array() || nodes.size() != places.size()) return;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (nodes[rank].is_number_unsigned() &&
        nodes[rank].get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max())
      places[rank].numa_node = nodes[rank].get<std::uint32_t>();
}

/// As the simulator has them.
void add_simulated_nodes(const Row& row, RankPlaces& places) {
  const std::uint64_t per_host = network_part(row, "ranks-per-host:"),
                      per_node = network_part(row, "ranks-per-numa:"),
                      in_turn = network_part(row, "numa-in-turn:");
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (per_node != 0)
      places[rank].numa_node = static_cast<std::uint32_t>(rank % per_host / per_node);
    else if (in_turn != 0)
      places[rank].numa_node = static_cast<std::uint32_t>(rank % per_host % in_turn);
}

bool all_pinned(const Row& row) {
  const Json* const placement = placement_of(row);
  return row_path(row) == "simulated" ||
         (placement != nullptr && placement->value("pinned", Json()) == Json(row.topology->ranks));
}

/// A row tells where a rank was at its end. What is not pinned may have been elsewhere before.
void forget_nodes_of_moved(std::span<const Row* const> rows, std::vector<RankPlaces>& all) {
  RankPlaces seen;
  std::vector<bool> moved;
  const auto each_unpinned = [&](auto use) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!all_pinned(*rows[i]))
        for (std::size_t rank = 0; rank < all[i].size(); ++rank) use(rank, all[i][rank]);
  };
  each_unpinned([&](std::size_t rank, const RankPlace& place) {
    if (seen.size() <= rank) {
      seen.resize(rank + 1);
      moved.resize(rank + 1);
    }
    if (!place.numa_node) return;
    moved[rank] = moved[rank] || (seen[rank].numa_node && seen[rank] != place);
    seen[rank] = place;
  });
  each_unpinned([&](std::size_t rank, RankPlace& place) {
    if (moved[rank]) place.numa_node.reset();
  });
}

bool nodes_differ(const RankPlaces& places) {
  std::map<std::uint32_t, std::uint32_t> node_of_host;
  return std::ranges::any_of(places, [&](const RankPlace& place) {
    return place.numa_node &&
           node_of_host.emplace(place.host, *place.numa_node).first->second != *place.numa_node;
  });
}

}  // namespace

std::vector<RankPlaces> places_of(std::span<const Row* const> rows, const RankPlaces& of_result) {
  std::vector<RankPlaces> all;
  for (const Row* row : rows) {
    all.push_back(hosts_of(*row, of_result));
    if (row_path(*row) == "simulated")
      add_simulated_nodes(*row, all.back());
    else
      add_measured_nodes(*row, all.back());
  }
  forget_nodes_of_moved(rows, all);
  if (std::ranges::none_of(all, nodes_differ))
    for (RankPlaces& places : all)
      for (RankPlace& place : places) place.numa_node.reset();
  return all;
}

}  // namespace rdmameter
