// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/summary/metric.h"
#include "reports/topology/model/rank_places.h"

namespace rdmameter {
namespace {

std::string known_digits(double value) {
  constexpr int kMostDecimals = 6;
  return std::isfinite(value) ? three_digits(value, kMostDecimals) : kUnknown;
}

std::string facts_text(const TopologyModel& model, const TextStyle& style) {
  constexpr std::size_t kGap = 2;
  std::string text = "\n" + bold("  model of the latency", style) + "\n";
  const Facts facts = cost_facts(model);
  std::size_t width = 16;
  for (const auto& [name, value] : facts) width = std::max(width, text_width(name) + kGap);
  for (const auto& [name, value] : facts)
    text += fmt::format("    {}{}\n", pad_right(name, width), pad_left(value, 14));
  return text;
}

std::string in_unit(const Number& value, double unit) {
  return value ? known_digits(*value / unit) : kUnknown;
}

/// "8.12-9.4"
std::string interval_text(const std::optional<Interval>& interval, double unit) {
  return interval ? known_digits(interval->low / unit) + "-" + known_digits(interval->high / unit)
                  : kUnknown;
}

/// What a line of predictions is about.
struct PredictedPairs {
  std::string kind;  ///< empty: all
  Number share, hops_mean, hops_max;
  PredictedLatency latency;
  Number error;
};

/// All pairs, or where the model has costs by kind those of each kind.
std::vector<PredictedPairs> pairs_of(const TopologyModel& model, const std::string& graph,
                                     const Prediction& prediction, const Prediction::AtSize& at) {
  std::vector<PredictedPairs> list;
  if (!prediction.pairs) {
    list.push_back({.kind = "all",
                    .share = 1,
                    .hops_mean = prediction.figures.hops_mean,
                    .hops_max = real(prediction.figures.hops_max),
                    .latency = at.all});
    if (model.latency && !model.latency->by_kind())
      list.back().error = model.latency->error_at_max_ranks(graph);
    return list;
  }
  for (const auto& [kind, name] : kPairKindNames) {
    const PairsOfKind& pairs = (*prediction.pairs)[kind];
    if (pairs.share == 0 || pairs.routes.empty() || (!pairs.share && !model.kinds[kind])) continue;
    list.push_back(
        {.kind = name,
         .share = pairs.share,
         .hops_mean = pairs.mean.all_hops(),
         .hops_max = std::ranges::max(pairs.routes, {}, &RouteKinds::all_hops).all_hops(),
         .latency = at.of_kind[kind],
         .error = model.latency->error_at_max_ranks(graph, static_cast<std::size_t>(kind))});
  }
  return list;
}

void add_prediction(Table& table, const TopologyModel& model, const ModelShape& shape,
                    const Prediction& prediction, const Prediction::AtSize& at,
                    const PredictedPairs& pairs) {
  constexpr double kMicro = 1e3, kKibi = 1024, kPercent = 0.01;
  TableLine line(table);
  line.add({"ranks"}, prediction.ranks);
  line.add_text("graph", printable(shape_text({prediction.figures.graph, shape.qps_per_edge})));
  line.add({"size", "B"}, at.size_bytes);
  if (model.latency && model.latency->by_kind()) {
    line.add_text("pairs", pairs.kind);
    line.add({"of all", "%"}, in_unit(pairs.share, kPercent));
  }
  line.add({"QPs", "", "of a rank"},
           {fmt::format("{}", prediction.qps_per_rank),
            prediction.more_qps_than_measured ? "more than measured" : ""});
  line.add({"QPs", "", "in all"}, prediction.qps_total);
  line.add({"hops", "", "mean"}, in_unit(pairs.hops_mean, 1));
  line.add({"hops", "", "most"}, fmt::format("{:.0f}", *pairs.hops_max));
  if (model.latency) {
    line.add({"latency", "µs", "mean"}, in_unit(pairs.latency.mean_ns, kMicro));
    line.add({.head = "95 %", .unit = "µs", .is_text = true},
             interval_text(pairs.latency.mean_interval_ns, kMicro));
    line.add({"farthest", "µs"}, in_unit(pairs.latency.farthest_ns, kMicro));
    line.add({"error", "%"}, pairs.error ? fmt::format("{:.1f}", 100 * *pairs.error) : kUnknown);
  }
  if (model.knows_memory) line.add({"memory of a rank", "KiB"}, in_unit(at.memory_bytes, kKibi));
}

std::string predictions(const TopologyModel& model, const std::vector<std::uint64_t>& ranks,
                        const TextStyle& style) {
  std::string unknown;
  const Table table = prediction_table(model, ranks, unknown);
  std::string text = "\n" + bold("  predicted, not measured", style) + "\n";
  if (table.lines() > 0)
    text += render(table, style) + wrap("  ", prediction_remark(model), style.width);
  if (any_noted(table))
    text += wrap("  * ",
                 "A rank has more QPs than any that was measured: if the device's cache is too "
                 "small for them, it is slower than this.",
                 style.width);
  if (!unknown.empty())
    text += wrap("  ", "Unknown graph, or no prediction for it: " + unknown + ".", style.width);
  return text;
}

Facts::value_type spread_fact(const CostFit& fit) {
  return {"spread", fmt::format("{:.1f} %", 100 * fit.spread())};
}

Facts facts_by_kind(const TopologyModel& model) {
  Facts facts;
  for (const PairKindName& each : kPairKindNames) {
    if (!model.kinds[each.kind]) continue;
    const KnownCosts costs = model.latency->costs_of(each.kind);
    const auto add = [&](const char* name, const Number& value, auto text) {
      facts.emplace_back(fmt::format("{}: {}", each.name, name),
                         value ? text(*value) : "not identified");
    };
    add("alpha", costs.alpha_ns, time_value);
    add("each hop more", costs.per_hop_ns, time_value);
    add("beta", costs.beta_ns_per_byte, [](double beta) { return known_digits(beta) + " ns/B"; });
  }
  facts.push_back(spread_fact(*model.latency));
  return facts;
}

/// What the measured pairs say of kinds of pairs, and what they do not.
std::vector<std::string> remarks_on_hosts(const TopologyModel& model) {
  std::vector<std::string> remarks;
  const auto kinds = std::ranges::count(model.kinds, true);
  if (!model.unknown_kinds && kinds > 0 && !model.kinds[PairKind::other_host])
    remarks.push_back(
        "All ranks were on one host: the costs between hosts are not identified, and predictions "
        "are of ranks on one host.");
  if (!model.unknown_kinds && kinds == 1 && model.kinds[PairKind::other_host])
    remarks.push_back(
        "Each rank had a host of its own: the costs within a host are not identified, and "
        "predictions are of one rank on each host.");
  if (model.rows_not_split > 0)
    remarks.push_back(fmt::format(
        "The latencies of {} rows were left out, since it is not known which of their pairs are on "
        "one host: they have no matrix (more than 256 ranks), or their hosts are not known.",
        model.rows_not_split));
  if (!model.latency || !model.latency->by_kind()) return remarks;
  remarks.push_back(
      "Hosts had several ranks: each edge of a route has the costs within a host or those between "
      "hosts. Without a single alpha, 'of model' and 'of bound' are not computed.");
  if (std::ranges::count(facts_by_kind(model), "not identified", &Facts::value_type::second) > 0)
    remarks.push_back(
        "Not identified: the measured pairs do not tell this cost apart from others. It needs two "
        "sizes for beta, and for a hop a graph with routes of several edges of that kind.");
  return remarks;
}

std::string placement_remark(const TopologyModel& model) {
  if (places_at(model.places, model.places.size() + 1).empty())
    return " Hosts do not have equal numbers of ranks, one after the other, so it is not known on "
           "which hosts more ranks would be: neither shares of pairs nor routes with relays are "
           "predicted.";
  return fmt::format(
      " Predicted for hosts of {} ranks each, placed one after the other as they were measured. "
      "same host, other host: pairs of ranks; a route between two of them may have edges of both "
      "kinds.",
      *equal_ranks_per_host(model.places));
}

}  // namespace

std::string time_value(double ns) {
  const Unit unit = time_unit(ns);
  return known_digits(ns / unit.size) + " " + std::string(unit.name);
}

Facts cost_facts(const TopologyModel& model) {
  const CostFit& fit = *model.latency;
  if (fit.by_kind()) return facts_by_kind(model);
  const Costs costs = fit.costs();
  Facts facts = {{"alpha", time_value(costs.alpha_ns)}};
  if (fit.knows_per_hop()) facts.push_back({"each hop more", time_value(costs.per_hop_ns)});
  if (fit.knows_beta()) {
    facts.push_back({"beta", known_digits(costs.beta_ns_per_byte) + " ns/B"});
    if (costs.beta_ns_per_byte > 0)
      facts.push_back({"1 / beta", known_digits(8 / costs.beta_ns_per_byte) + " Gb/s"});
  }
  facts.push_back(spread_fact(fit));
  return facts;
}

std::vector<std::string> model_remarks(const TopologyModel& model, bool judge_shared) {
  std::vector<std::string> remarks = remarks_on_hosts(model);
  if (model.yielding)
    remarks.push_back(
        "Ranks outnumbered cores and gave them up while they waited: times are those of such a "
        "crowd, not of machines with a rank each, so " +
        std::string(judge_shared || model.judged_shared
                        ? "what is called slow may only have waited for a core."
                        : "no rank is called slow ('rdmameter show --judge-shared' does it all the "
                          "same)."));
  const bool one_kind = model.latency && !model.latency->by_kind();
  if (one_kind && !model.latency->knows_beta())
    remarks.push_back(fmt::format("Beta needs more than one size; alpha is that of {} B.",
                                  fmt::join(model.sizes_bytes, " B, ")));
  if (one_kind && !model.latency->knows_per_hop())
    remarks.push_back("The cost of a hop needs a graph with relays, such as a ring of four ranks.");
  constexpr double kPoor = 0.15;
  if (model.latency && model.latency->spread() > kPoor)
    remarks.push_back(
        "The latencies scatter widely around the model: it describes this system badly, so do not "
        "trust its predictions.");
  return remarks;
}

std::string prediction_remark(const TopologyModel& model) {
  const bool drawn = std::ranges::any_of(model.shapes, [](const ModelShape& measured) {
    const auto shape = find_shape(measured.graph);
    return shape && shape->shape->drawn;
  });
  std::string remark =
      "error: how far a fit to fewer ranks was off, at worst, at the largest number of ranks "
      "measured. The predictions are by a fit to all ranks. 95 %: where the mean latency would be "
      "measured in 95 of 100 repetitions, if the model holds.";
  if (model.latency && model.latency->by_kind()) remark += placement_remark(model);
  if (drawn)
    remark +=
        " Hops of a random graph are those from 64 sampled ranks of one such graph, and from 4 "
        "beyond 65536 ranks.";
  return remark;
}

Table prediction_table(const TopologyModel& model, std::span<const std::uint64_t> ranks,
                       std::string& unknown) {
  const bool by_kind = model.latency && model.latency->by_kind();
  Table table{.key_columns = by_kind ? 4U : 3U, .title = "predicted, not measured"};
  for (const std::uint64_t n : ranks)
    for (const ModelShape& shape : model.shapes) {
      const auto result = predict(model, shape, n);
      if (!result) {
        add_item(unknown, fmt::format("{} at {}", printable(shape_text(shape)), n));
        continue;
      }
      for (const Prediction::AtSize& at : result->sizes)
        for (const PredictedPairs& pairs : pairs_of(model, shape.graph, *result, at))
          add_prediction(table, model, shape, *result, at, pairs);
    }
  return table;
}

std::string model_text(const TopologyModel& model, const std::vector<std::uint64_t>& predict,
                       const TextStyle& style, bool judge_shared) {
  std::string text;
  if (model.latency) text += facts_text(model, style);
  for (const std::string& remark : model_remarks(model, judge_shared))
    text += wrap("    ", remark, style.width);
  if (!predict.empty()) text += predictions(model, predict, style);
  return text;
}

}  // namespace rdmameter
