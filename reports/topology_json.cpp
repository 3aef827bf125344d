// SPDX-License-Identifier: Apache-2.0
// Writing a topology.
#include "reports/topology_json.h"

#include <stdexcept>
#include <utility>

#include "reports/json_numbers.h"
#include "reports/latency_json.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

void check_length(std::size_t length, std::uint64_t ranks, const char* key) {
  if (length != 0 && length != ranks)
    throw std::logic_error(std::string("topology_to_json: one element for each rank: ") + key);
}

/// Before anything is written: what breaks these promises is our own mistake.
void check_lengths(const TopologyData& data) {
  check_length(data.qps_per_rank.size(), data.ranks, "qps_per_rank");
  check_length(data.rank_gbps.size(), data.ranks, "rank_gbps");
  check_length(data.matrix_ns.size(), data.ranks, "matrix_ns");
  for (const auto& row : data.matrix_ns)
    if (row.size() != data.ranks)
      throw std::logic_error("topology_to_json: matrix_ns is not square");
}

Json edges_to_json(const TopologyData& data) {
  Json edges = Json::array();
  for (const auto& [a, b] : data.edges) edges.push_back(Json::array({a, b}));
  return edges;
}

Json amounts_to_json(const TopologyData::Amounts& amounts) {
  Json json = Json::object();
  for (const auto& [name, amount] : amounts) json[name] = count_to_json(amount);
  return json;
}

Json matrix_to_json(const TopologyData& data) {
  Json matrix = Json::array();
  for (const auto& row : data.matrix_ns) {
    Json cells = Json::array();
    for (const auto& cell : row) cells.push_back(cell ? number_to_json(*cell) : Json());
    matrix.push_back(std::move(cells));
  }
  return matrix;
}

Json by_hops_to_json(const TopologyData& data) {
  Json distances = Json::array();
  for (const auto& [hops, latency] : data.by_hops)
    distances.push_back({{"hops", hops}, {"latency", latency_to_json(latency)}});
  return distances;
}

void add_qps(const TopologyData& data, Json& json) {
  if (!data.qps_per_rank.empty()) json["qps_per_rank"] = data.qps_per_rank;
  if (data.qps_total) json["qps_total"] = *data.qps_total;
  if (data.barrier_qps) json["barrier_qps"] = *data.barrier_qps;
}

void add_rates(const TopologyData& data, Json& json) {
  if (!data.rank_gbps.empty()) {
    Json rates = Json::array();
    for (const double gbps : data.rank_gbps) rates.push_back(finite_or_zero(gbps));
    json["rank_gbps"] = std::move(rates);
  }
  if (data.jain) json["jain"] = finite_or_zero(*data.jain);
  if (data.model_share) json["model_share"] = finite_or_zero(*data.model_share);
}

}  // namespace

Json topology_to_json(const TopologyData& data) {
  check_lengths(data);
  Json json = {{"graph", data.graph},
               {"traffic", data.traffic},
               {"schedule", data.schedule},
               {"ranks", data.ranks}};
  if (!data.edges.empty() && data.edges.size() <= kMostEdges) json["edges"] = edges_to_json(data);
  if (data.hops)
    json["hops"] = {{"max", data.hops->max}, {"mean", finite_or_zero(data.hops->mean)}};
  add_qps(data, json);
  if (!data.setup_ns.empty()) json["setup_ns"] = amounts_to_json(data.setup_ns);
  if (!data.memory_bytes.empty()) json["memory_bytes"] = amounts_to_json(data.memory_bytes);
  if (!data.kernel.empty()) json["kernel"] = amounts_to_json(data.kernel);
  if (data.barrier_ns) json["barrier_ns"] = number_to_json(finite_or_zero(*data.barrier_ns));
  if (!data.matrix_ns.empty() && data.ranks <= kMostMatrixRanks)
    json["matrix_ns"] = matrix_to_json(data);
  if (!data.by_hops.empty()) json["by_hops"] = by_hops_to_json(data);
  add_rates(data, json);
  if (data.yielding) json["yielding"] = true;
  if (data.more.is_null()) return json;
  for (const auto& [key, value] : data.more.items()) {
    if (json.contains(key))
      throw std::logic_error("topology_to_json: `more` repeats the key " + key);
    json[key] = value;
  }
  return json;
}

}  // namespace rdmameter
