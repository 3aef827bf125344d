// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "core/instrument/histogram_data.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/summary/summary.h"
#include "reports/topology/model/rank_places.h"
#include "topologies/schedule/schedule.h"
#include "topologies/traffic/connection_memory.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

/// What may differ from row to row of one model, since the model itself knows it, or since it says
/// nothing of what is measured.
bool is_of_the_model(std::string_view key) {
  static constexpr std::string_view kKeys[] = {
      "test",         "graph",   "ranks",  "size_bytes", "traffic", "schedule",
      "qps_per_edge", "inflate", "active", "iterations", "warmup",  "duration_ns"};
  return std::ranges::count(kKeys, key) > 0;
}

Json setting_of(const Row& row) {
  Json setting = Json::object();
  for (const auto& [key, value] : row.case_object.items())
    // Sends are what those rows have, too, that leave no choice of an opcode.
    if (!is_of_the_model(key) && !(key == "opcode" && value == "send")) setting[key] = value;
  return setting;
}

/// Has the other one all of this? Only some traffics or graphs have pairs or a seed: that the
/// others lack these is no difference.
bool is_part_of(const Json& setting, const Json& other) {
  for (const auto& [key, value] : setting.items()) {
    const auto found = other.find(key);
    if (found == other.end() ? key != "pairs" && key != "seed" : *found != value) return false;
  }
  return true;
}

bool fits(const Json& setting, const Json& other) {
  return is_part_of(setting, other) && is_part_of(other, setting);
}

/// One way.
double median_ns(const LatencyData& latency) {
  return real(percentile(latency.histogram, 50)) / (latency.half_round_trip ? 2 : 1);
}

/// What a rank's connections take [bytes].
/// @param axes   of a case, or the setting of a model
/// @param peers  QPs of a rank; of one datagram QP, the ranks that it has room for messages of. Each
///               has room for `depth` sends and receives.
double connection_memory(const Json& axes, bool one_qp, std::uint64_t peers,
                         std::uint64_t size_bytes, std::uint64_t hop_classes) {
  const std::uint64_t places = peers * count_at(axes, "depth");
  const auto is = [&axes](const char* key, const char* word) { return fact_at(axes, key) == word; };
  const bool receives = one_qp || !(is("opcode", "write") || is("opcode", "read"));
  // Of a file that tells 2^63 QPs of an edge, `peers` has overflowed to 0.
  const bool cq_each = !one_qp && is("cq_sharing", "per-qp") && peers > 0;
  return sum_of_amounts(
      connection_bytes({.links = peers,
                        .message_bytes = size_bytes,
                        .sends = one_qp ? places : places + peers,  // one of each QP is for credits
                        .receives = receives ? places : 0,
                        .places = places,
                        .hop_classes = std::max<std::uint64_t>(hop_classes, 1),
                        .cqs = cq_each ? peers : 1,
                        .datagram = one_qp}));
}

/// Collects what the rows of one setting say.
class ModelCollector {
 public:
  ModelCollector(Json setting, RankPlaces hosts_of_result)
      : hosts_of_result_(std::move(hosts_of_result)) {
    model_.setting = std::move(setting);
  }

  const Json& setting() const { return model_.setting; }

  /// @param setting  of the row; fits
  void add(const Row& row, const Json& setting) {
    const TopologyData& topology = *row.topology;
    for (const auto& [key, value] : setting.items()) model_.setting.emplace(key, Json(value));
    add_once(model_.shapes, shape_of(row));
    model_.ranks.insert(topology.ranks);
    if (const std::uint64_t size = message_size_of(row); size > 0)  // a barrier has none
      model_.sizes_bytes.insert(size);
    model_.yielding |= topology.yielding;
    model_.judged_shared |= topology.yielding && topology.straggler &&
                            topology.straggler->verdict != Straggler::Verdict::unknown;
    model_.max_qps = std::max({1.0, model_.max_qps, real(most_qps(topology))});
    if (reach_of(topology.traffic) == Reach::pair) add_pairs(row);
    add_memory(row);
    if (message_interval_ns(row) && topology.hops) model_.exchanges.insert(exchange_name(topology));
  }

  TopologyModel take() {
    const bool by_kind = std::ranges::count(model_.kinds, true) > 1;
    const std::vector<FitPoint> latencies = by_kind ? points_by_kind() : points_by_hops();
    if (!latencies.empty()) model_.latency.emplace(latencies);
    model_.knows_memory = rows_with_memory_ > 0 && rows_with_memory_ == rows_of_closed_form_;
    return std::move(model_);
  }

 private:
  /// Notes where the ranks of the pairs were, and so which kinds of pairs there are.
  void add_pairs(const Row& row) {
    const RankPlaces& places = pairs_.emplace_back(&row, hosts_of(row, hosts_of_result_)).second;
    if (places.size() > model_.places.size()) model_.places = places;
    model_.unknown_kinds |= places.empty();
    if (places.empty()) return;
    const ByKind<double> shares = shares_of(places);
    for (std::size_t kind = 0; kind < kHostKinds; ++kind) model_.kinds[kind] |= shares[kind] > 0;
  }

  std::vector<FitPoint> points_by_hops() const {
    std::vector<FitPoint> points;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const Row& row = *pairs_[i].first;
      for (const auto& [hops, latency] : row.topology->by_hops)
        if (const double time_ns = median_ns(latency); hops > 0 && time_ns > 0)
          points.push_back({row.topology->graph,
                            row.topology->ranks,
                            {CostFit::terms(real(hops), real(message_size_of(row))), time_ns},
                            i});
    }
    return points;
  }

  /// The medians of pairs whose routes are alike.
  std::vector<FitPoint> points_by_kind() {
    std::vector<FitPoint> points;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const auto& [row, places] = pairs_[i];
      const TopologyData& topology = *row->topology;
      const std::optional<Graph> graph =
          places.empty() || topology.matrix_ns.empty() ? std::nullopt : graph_of(*row);
      if (!graph) {
        ++model_.rows_not_split;
        continue;
      }
      const PlacedRoutes routes(*graph, places);
      std::map<std::pair<PairKind, RouteKinds>, std::vector<double>> alike;
      for (const auto& [from, to, ns] : times_of(topology.matrix_ns))
        if (from != to && ns > 0)
          alike[{routes.kind(from, to), routes.route(from, to)}].push_back(ns);
      for (const auto& [of, times] : alike)
        points.push_back({topology.graph,
                          topology.ranks,
                          {CostFit::terms(of.second, real(message_size_of(*row))), median(times)},
                          i,
                          static_cast<std::size_t>(of.first)});
    }
    return points;
  }

  /// A collective's messages have sizes of their own.
  void add_memory(const Row& row) {
    const TopologyData& topology = *row.topology;
    if (topology.collective) return;
    const auto shape = find_shape(topology.graph);
    const bool one_qp = shape && shape->shape->datagrams;
    const auto peers = one_qp ? topology.ranks - 1 : std::max<std::uint64_t>(1, most_qps(topology));
    const double bytes = sum_of_amounts(topology.connection_bytes);
    if (!(bytes > 0)) return;
    const Reach reach = reach_of(topology.traffic);
    model_.relays |= reach == Reach::pair || reach == Reach::between_all;
    ++rows_with_memory_;
    if (bytes == connection_memory(row.case_object, one_qp, peers, message_size_of(row),
                                   topology.hops ? topology.hops->max : 1))
      ++rows_of_closed_form_;
  }

  RankPlaces hosts_of_result_;
  TopologyModel model_;
  std::vector<std::pair<const Row*, RankPlaces>> pairs_;  ///< rows of traffic `pairs`
  std::size_t rows_with_memory_ = 0, rows_of_closed_form_ = 0;
};

PredictedLatency by_hops(const CostFit& fit, const std::string& graph, const Prediction& prediction,
                         double bytes) {
  PredictedLatency latency;
  const std::vector<double> mean = CostFit::terms(prediction.figures.hops_mean, bytes);
  const std::vector<double> farthest = CostFit::terms(real(prediction.figures.hops_max), bytes);
  if (!fit.contains(mean) || !fit.contains(farthest)) return latency;
  latency.mean_ns = fit.value(mean);
  latency.farthest_ns = fit.value(farthest);
  latency.mean_interval_ns = fit.interval(mean, graph);
  return latency;
}

PredictedLatency of_kind(const CostFit& fit, const std::string& graph, std::size_t kind,
                         const PairsOfKind& pairs, double bytes) {
  PredictedLatency latency;
  const std::vector<double> mean = CostFit::terms(pairs.mean, bytes);
  if (pairs.routes.empty() || !fit.contains(mean)) return latency;
  latency.mean_ns = fit.value(mean);
  latency.mean_interval_ns = fit.interval(mean, graph, kind);
  std::vector<double> farthest;
  for (const RouteKinds& route : pairs.routes) {
    const std::vector<double> terms = CostFit::terms(route, bytes);
    if (!fit.contains(terms)) return latency;
    if (farthest.empty() || fit.value(terms) > fit.value(farthest)) farthest = terms;
  }
  latency.farthest_ns = fit.value(farthest);
  return latency;
}

/// Nothing where some kind that has pairs is not known.
PredictedLatency over_kinds(const PairsByKind& pairs, const Prediction::AtSize& at) {
  PredictedLatency all{.mean_ns = 0, .farthest_ns = 0};
  for (std::size_t kind = 0; kind < kHostKinds; ++kind) {
    if (pairs[kind].share == 0) continue;
    const PredictedLatency& one = at.of_kind[kind];
    if (!pairs[kind].share || !one.mean_ns || !one.farthest_ns) return {};
    *all.mean_ns += *pairs[kind].share * *one.mean_ns;
    *all.farthest_ns = std::max(*all.farthest_ns, *one.farthest_ns);
  }
  return all;
}

void add_latency(const CostFit& fit, const std::string& graph, const Prediction& prediction,
                 Prediction::AtSize& at) {
  const auto bytes = real(at.size_bytes);
  if (!fit.by_kind()) {
    at.all = by_hops(fit, graph, prediction, bytes);
  } else if (prediction.pairs) {
    for (std::size_t kind = 0; kind < kHostKinds; ++kind)
      at.of_kind[kind] = of_kind(fit, graph, kind, (*prediction.pairs)[kind], bytes);
    at.all = over_kinds(*prediction.pairs, at);
  }
}

Number memory_at(const TopologyModel& model, const Prediction& prediction,
                 std::uint64_t size_bytes) {
  if (!model.knows_memory) return std::nullopt;
  const std::uint64_t peers =
      prediction.figures.one_qp ? prediction.figures.neighbours : prediction.qps_per_rank;
  return connection_memory(model.setting, prediction.figures.one_qp, peers, size_bytes,
                           model.relays ? prediction.figures.hops_max : 1);
}

}  // namespace

std::uint64_t most_qps(const TopologyData& topology) {
  const auto& each = topology.qps_per_rank;
  return each.empty() ? 0 : std::ranges::max(each);
}

double sum_of_amounts(const NamedCounts& amounts) {
  double sum = 0;
  for (const auto& [name, amount] : amounts) sum += real(amount);
  return sum;
}

std::vector<TopologyModel> topology_models(std::span<const Row> rows, const Json& context) {
  std::vector<ModelCollector> collectors;
  const RankPlaces hosts = hosts_of(context);
  // As they were planned: they may have been measured in another order.
  auto planned = mapped(rows, [](const Row& row) { return &row; });
  std::ranges::stable_sort(planned, {}, &Row::family_index);
  for (const Row* each : planned) {
    const Row& row = *each;
    if (row.status != Row::Status::ok || !row.topology || row.topology->ranks < 2) continue;
    const Json setting = setting_of(row);
    auto found = std::ranges::find_if(
        collectors, [&](const ModelCollector& one) { return fits(one.setting(), setting); });
    if (found == collectors.end())
      found = collectors.insert(collectors.end(), ModelCollector(setting, hosts));
    found->add(row, setting);
  }
  std::vector<TopologyModel> models;
  for (ModelCollector& collector : collectors) models.push_back(collector.take());
  return models;
}

Number mean_latency_ns(const Row& row) {
  if (!row.topology || reach_of(row.topology->traffic) != Reach::pair) return std::nullopt;
  if (const auto times = times_of(row.topology->matrix_ns); !times.empty())
    return mean(mapped(times, &PairTime::ns));
  double sum_ns = 0, samples = 0;
  for (const auto& [hops, latency] : row.topology->by_hops) {
    const auto count = real(latency.histogram.count);
    sum_ns += count * median_ns(latency);
    samples += count;
  }
  return samples > 0 ? std::optional(sum_ns / samples) : std::nullopt;
}

bool usual_schedule(const TopologyData& topology) {
  return topology.schedule == schedules().front()->name;
}

std::string exchange_name(const TopologyData& topology) {
  return usual_schedule(topology) ? topology.traffic : topology.traffic + " " + topology.schedule;
}

std::size_t model_of(TopologyModels models, const Row& row) {
  const Json setting = setting_of(row);
  const auto found = std::ranges::find_if(
      models, [&](const TopologyModel& model) { return fits(model.setting, setting); });
  return static_cast<std::size_t>(found - models.begin());
}

double sending_ranks(const TopologyData& topology) {
  if (reach_of(topology.traffic) == Reach::pair_stream) return 1;
  const auto& each = topology.rank_gbps;
  return real(each.empty() ? topology.ranks
                           : static_cast<std::uint64_t>(std::ranges::count_if(
                                 each, [](double gbps) { return gbps > 0; })));
}

Number message_interval_ns(const Row& row) {
  if (!row.topology || !row.bandwidth || row.bandwidth->messages == 0 ||
      row.bandwidth->window_ns == 0 || in_rounds(reach_of(row.topology->traffic)))
    return std::nullopt;
  return sending_ranks(*row.topology) * real(row.bandwidth->window_ns) /
         real(row.bandwidth->messages);
}

Number model_share(const TopologyModel& model, const Row& row) {
  if (!model.latency || model.latency->by_kind() || !model.latency->knows_beta())
    return std::nullopt;
  const Costs costs = model.latency->costs();
  if (row.topology && row.topology->collective && row.latency) {
    const CollectiveData& data = *row.topology->collective;
    const double time_ns = median_ns(*row.latency);
    const double bound_ns =
        real(data.steps) * costs.alpha_ns + real(data.step_bytes) * costs.beta_ns_per_byte;
    return time_ns > 0 ? std::optional(bound_ns / time_ns) : std::nullopt;
  }
  const auto interval_ns = message_interval_ns(row);
  if (!interval_ns || !row.topology->hops) return std::nullopt;
  const Reach reach = reach_of(row.topology->traffic);
  if (reach != Reach::once && reach != Reach::between_all) return std::nullopt;
  const double hops = reach == Reach::once ? 1 : std::max(1.0, row.topology->hops->mean);
  const double bytes_ns = real(message_size_of(row)) * costs.beta_ns_per_byte;
  return (costs.alpha_ns + hops * bytes_ns) / *interval_ns;
}

ModelShape shape_of(const Row& row) {
  return {row.topology->graph,
          std::max<std::uint64_t>(1, count_at(row.case_object, "qps_per_edge"))};
}

std::uint64_t message_size_of(const Row& row) {
  return count_at(row.case_object, "size_bytes");
}

std::string shape_text(const ModelShape& shape) {
  return shape.qps_per_edge == 1
             ? shape.graph
             : fmt::format("{} qps_per_edge:{}", shape.graph, shape.qps_per_edge);
}

std::string over_text(const TopologyModel& model) {
  const std::string transport = value_text(fact_at(model.setting, "transport"));
  return transport.empty() ? "" : " over " + transport;
}

std::optional<Prediction> predict_resources(const TopologyModel& model, const ModelShape& shape,
                                            std::uint64_t ranks) {
  const auto figures = shape_figures(shape.graph, ranks);
  if (!figures) return std::nullopt;
  Prediction prediction{.figures = *figures, .ranks = ranks};
  prediction.qps_per_rank = figures->one_qp ? 1 : figures->neighbours * shape.qps_per_edge;
  prediction.qps_total =
      figures->one_qp ? ranks
                      : static_cast<std::uint64_t>(std::llround(
                            real(ranks) * figures->neighbours_mean * real(shape.qps_per_edge)));
  for (const std::uint64_t size : model.sizes_bytes)
    prediction.sizes.push_back(
        {.size_bytes = size, .memory_bytes = memory_at(model, prediction, size)});
  prediction.more_qps_than_measured = real(prediction.qps_per_rank) > 2 * model.max_qps;
  return prediction;
}

std::optional<Prediction> predict(const TopologyModel& model, const ModelShape& shape,
                                  std::uint64_t ranks) {
  std::optional<Prediction> prediction = predict_resources(model, shape, ranks);
  if (!prediction || !model.latency) return prediction;
  if (model.latency->by_kind())
    prediction->pairs = pairs_by_kind(prediction->figures, ranks, places_at(model.places, ranks));
  for (Prediction::AtSize& at : prediction->sizes)
    add_latency(*model.latency, shape.graph, *prediction, at);
  return prediction;
}

}  // namespace rdmameter
