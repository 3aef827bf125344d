// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/rank_places.h"

#include <algorithm>

#include "core/base/parse_value.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// As the simulator has them.
RankPlaces simulated_hosts(const Row& row) {
  const std::uint64_t per_host = network_part(row, "ranks-per-host:");
  if (per_host == 0) return {};
  RankPlaces places(row.topology->ranks);
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    places[rank].host = static_cast<std::uint32_t>(rank / per_host);
  return places;
}

RankPlaces measured_hosts(const Row& row, const RankPlaces& of_result) {
  const std::uint64_t ranks = row.topology->ranks;
  const std::string path = row_path(row);
  if (path == "same_device" || path == "netdev") return RankPlaces(ranks);
  if (of_result.size() < ranks) return {};
  return {of_result.begin(), of_result.begin() + static_cast<std::ptrdiff_t>(ranks)};
}

/// Are ranks 0 to k - 1 on host 0, the next k on host 1 and so on? The last one may have fewer.
bool in_blocks(const RankPlaces& places, std::uint64_t k) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].host != rank / k) return false;
  return true;
}

}  // namespace

std::string row_path(const Row& row) {
  if (!row.extra.is_object()) return "";
  const auto path = row.extra.find("path");
  return path != row.extra.end() && path->is_string() ? path->get<std::string>() : "";
}

std::uint64_t network_part(const Row& row, std::string_view part) {
  const auto device = row.case_object.find("device");
  if (device == row.case_object.end() || !device->is_string()) return 0;
  const std::string_view network = device->get_ref<const std::string&>();
  const std::size_t found = network.find(part);
  if (found == network.npos) return 0;
  const std::size_t begin = found + part.size();
  return parse_count(network.substr(begin, network.find(',', begin) - begin)).value_or(0);
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

RankPlaces hosts_of(const Row& row, const RankPlaces& of_result) {
  if (row.topology->ranks > kMaxPredictedRanks) return {};
  return row_path(row) == "simulated" ? simulated_hosts(row) : measured_hosts(row, of_result);
}

std::optional<std::uint64_t> equal_ranks_per_host(const RankPlaces& places) {
  const auto per_host =
      static_cast<std::uint64_t>(std::ranges::count(places, 0U, &RankPlace::host));
  return !places.empty() && in_blocks(places, per_host) ? std::optional(per_host) : std::nullopt;
}

RankPlaces places_at(const RankPlaces& measured, std::uint64_t ranks) {
  if (ranks <= measured.size())
    return {measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(ranks)};
  const std::optional<std::uint64_t> per_host = equal_ranks_per_host(measured);
  if (!per_host) return {};
  RankPlaces at(ranks);
  for (std::size_t rank = 0; *per_host < measured.size() && rank < ranks; ++rank)
    at[rank].host = static_cast<std::uint32_t>(rank / *per_host);
  return at;
}

}  // namespace rdmameter
