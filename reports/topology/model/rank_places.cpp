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
using Groups = std::vector<std::uint32_t>;

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

/// Do the first k belong to group 0, the next k to group 1 and so on? The last one may be smaller.
bool in_blocks(const Groups& groups, std::uint64_t k) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != i / k) return false;
  return true;
}

/// Do members of k groups follow one another in turn?
bool in_turn(const Groups& groups, std::uint64_t k) {
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i] != i % k) return false;
  return true;
}

std::uint64_t size_of_first(const Groups& groups) {
  return static_cast<std::uint64_t>(std::ranges::count(groups, 0U));
}

std::uint64_t number_of(const Groups& groups) {
  return groups.empty() ? 0 : std::ranges::max(groups) + std::uint64_t{1};
}

Groups host_groups(const RankPlaces& places) {
  Groups groups;
  for (const RankPlace& place : places) groups.push_back(place.host);
  return groups;
}

/// By rank of the host. Nodes are numbered as they first appear. Empty: not all are known.
Groups node_groups(std::span<const RankPlace> of_host) {
  Groups groups;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (const RankPlace& place : of_host) {
    if (!place.numa_node) return {};
    const auto next = static_cast<std::uint32_t>(numbers.size());
    groups.push_back(numbers.emplace(*place.numa_node, next).first->second);
  }
  return groups;
}

std::vector<RankPlaces> by_host(const RankPlaces& places) {
  std::vector<RankPlaces> hosts;
  for (const RankPlace& place : places) {
    if (hosts.size() <= place.host) hosts.resize(place.host + std::size_t{1});
    hosts[place.host].push_back(place);
  }
  return hosts;
}

/// Hosts with as many ranks as measured. Empty: they are neither in blocks nor in turn.
Groups hosts_at(const Groups& measured, std::uint64_t ranks) {
  const std::uint64_t per_host = size_of_first(measured), hosts = number_of(measured);
  Groups at(ranks);
  if (hosts == 1) return at;
  const bool blocks = in_blocks(measured, per_host);
  if (!blocks && !in_turn(measured, hosts)) return {};
  const std::uint64_t more_hosts = (ranks + per_host - 1) / per_host;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    at[rank] = static_cast<std::uint32_t>(blocks ? rank / per_host : rank % more_hosts);
  return at;
}

/// NUMA nodes by rank of a host with so many ranks. Empty: those of the measured one are in no
/// order.
RankPlaces host_at(const RankPlaces& measured, std::uint64_t ranks) {
  if (ranks <= measured.size()) return measured;
  if (!nodes_differ(measured)) return RankPlaces(ranks, measured.front());
  const Groups groups = node_groups(measured);
  const std::uint64_t nodes = number_of(groups);
  const bool blocks = in_blocks(groups, size_of_first(groups));
  if (groups.empty() || (!blocks && !in_turn(groups, nodes))) return {};
  RankPlaces at(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    at[rank].numa_node = static_cast<std::uint32_t>(blocks ? rank * nodes / ranks : rank % nodes);
  return at;
}

/// Has each host the nodes of the first one, as far as it has ranks?
bool hosts_are_alike(const std::vector<RankPlaces>& hosts) {
  return std::ranges::all_of(hosts, [&](const RankPlaces& host) {
    return host.size() <= hosts.front().size() &&
           std::ranges::equal(host, std::span(hosts.front()).first(host.size()), {},
                              &RankPlace::numa_node, &RankPlace::numa_node);
  });
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
  const Groups hosts = host_groups(places);
  const std::uint64_t per_host = size_of_first(hosts);
  return !hosts.empty() && in_blocks(hosts, per_host) ? std::optional(per_host) : std::nullopt;
}

std::optional<NumaOrder> numa_order(const RankPlaces& places) {
  if (!nodes_differ(places)) return std::nullopt;
  std::vector<Groups> hosts;
  for (const RankPlaces& host : by_host(places)) hosts.push_back(node_groups(host));
  const auto all = [&](auto in_order, std::uint64_t k) {
    return std::ranges::all_of(
        hosts, [&](const Groups& groups) { return !groups.empty() && in_order(groups, k); });
  };
  const std::uint64_t per_node = size_of_first(hosts.front()), nodes = number_of(hosts.front());
  if (all(in_blocks, per_node)) return NumaOrder{.ranks_per_node = per_node};
  if (all(in_turn, nodes)) return NumaOrder{.nodes_in_turn = nodes};
  return std::nullopt;
}

RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks) {
  if (ranks <= measured.size())
    return {measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(ranks)};
  if (measured.empty()) return {};
  const Groups groups = host_groups(measured);
  const Groups hosts = hosts_at(groups, ranks);
  const std::vector<RankPlaces> measured_hosts = by_host(measured);
  if (hosts.empty() || !hosts_are_alike(measured_hosts)) return {};
  const RankPlaces nodes = host_at(measured_hosts.front(), size_of_first(hosts));
  if (nodes.empty()) return {};
  RankPlaces at;
  std::vector<std::size_t> on_host(number_of(hosts));
  for (const std::uint32_t host : hosts)
    at.push_back({.host = host, .numa_node = nodes[on_host[host]++].numa_node});
  return at;
}

}  // namespace rdmameter
