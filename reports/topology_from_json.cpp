// SPDX-License-Identifier: Apache-2.0
// Reading a topology from a file that anybody may have written.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/histogram.h"
#include "reports/latency_json.h"
#include "reports/topology_json.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMost = 1ULL << 53;
constexpr double kRounding = 1e-9;  ///< of a mean of equal numbers, and of an index

/// An array with one element for each rank; `read` reads one.
template <class Value, class Read>
std::vector<Value> by_rank(const CheckedJson& json, std::uint64_t ranks, Read read) {
  const std::size_t size = json.array_size();
  if (size != ranks)
    json.fail(fmt::format("has {} elements, one for each of {} ranks", size, ranks));
  std::vector<Value> values;
  values.reserve(size);
  for (std::size_t i = 0; i < size; ++i) values.push_back(read(json.at(i)));
  return values;
}

double within(const CheckedJson& json, double most) {
  const double value = json.not_negative();
  if (value > most) json.fail(fmt::format("is {}, greater than {}", value, most));
  return value;
}

void read_edges(const CheckedJson& json, TopologyData& data) {
  const std::size_t size = json.array_size();
  if (size > kMostEdges) json.fail(fmt::format("has {} elements, at most {} do", size, kMostEdges));
  for (std::size_t i = 0; i < size; ++i) {
    const CheckedJson edge = json.at(i);
    if (edge.array_size() != 2) edge.fail("is not a pair of ranks");
    const auto a = edge.at(0).count_within(0, data.ranks - 1);
    const auto b = edge.at(1).count_within(0, data.ranks - 1);
    if (a == b) edge.fail("joins a rank with itself");
    data.edges.emplace_back(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  }
}

TopologyData::Hops read_hops(const CheckedJson& json) {
  TopologyData::Hops hops;
  hops.max = json.at("max").count_within(0, kMostRanks);
  const auto most = static_cast<double>(hops.max);
  hops.mean = std::min(within(json.at("mean"), most * (1 + kRounding)), most);
  return hops;
}

void read_qps(const CheckedJson& json, TopologyData& data) {
  std::uint64_t sum = 0;  // never wraps: at most 2^20 ranks of 2^32 QPs
  if (const auto each = json.find("qps_per_rank"))
    data.qps_per_rank =
        by_rank<std::uint64_t>(*each, data.ranks, [&sum](const CheckedJson& element) {
          const std::uint64_t qps = element.count_within(0, 1ULL << 32);
          sum += qps;
          return qps;
        });
  if (const auto total = json.find("qps_total")) {
    data.qps_total = total->count_within(0, kMost);
    if (!data.qps_per_rank.empty() && *data.qps_total != sum)
      total->fail(fmt::format("is not the sum of `qps_per_rank` ({})", sum));
  }
  if (const auto barrier = json.find("barrier_qps"))
    data.barrier_qps = barrier->count_within(0, kMost);
}

TopologyData::Amounts read_amounts(const CheckedJson& json) {
  TopologyData::Amounts amounts;
  for (const auto& [name, value] : json.object().items())
    amounts.emplace_back(name, json.at(name).count_within(0, kMost));
  return amounts;
}

void read_matrix(const CheckedJson& json, TopologyData& data) {
  using Row = std::vector<std::optional<double>>;
  data.matrix_ns = by_rank<Row>(json, data.ranks, [&data](const CheckedJson& row) {
    return by_rank<std::optional<double>>(
        row, data.ranks, [](const CheckedJson& cell) -> std::optional<double> {
          return cell.null() ? std::nullopt : std::optional(cell.not_negative());
        });
  });
}

void read_by_hops(const CheckedJson& json, TopologyData& data, unsigned& precision_bits) {
  std::uint64_t least = 0;
  for (std::size_t i = 0; i < json.array_size(); ++i) {
    const CheckedJson distance = json.at(i);
    TopologyData::AtDistance read;
    read.hops = distance.at("hops").count_within(0, kMostRanks);
    if (read.hops < least) distance.at("hops").fail("is not greater than the one before it");
    least = read.hops + 1;
    unsigned recorded = kHistogramPrecisionBits;
    read.latency = read_latency(distance.at("latency"), recorded);
    if (recorded != kHistogramPrecisionBits) precision_bits = recorded;
    data.by_hops.push_back(std::move(read));
  }
}

void read_rates(const CheckedJson& json, TopologyData& data) {
  const auto rate = [](const CheckedJson& element) { return element.not_negative(); };
  if (const auto rates = json.find("rank_gbps"))
    data.rank_gbps = by_rank<double>(*rates, data.ranks, rate);
  if (const auto jain = json.find("jain")) data.jain = std::min(within(*jain, 1 + kRounding), 1.0);
  if (const auto share = json.find("model_share")) data.model_share = share->not_negative();
}

bool is_known(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      "graph",        "traffic",   "schedule",    "ranks",        "edges",
      "hops",         "qps_total", "barrier_qps", "qps_per_rank", "setup_ns",
      "memory_bytes", "kernel",    "barrier_ns",  "matrix_ns",    "by_hops",
      "rank_gbps",    "jain",      "model_share", "yielding"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

}  // namespace

TopologyData read_topology(const CheckedJson& json, unsigned& precision_bits) {
  TopologyData data;
  data.graph = json.at("graph").text();
  data.traffic = json.at("traffic").text();
  data.schedule = json.at("schedule").text();
  data.ranks = json.at("ranks").count_within(1, kMostRanks);
  if (const auto edges = json.find("edges")) read_edges(*edges, data);
  if (const auto hops = json.find("hops")) data.hops = read_hops(*hops);
  read_qps(json, data);
  if (const auto setup = json.find("setup_ns")) data.setup_ns = read_amounts(*setup);
  if (const auto memory = json.find("memory_bytes")) data.memory_bytes = read_amounts(*memory);
  if (const auto kernel = json.find("kernel")) data.kernel = read_amounts(*kernel);
  if (const auto barrier = json.find("barrier_ns")) data.barrier_ns = barrier->not_negative();
  if (const auto matrix = json.find("matrix_ns")) read_matrix(*matrix, data);
  if (const auto by_hops = json.find("by_hops")) read_by_hops(*by_hops, data, precision_bits);
  read_rates(json, data);
  if (const auto yielding = json.find("yielding")) data.yielding = yielding->flag();
  for (const auto& [key, value] : json.object().items())
    if (!is_known(key)) data.more[key] = value;
  return data;
}

}  // namespace rdmameter
