// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/summary/unit.h"

namespace rdmameter {
namespace {

/// Three digits that mean something.
std::string digits(double value) {
  if (!std::isfinite(value)) return kUnknown;
  if (value == 0) return "0";
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(value))), 0, 6);
  return fixed(value, decimals);
}

std::string sizes_text(const TopologyModel& model) {
  std::string text;
  for (const std::uint64_t size : model.sizes_bytes)
    text += (text.empty() ? "" : ", ") + fmt::format("{} B", size);
  return text;
}

std::string facts_text(const CostFit& fit, const TextStyle& style) {
  std::string text = "\n" + bold("  model of the latency", style) + "\n";
  for (const auto& [name, value] : cost_facts(fit))
    text += fmt::format("    {}{}\n", pad_right(name, 16), pad_left(value, 14));
  return text;
}

std::string in_unit(const std::optional<double>& value, double unit) {
  return value ? digits(*value / unit) : kUnknown;
}

/// "8.12-9.4"
std::string interval_text(const std::optional<PredictionInterval>& interval, double unit) {
  return interval ? digits(interval->low / unit) + "-" + digits(interval->high / unit) : kUnknown;
}

/// In percent.
template <class AnyFit>
std::string error_text(const AnyFit& fit, const std::string& graph) {
  const std::optional<double> error = fit.error_at_max_ranks(graph);
  return error ? fmt::format("{:.1f}", 100 * *error) : kUnknown;
}

std::vector<Table::Cell> prediction_cells(const TopologyModel& model, const std::string& graph,
                                          const Prediction& prediction,
                                          const Prediction::AtSize& at) {
  constexpr double kMicro = 1e3, kKibi = 1024;
  std::vector<Table::Cell> cells = {fmt::format("{}", prediction.ranks),
                                    printable(prediction.figures.graph),
                                    fmt::format("{}", at.size_bytes),
                                    {fmt::format("{}", prediction.qps_per_rank),
                                     prediction.more_qps_than_measured ? "more than measured" : ""},
                                    fmt::format("{}", prediction.qps_total),
                                    digits(prediction.figures.hops_mean),
                                    fmt::format("{}", prediction.figures.hops_max)};
  const auto add = [&cells](const std::string& text) { cells.emplace_back(text); };
  if (model.latency) {
    add(in_unit(at.mean_ns, kMicro));
    add(interval_text(at.mean_interval_ns, kMicro));
    add(in_unit(at.farthest_ns, kMicro));
    add(error_text(*model.latency, graph));
  }
  if (model.memory) {
    add(in_unit(at.memory_bytes, kKibi));
    add(model.exact_memory ? "exact" : error_text(*model.memory, graph));
  }
  return cells;
}

bool any_noted(const Table& table) {
  return std::ranges::any_of(table.columns, [](const Table::Column& column) {
    return std::ranges::any_of(column.cells,
                               [](const Table::Cell& cell) { return !cell.note.empty(); });
  });
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

}  // namespace

std::string time_value(double ns) {
  const Unit unit = time_unit(ns);
  return digits(ns / unit.size) + " " + std::string(unit.name);
}

std::vector<ModelFact> cost_facts(const CostFit& fit) {
  const Costs costs = fit.costs();
  std::vector<ModelFact> facts = {{"alpha", time_value(costs.alpha_ns)}};
  if (fit.knows_per_hop()) facts.push_back({"each hop more", time_value(costs.per_hop_ns)});
  if (fit.knows_beta()) {
    facts.push_back({"beta", digits(costs.beta_ns_per_byte) + " ns/B"});
    if (costs.beta_ns_per_byte > 0)
      facts.push_back({"1 / beta", digits(8 / costs.beta_ns_per_byte) + " Gb/s"});
  }
  facts.push_back({"spread", fmt::format("{:.1f} %", 100 * fit.spread())});
  return facts;
}

std::vector<std::string> model_remarks(const TopologyModel& model) {
  std::vector<std::string> remarks;
  if (model.yielding)
    remarks.push_back(
        "Ranks outnumbered cores and gave them up while they waited: times are those of such a "
        "crowd, not of machines with a rank each, so no rank is called slow ('rdmameter show "
        "--judge-shared' does it all the same).");
  if (model.latency && !model.latency->knows_beta())
    remarks.push_back("Beta needs more than one size; alpha is that of " + sizes_text(model) + ".");
  if (model.latency && !model.latency->knows_per_hop())
    remarks.push_back("The cost of a hop needs a graph with relays, such as a ring of four ranks.");
  constexpr double kPoor = 0.15;
  if (model.latency && model.latency->spread() > kPoor)
    remarks.push_back(
        "The latencies scatter widely around the model: it describes this system badly, so do not "
        "trust its predictions.");
  return remarks;
}

std::string prediction_remark(const TopologyModel& model) {
  const bool drawn = std::ranges::any_of(model.graphs, [](const std::string& graph) {
    const auto shape = find_shape(graph);
    return shape && shape->shape->drawn;
  });
  std::string remark =
      "error: how far a fit to fewer ranks was off, at worst, at the largest number of ranks "
      "measured. The predictions are by a fit to all ranks. 95 %: where the mean latency would be "
      "measured in 95 of 100 repetitions, if the model holds.";
  if (drawn)
    remark +=
        " Hops of a random graph are those from 64 sampled ranks of one such graph, and from 4 "
        "beyond 65536 ranks.";
  return remark;
}

Table prediction_table(const TopologyModel& model, std::span<const std::uint64_t> ranks,
                       std::string& unknown) {
  Table table;
  table.columns = {{"ranks"},
                   {.head = "graph", .is_text = true},
                   {"size", "B"},
                   {"QPs", "", "of a rank"},
                   {"QPs", "", "in all"},
                   {"hops", "", "mean"},
                   {"hops", "", "most"}};
  table.key_columns = 3;
  const auto add = [&table](Table::Column head) { table.columns.push_back(std::move(head)); };
  if (model.latency) {
    add({"latency", "µs", "mean"});
    add({.head = "95 %", .unit = "µs", .is_text = true});
    add({"farthest", "µs"});
    add({"error", "%"});
  }
  if (model.memory) {
    add({"memory of a rank", "KiB"});
    add({"error", "%"});
  }
  for (const std::uint64_t n : ranks)
    for (const std::string& graph : model.graphs) {
      const auto result = predict(model, graph, n);
      if (!result) {
        unknown += fmt::format("{}{} at {}", unknown.empty() ? "" : ", ", printable(graph), n);
        continue;
      }
      for (const Prediction::AtSize& at : result->sizes)
        table.add_line(prediction_cells(model, graph, *result, at));
    }
  return table;
}

std::string model_text(const TopologyModel& model, const std::vector<std::uint64_t>& predict,
                       const TextStyle& style) {
  std::string text;
  if (model.latency) text += facts_text(*model.latency, style);
  for (const std::string& remark : model_remarks(model)) text += wrap("    ", remark, style.width);
  if (!predict.empty()) text += predictions(model, predict, style);
  return text;
}

}  // namespace rdmameter
