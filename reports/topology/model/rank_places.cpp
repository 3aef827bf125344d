// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/rank_places.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/base/parse_value.h"
#include "reports/summary/facts.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

/// The value of a part of what was typed to --simulate, such as "ranks-per-host:". 0: none.
std::uint64_t network_part(const Row& row, std::string_view part) {
  const std::string network = text_at(row.case_object, "device");
  const std::size_t found = network.find(part);
  if (found == network.npos) return 0;
  const std::size_t begin = found + part.size();
  return parse_count(network.substr(begin, network.find(',', begin) - begin)).value_or(0);
}

/// Ranks 0 to k - 1 on host 0, the next k on host 1 and so on. The last one may have fewer.
RankPlaces in_blocks(std::uint64_t ranks, std::uint64_t k) {
  RankPlaces places(ranks);
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    places[rank].host = static_cast<std::uint32_t>(rank / k);
  return places;
}

void add_measured_nodes(const Row& row, RankPlaces& places) {
  const Json& nodes = list_at(row.extra, "/placement/ranks/numa_nodes");
  if (nodes.size() != places.size()) return;
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
  return row_path(row) == "simulated" ||
         fact_at(row.extra, "/placement/ranks/pinned") == Json(row.topology->ranks);
}

/// A row tells where a rank was at its end. What is not pinned may have been elsewhere before.
void forget_nodes_of_moved(std::span<const Row* const> rows, std::vector<RankPlaces>& all) {
  std::map<std::size_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> seen;  // host and node
  const auto each_unpinned = [&](auto use) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!all_pinned(*rows[i]))
        for (std::size_t rank = 0; rank < all[i].size(); ++rank) use(rank, all[i][rank]);
  };
  each_unpinned([&](std::size_t rank, const RankPlace& place) {
    if (place.numa_node) seen[rank].emplace(place.host, *place.numa_node);
  });
  each_unpinned([&](std::size_t rank, RankPlace& place) {
    if (place.numa_node && seen[rank].size() > 1) place.numa_node.reset();
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

std::string row_path(const Row& row) {
  return text_at(row.extra, "path");
}

RankPlaces hosts_of(const Json& context) {
  std::vector<std::string> hosts;
  for (const Json& one : list_at(context, "/rdmameter/ranks")) {
    const Json& host = fact_at(one, "host");
    if (fact_at(one, "rank") != Json(hosts.size()) || !host.is_string()) return {};
    hosts.push_back(host);
  }
  return places_on(hosts);
}

RankPlaces hosts_of(const Row& row, const RankPlaces& of_result) {
  const std::uint64_t ranks = row.topology->ranks;
  const std::string path = row_path(row);
  if (ranks > kMaxPredictedRanks) return {};
  if (path == "simulated") {
    const std::uint64_t per_host = network_part(row, "ranks-per-host:");
    return per_host == 0 ? RankPlaces() : in_blocks(ranks, per_host);
  }
  if (path == "same_device" || path == "netdev") return RankPlaces(ranks);
  if (of_result.size() < ranks) return {};
  return {of_result.begin(), of_result.begin() + static_cast<std::ptrdiff_t>(ranks)};
}

std::optional<std::uint64_t> equal_ranks_per_host(const RankPlaces& places) {
  const auto per_host =
      static_cast<std::uint64_t>(std::ranges::count(places, 0U, &RankPlace::host));
  const bool equal =
      !places.empty() && std::ranges::equal(places, in_blocks(places.size(), per_host), {},
                                            &RankPlace::host, &RankPlace::host);
  return equal ? std::optional(per_host) : std::nullopt;
}

RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks) {
  if (ranks <= measured.size())
    return {measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(ranks)};
  const std::optional<std::uint64_t> per_host = equal_ranks_per_host(measured);
  if (!per_host) return {};
  const bool one_host = *per_host == measured.size();
  return in_blocks(ranks, one_host ? ranks : *per_host);
}

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
