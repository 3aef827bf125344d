// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "core/histogram_data.h"
#include "reports/summary.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// What may differ from row to row of one model, since the model itself knows it, or since it says
/// nothing of what is measured.
bool is_of_the_model(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      "test",         "graph",   "ranks",  "size_bytes", "traffic", "schedule",
      "qps_per_edge", "inflate", "active", "iterations", "warmup",  "duration_ns"};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

Json setting_of(const Row& row) {
  Json setting = Json::object();
  for (const auto& [key, value] : row.case_object.items())
    // Sends are what those rows have, too, that leave no choice of an opcode.
    if (!is_of_the_model(key) && !(key == "opcode" && value == "send")) setting[key] = value;
  return setting;
}

std::uint64_t count_at(const Json& object, const char* key, std::uint64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>()
                                                              : otherwise;
}

std::uint64_t size_of(const Row& row) {
  return count_at(row.case_object, "size_bytes", 0);
}

double most_qps(const TopologyData& topology) {
  const auto most = std::max_element(topology.qps_per_rank.begin(), topology.qps_per_rank.end());
  return most == topology.qps_per_rank.end() ? 1.0 : std::max(1.0, static_cast<double>(*most));
}

double sum_of(const TopologyData::Amounts& amounts) {
  double sum = 0;
  for (const auto& [name, amount] : amounts) sum += static_cast<double>(amount);
  return sum;
}

/// One way.
double median_ns(const LatencyData& latency) {
  return static_cast<double>(percentile(latency.histogram, 50)) / (latency.half_round_trip ? 2 : 1);
}

/// How far the messages of a traffic go.
enum class Way {
  once,         ///< sent once for each rank that gets it: to a neighbour, or copied where ways part
  between_all,  ///< from every rank to all others alike
  other
};

Way way_of(std::string_view traffic) {
  if (traffic.starts_with("neighbours") || traffic.starts_with("allgather")) return Way::once;
  if (traffic.starts_with("alltoall") || traffic.starts_with("random")) return Way::between_all;
  return Way::other;
}

/// How often a message of this traffic was sent on its way, on average.
/// @pre the hops are known
double hops_of(const TopologyData& topology) {
  return way_of(topology.traffic) == Way::once ? 1 : std::max(1.0, topology.hops->mean);
}

/// Collects what the rows of one setting say.
class Collector {
 public:
  explicit Collector(Json setting) { model_.setting = std::move(setting); }

  void add(const Row& row) {
    const TopologyData& topology = *row.topology;
    if (std::find(model_.graphs.begin(), model_.graphs.end(), topology.graph) ==
        model_.graphs.end())
      model_.graphs.push_back(topology.graph);
    ranks_.insert(topology.ranks);
    sizes_.insert(size_of(row));
    model_.qps_per_edge = std::max<std::uint64_t>(1, count_at(row.case_object, "qps_per_edge", 1));
    model_.yielding = model_.yielding || topology.yielding;
    const std::size_t block = block_of(row);
    add_costs(row, block);
    add_growth(row, block);
  }

  TopologyModel take() {
    model_.ranks.assign(ranks_.begin(), ranks_.end());
    model_.sizes_bytes.assign(sizes_.begin(), sizes_.end());
    if (!latencies_.empty()) model_.latency.emplace(in_blocks(latencies_));
    for (auto& [name, points] : exchanges_)
      model_.exchanges.push_back({name, CostFit(in_blocks(points))});
    if (!setup_.empty()) model_.setup.emplace(in_blocks(setup_));
    if (!memory_.empty()) model_.memory.emplace(in_blocks(memory_));
    if (!barrier_.empty()) model_.barrier.emplace(in_blocks(barrier_));
    return std::move(model_);
  }

 private:
  std::size_t block_of(const Row& row) {
    return blocks_.try_emplace(row.case_object.dump(), blocks_.size()).first->second;
  }

  /// Blocks numbered from 0 without a gap: other traffics' cases are no blocks of this one.
  template <class Point>
  static std::vector<Point> in_blocks(std::vector<Point> points) {
    std::map<std::size_t, std::size_t> numbers;
    for (Point& point : points)
      point.block = numbers.try_emplace(point.block, numbers.size()).first->second;
    return points;
  }

  void add_costs(const Row& row, std::size_t block) {
    const TopologyData& topology = *row.topology;
    const auto bytes = static_cast<double>(size_of(row));
    const double qps = most_qps(topology);
    if (topology.traffic == "pairs") {
      for (const auto& [hops, latency] : topology.by_hops) {
        const double time_ns = median_ns(latency);
        if (hops > 0 && time_ns > 0)
          latencies_.push_back({static_cast<double>(hops), bytes, qps, time_ns, block});
      }
    } else if (const auto interval_ns = message_interval_ns(row); interval_ns && topology.hops) {
      exchanges_[exchange_name(topology)].push_back(
          {hops_of(topology), bytes, qps, *interval_ns, block});
    }
  }

  void add_growth(const Row& row, std::size_t block) {
    const TopologyData& topology = *row.topology;
    const auto ranks = static_cast<double>(topology.ranks);
    const double qps = most_qps(topology);
    if (const double setup_ns = sum_of(topology.setup_ns); setup_ns > 0)
      setup_.push_back({setup_terms(qps, ranks), setup_ns, block});
    const double hops_max = topology.hops ? static_cast<double>(topology.hops->max) : 1;
    if (const double bytes = sum_of(topology.memory_bytes); bytes > 0)
      memory_.push_back(
          {memory_terms(qps, hops_max, static_cast<double>(size_of(row))), bytes, block});
    if (topology.barrier_ns.value_or(0) > 0)
      barrier_.push_back({barrier_terms(ranks), *topology.barrier_ns, block});
  }

  TopologyModel model_;
  std::set<std::uint64_t> ranks_, sizes_;
  std::map<std::string, std::size_t> blocks_;
  std::vector<CostPoint> latencies_;
  std::map<std::string, std::vector<CostPoint>> exchanges_;
  std::vector<Observation> setup_, memory_, barrier_;
};

double value_of(const LeastSquares& made, const std::vector<double>& terms) {
  double value = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) value += made.coefficients[i] * terms[i];
  return value;
}

Prediction::AtSize at_size(const TopologyModel& model, const Prediction& made,
                           std::uint64_t size_bytes) {
  Prediction::AtSize at{.size_bytes = size_bytes};
  const ShapeFigures& figures = made.figures;
  const auto bytes = static_cast<double>(size_bytes);
  const auto qps = static_cast<double>(made.qps_per_rank);
  const auto hops_max = static_cast<double>(figures.hops_max);
  if (model.latency && (model.latency->knows_per_hop() || figures.hops_max == 1)) {
    at.mean_ns = model.latency->predict(
        [&](const Costs& costs) { return costs.time_ns(figures.hops_mean, bytes, qps); });
    at.farthest_ns = model.latency->predict(
        [&](const Costs& costs) { return costs.time_ns(hops_max, bytes, qps); });
  }
  if (model.memory) at.memory_bytes = model.memory->predict(memory_terms(qps, hops_max, bytes));
  for (const Exchange& exchange : model.exchanges) {
    const auto hops = exchange.hops(figures);
    if (!hops) continue;
    const Estimate interval =
        exchange.time.predict([&](const Costs& costs) { return costs.time_ns(*hops, bytes, qps); });
    const auto gbps = [bytes](double ns) { return 8 * bytes / ns; };
    Estimate rate{gbps(interval.value), {}, {}};
    if (interval.low) {
      rate.low = gbps(*interval.high);
      rate.high = gbps(*interval.low);
    }
    at.rank_gbps.emplace_back(exchange.name, rate);
  }
  return at;
}

}  // namespace

Growth::Growth(std::vector<Observation> observations) : all_(least_squares(observations)) {
  std::set<std::size_t> blocks;
  for (const Observation& one : observations) blocks.insert(one.block);
  for (std::size_t group = 0; group < group_count(blocks.size()); ++group) {
    std::vector<Observation> rest;
    for (const Observation& one : observations)
      if (one.block % kMostGroups != group) rest.push_back(one);
    LeastSquares made = least_squares(rest);
    without_.emplace_back();
    if (!rest.empty() && made.known == all_.known) without_.back() = std::move(made);
  }
  std::size_t parameters = 0;
  for (const double coefficient : all_.coefficients) parameters += coefficient > 0 ? 1 : 0;
  if (observations.size() > parameters)
    spread_ = std::sqrt(all_.squares / static_cast<double>(observations.size() - parameters));
}

double Growth::value(const std::vector<double>& terms) const {
  return value_of(all_, terms);
}

std::optional<double> Growth::value_without(std::size_t group,
                                            const std::vector<double>& terms) const {
  if (!without_[group]) return std::nullopt;
  return value_of(*without_[group], terms);
}

Estimate Growth::predict(const std::vector<double>& terms) const {
  std::vector<std::optional<double>> logs;
  for (std::size_t group = 0; group < groups(); ++group) {
    logs.push_back(value_without(group, terms));
    if (logs.back()) logs.back() = std::log(*logs.back());
  }
  return estimate_ratio(value(terms), jackknife(logs), spread_);
}

std::optional<double> Exchange::hops(const ShapeFigures& figures) const {
  switch (way_of(name)) {
    case Way::once:
      return 1;
    case Way::between_all:
      if (!time.knows_per_hop() && figures.hops_max > 1) return std::nullopt;
      return figures.hops_mean;
    case Way::other:
      return std::nullopt;
  }
  return std::nullopt;
}

bool Exchange::predictable() const {
  return way_of(name) != Way::other;
}

std::vector<TopologyModel> topology_models(std::span<const Row> rows) {
  std::vector<Collector> collectors;
  std::map<std::string, std::size_t> at;
  for (const Row& row : rows) {
    if (row.status != Row::Status::ok || !row.topology || row.topology->ranks < 2) continue;
    Json setting = setting_of(row);
    const auto [where, is_new] = at.try_emplace(setting.dump(), collectors.size());
    if (is_new) collectors.emplace_back(std::move(setting));
    collectors[where->second].add(row);
  }
  std::vector<TopologyModel> models;
  for (Collector& collector : collectors) models.push_back(collector.take());
  return models;
}

std::optional<double> mean_latency_ns(const Row& row) {
  if (!row.topology || row.topology->traffic != "pairs") return std::nullopt;
  double sum_ns = 0, samples = 0;
  for (const auto& [hops, latency] : row.topology->by_hops) {
    const auto count = static_cast<double>(latency.histogram.count);
    sum_ns += count * median_ns(latency);
    samples += count;
  }
  return samples > 0 ? std::optional(sum_ns / samples) : std::nullopt;
}

std::string exchange_name(const TopologyData& topology) {
  return topology.schedule == "simultaneous" ? topology.traffic
                                             : topology.traffic + " " + topology.schedule;
}

std::size_t model_of(std::span<const TopologyModel> models, const Row& row) {
  const Json setting = setting_of(row);
  const auto found = std::find_if(models.begin(), models.end(), [&setting](const auto& model) {
    return model.setting == setting;
  });
  return static_cast<std::size_t>(found - models.begin());
}

std::optional<double> message_interval_ns(const Row& row) {
  if (!row.topology || !row.bandwidth || row.bandwidth->messages == 0 ||
      row.bandwidth->window_ns == 0)
    return std::nullopt;
  return static_cast<double>(row.topology->ranks) * static_cast<double>(row.bandwidth->window_ns) /
         static_cast<double>(row.bandwidth->messages);
}

std::optional<double> model_share(const TopologyModel& model, const Row& row) {
  const auto interval_ns = message_interval_ns(row);
  if (!interval_ns || !row.topology->hops || way_of(row.topology->traffic) == Way::other ||
      !model.latency || !model.latency->knows_beta())
    return std::nullopt;
  const Costs& costs = model.latency->costs();
  const double qps = most_qps(*row.topology);
  const double bytes_ns = static_cast<double>(size_of(row)) * costs.beta_ns_per_byte;
  return (costs.time_ns(1, 0, qps) + hops_of(*row.topology) * bytes_ns) / *interval_ns;
}

std::uint64_t qps_of(const TopologyModel& model, const ShapeFigures& figures) {
  return figures.one_qp ? 1 : figures.neighbours * model.qps_per_edge;
}

std::optional<Prediction> predict(const TopologyModel& model, const std::string& graph,
                                  std::uint64_t ranks) {
  const auto figures = shape_figures(graph, ranks);
  if (!figures) return std::nullopt;
  Prediction made{.figures = *figures, .ranks = ranks};
  made.qps_per_rank = qps_of(model, *figures);
  const auto n = static_cast<double>(ranks);
  made.qps_total =
      figures->one_qp
          ? ranks
          : static_cast<std::uint64_t>(std::llround(n * figures->neighbours_mean *
                                                    static_cast<double>(model.qps_per_edge)));
  const auto qps = static_cast<double>(made.qps_per_rank);
  if (model.setup) made.setup_ns = model.setup->predict(setup_terms(qps, n));
  if (model.barrier) made.barrier_ns = model.barrier->predict(barrier_terms(n));
  for (const std::uint64_t size : model.sizes_bytes)
    made.sizes.push_back(at_size(model, made, size));
  double most = model.latency ? model.latency->most_qps() : 0;
  for (const Exchange& exchange : model.exchanges) most = std::max(most, exchange.time.most_qps());
  made.more_qps_than_measured = qps > 2 * most;
  return made;
}

std::vector<double> setup_terms(double qps, double ranks) {
  return {1, qps, ranks};
}

std::vector<double> memory_terms(double qps, double hops_max, double size_bytes) {
  const double relayed = qps * (hops_max - 1);
  return {1, qps, qps * size_bytes, relayed, relayed * size_bytes};
}

std::vector<double> barrier_terms(double ranks) {
  return {1, std::ceil(std::log2(ranks))};
}

}  // namespace rdmameter
