// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/rank_places.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "core/base/parse_value.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// The value of a part of what was typed to --simulate: "delay:2us,ranks-per-host:4". 0: none.
std::uint64_t network_part(std::string_view network, std::string_view part) {
  const std::size_t found = network.find(part);
  if (found == network.npos) return 0;
  const std::size_t begin = found + part.size();
  return parse_count(network.substr(begin, network.find(',', begin) - begin)).value_or(0);
}

/// As the simulator has them.
RankPlaces simulated_places(const Row& row) {
  const auto device = row.case_object.find("device");
  if (device == row.case_object.end() || !device->is_string()) return {};
  const auto network = device->get<std::string>();
  const std::uint64_t per_host = network_part(network, "ranks-per-host:");
  if (per_host == 0) return {};
  const std::uint64_t per_node = network_part(network, "ranks-per-numa:"),
                      in_turn = network_part(network, "numa-in-turn:");
  RankPlaces places(row.topology->ranks);
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const std::uint64_t on_host = rank % per_host;
    places[rank].host = static_cast<std::uint32_t>(rank / per_host);
    if (per_node != 0)
      places[rank].numa_node = static_cast<std::uint32_t>(on_host / per_node);
    else if (in_turn != 0)
      places[rank].numa_node = static_cast<std::uint32_t>(on_host % in_turn);
  }
  return places;
}

RankPlaces measured_hosts(const Row& row, const RankPlaces& of_result) {
  const std::uint64_t ranks = row.topology->ranks;
  const std::string path = row_path(row);
  if (path == "same_device" || path == "netdev") return RankPlaces(ranks);
  if (of_result.size() < ranks) return {};
  return {of_result.begin(), of_result.begin() + static_cast<std::ptrdiff_t>(ranks)};
}

/// Nothing: an older version wrote the row, or somebody else.
const Json* placement_of(const Row& row) {
  static const Json::json_pointer kRanks("/placement/ranks");
  if (!row.extra.is_object() || !row.extra.contains(kRanks)) return nullptr;
  const Json& placement = row.extra.at(kRanks);
  return placement.is_object() ? &placement : nullptr;
}

void add_numa_nodes(const Row& row, RankPlaces& places) {
  const Json* const placement = placement_of(row);
  if (placement == nullptr || !placement->contains("numa_nodes")) return;
  const Json& nodes = placement->at("numa_nodes");
  if (!nodes.is_array() || nodes.size() != places.size()) return;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (nodes[rank].is_number_unsigned() &&
        nodes[rank].get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max())
      places[rank].numa_node = nodes[rank].get<std::uint32_t>();
}

RankPlaces places_of(const Row& row, const RankPlaces& of_result) {
  if (row.topology->ranks > kMaxPredictedRanks) return {};
  if (row_path(row) == "simulated") return simulated_places(row);
  RankPlaces places = measured_hosts(row, of_result);
  add_numa_nodes(row, places);
  return places;
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

/// Are ranks 0 to k - 1 on host 0, the next k on host 1 and so on? The last one may have fewer.
bool in_blocks(const RankPlaces& places, std::uint64_t k) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].host != rank / k) return false;
  return true;
}

/// Are they on k hosts in turn?
bool in_turn(const RankPlaces& places, std::uint64_t k) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].host != rank % k) return false;
  return true;
}

std::uint64_t ranks_of_first_host(const RankPlaces& places) {
  return static_cast<std::uint64_t>(std::ranges::count(places, 0U, &RankPlace::host));
}

}  // namespace

std::string row_path(const Row& row) {
  if (!row.extra.is_object()) return "";
  const auto path = row.extra.find("path");
  return path != row.extra.end() && path->is_string() ? path->get<std::string>() : "";
}

RankPlaces hosts_of(const Json& context) {
  const Json::json_pointer ranks("/rdmameter/ranks");
  if (!context.contains(ranks) || !context.at(ranks).is_array()) return {};
  std::vector<std::string> hosts;
  for (const Json& one : context.at(ranks)) {
    if (!one.is_object() || one.value("rank", Json()) != Json(hosts.size())) return {};
    const auto host = one.find("host");
    if (host == one.end() || !host->is_string()) return {};
    hosts.push_back(host->get<std::string>());
  }
  return places_on(hosts);
}

std::vector<RankPlaces> places_of(std::span<const Row* const> rows, const RankPlaces& of_result) {
  std::vector<RankPlaces> all;
  for (const Row* row : rows) all.push_back(places_of(*row, of_result));
  forget_nodes_of_moved(rows, all);
  if (std::ranges::none_of(all, nodes_differ))
    for (RankPlaces& places : all) places = without_numa_nodes(std::move(places));
  return all;
}

RankPlaces without_numa_nodes(RankPlaces places) {
  for (RankPlace& place : places) place.numa_node.reset();
  return places;
}

std::optional<std::uint64_t> equal_ranks_per_host(const RankPlaces& places) {
  const std::uint64_t per_host = ranks_of_first_host(places);
  return !places.empty() && in_blocks(places, per_host) ? std::optional(per_host) : std::nullopt;
}

RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks) {
  if (ranks <= measured.size())
    return {measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(ranks)};
  if (measured.empty()) return {};
  const std::uint64_t hosts = std::ranges::max(measured, {}, &RankPlace::host).host + 1ULL,
                      per_host = ranks_of_first_host(measured);
  const bool blocks = in_blocks(measured, per_host);
  if (hosts > 1 && !blocks && !in_turn(measured, hosts)) return {};
  const std::uint64_t more_hosts = (ranks + per_host - 1) / per_host;
  RankPlaces at(ranks);
  for (std::size_t rank = 0; hosts > 1 && rank < ranks; ++rank)
    at[rank].host = static_cast<std::uint32_t>(blocks ? rank / per_host : rank % more_hosts);
  return at;
}

}  // namespace rdmameter
