// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/table.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

const std::string kNone = "–";

/// Three digits that mean something.
std::string digits(double value) {
  if (!std::isfinite(value)) return kNone;
  if (value == 0) return "0";
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(value))), 0, 6);
  return fixed(value, decimals);
}

std::string in_unit(const Estimate& made, const Unit& unit) {
  if (!made.low) return "";
  return fmt::format("{} to {} {}", digits(*made.low / unit.size), digits(*made.high / unit.size),
                     unit.name);
}

/// A cost that no case shows is none that is known to be 0.
std::string interval_of(const Estimate& made, const Unit& unit) {
  return made.high && *made.high <= 0 ? "too small to be told from 0" : in_unit(made, unit);
}

ModelFact time_fact(const char* name, const Estimate& made) {
  return {name, time_value(made.value), interval_of(made, time_unit(made.value))};
}

std::string sizes_text(const TopologyModel& model) {
  std::string text;
  for (const std::uint64_t size : model.sizes_bytes)
    text += (text.empty() ? "" : ", ") + fmt::format("{} B", size);
  return text;
}

void add_facts(std::string& text, const std::string& title, const CostFit& fit,
               const TextStyle& style) {
  text += "\n" + bold("  " + title, style) + "\n";
  for (const auto& [name, value, interval] : cost_facts(fit))
    text += fmt::format("    {}{}{}\n", pad_right(name, 16), pad_left(value, 14),
                        interval.empty() ? "" : "   " + interval);
}

/// "mean latency (64 B, 4096 B); set-up time"
std::string titles_of(const std::vector<const Crossover*>& alike) {
  std::vector<std::pair<std::string, std::string>> sizes_of;  // by number
  for (const Crossover* one : alike) {
    const std::string size = one->size_bytes ? fmt::format("{} B", *one->size_bytes) : "";
    if (!sizes_of.empty() && sizes_of.back().first == one->number)
      sizes_of.back().second += ", " + size;
    else
      sizes_of.emplace_back(one->number, size);
  }
  std::string text;
  for (const auto& [number, sizes] : sizes_of)
    text += (text.empty() ? "" : "; ") + number + (sizes.empty() ? "" : " (" + sizes + ")");
  return text;
}

std::string crossover_lines(const TopologyModel& model, const TextStyle& style) {
  std::string text;
  for (const auto& [said, of] : crossover_sentences(model))
    text += wrap("    ", said + ": " + of, style.width);
  return text.empty() ? "" : "\n" + bold("  which shape, by the model", style) + "\n" + text;
}

struct Cell {
  const char* head;
  const char* unit;
  std::string text;
};

std::string between(const std::optional<Estimate>& made, const Unit& unit) {
  if (!made) return kNone;
  const auto value = [&](double v) { return digits(v / unit.size); };
  if (!made->low || value(*made->low) == value(*made->high)) return value(made->value);
  return fmt::format("{} ({} to {})", value(made->value), value(*made->low), value(*made->high));
}

std::vector<Cell> cells_of(const TopologyModel& model, const Prediction& made,
                           const Prediction::AtSize& at) {
  constexpr Unit kMicro{"µs", 1e3}, kMilli{"ms", 1e6}, kKibi{"KiB", 1024}, kOne{"", 1};
  std::vector<Cell> cells = {
      {"ranks", "", fmt::format("{}", made.ranks)},
      {"graph", "", printable(made.figures.graph)},
      {"size", "[B]", fmt::format("{}", at.size_bytes)},
      {"QPs", "of a rank",
       fmt::format("{}{}", made.qps_per_rank, made.more_qps_than_measured ? " *" : "")},
      {"QPs", "in all", fmt::format("{}", made.qps_total)},
      {"hops", "mean", digits(made.figures.hops_mean)},
      {"hops", "most", fmt::format("{}", made.figures.hops_max)}};
  if (model.latency) {
    cells.push_back({"latency", "mean [µs]", between(at.mean_ns, kMicro)});
    cells.push_back({"of the farthest", "[µs]", between(at.farthest_ns, kMicro)});
  }
  for (const Exchange& exchange : model.exchanges) {
    const auto rate = std::find_if(at.rank_gbps.begin(), at.rank_gbps.end(),
                                   [&](const auto& one) { return one.first == exchange.name; });
    if (!exchange.predictable()) continue;
    cells.push_back({exchange.name.c_str(), "[Gb/s of a rank]",
                     rate == at.rank_gbps.end() ? kNone : between(rate->second, kOne)});
  }
  if (model.setup) cells.push_back({"set-up", "[ms]", between(made.setup_ns, kMilli)});
  if (model.memory) cells.push_back({"memory of a rank", "[KiB]", between(at.memory_bytes, kKibi)});
  return cells;
}

std::string predictions(const TopologyModel& model, const std::vector<std::uint64_t>& ranks,
                        const TextStyle& style) {
  Table table;
  table.key_columns = 3;
  bool beyond = false;
  std::string missing;
  for (const std::uint64_t n : ranks)
    for (const std::string& graph : model.graphs) {
      const auto made = predict(model, graph, n);
      if (!made) {
        missing += fmt::format("{}{} at {}", missing.empty() ? "" : ", ", printable(graph), n);
        continue;
      }
      beyond = beyond || made->more_qps_than_measured;
      for (const Prediction::AtSize& at : made->sizes) {
        const std::vector<Cell> cells = cells_of(model, *made, at);
        for (std::size_t i = 0; i < cells.size(); ++i) {
          if (table.columns.size() == i)
            table.columns.push_back({printable(cells[i].head), cells[i].unit, {}});
          table.columns[i].cells.push_back(cells[i].text);
        }
      }
    }
  std::string text = "\n" + bold("  predicted, not measured", style) + "\n";
  if (!table.columns.empty()) text += render(table, style);
  text +=
      wrap("  ", "In parentheses, where 95 % of new measurements lie if the model holds that far.",
           style.width);
  if (beyond)
    text += wrap("  * ",
                 "More QPs of a rank than any that was measured: should the device's cache end in "
                 "between, it is slower than this.",
                 style.width);
  if (!missing.empty())
    text += wrap("  ", "There is no such shape, or nothing is known of it: " + missing + ".",
                 style.width);
  return text;
}

}  // namespace

std::string time_value(double ns) {
  const Unit unit = time_unit(ns);
  return digits(ns / unit.size) + " " + std::string(unit.name);
}

std::string time_interval(const Estimate& made) {
  return in_unit(made, time_unit(made.value));
}

std::string bytes_value(double bytes) {
  for (const Unit unit : {Unit{"GiB", 1 << 30}, Unit{"MiB", 1 << 20}, Unit{"KiB", 1 << 10}})
    if (bytes >= unit.size) return digits(bytes / unit.size) + " " + std::string(unit.name);
  return fmt::format("{:.0f} B", bytes);
}

std::vector<ModelFact> cost_facts(const CostFit& fit) {
  std::vector<ModelFact> facts = {
      time_fact("alpha", fit.of([](const Costs& costs) { return costs.alpha_ns; }))};
  if (fit.knows_per_hop())
    facts.push_back(
        time_fact("each hop more", fit.of([](const Costs& costs) { return costs.per_hop_ns; })));
  if (fit.knows_beta()) {
    const Estimate beta = fit.of([](const Costs& costs) { return costs.beta_ns_per_byte; });
    facts.push_back({"beta", digits(beta.value) + " ns/B", interval_of(beta, {"ns/B", 1})});
    if (beta.value > 0) facts.push_back({"1 / beta", digits(8 / beta.value) + " Gb/s", ""});
  }
  if (fit.has_knee()) {
    const Estimate qps = fit.of([](const Costs& costs) { return costs.knee_qps; });
    facts.push_back({"knee", digits(qps.value) + " QPs", in_unit(qps, {"QPs of a rank", 1})});
    facts.push_back(
        time_fact("more beyond it", fit.of([](const Costs& costs) { return costs.knee_cost_ns; })));
  }
  facts.push_back(
      {"spread", fmt::format("{:.1f} %", 100 * fit.spread()),
       fmt::format("of {} values of {} cases about the model", fit.points(), fit.blocks())});
  return facts;
}

std::vector<std::string> model_remarks(const TopologyModel& model) {
  std::vector<std::string> remarks;
  if (model.yielding)
    remarks.push_back(
        "Ranks outnumbered cores and gave them up while they waited: times are those of such a "
        "crowd, not of machines with a rank each.");
  if (model.latency && !model.latency->knows_beta())
    remarks.push_back("Beta takes more than one size; alpha is that of " + sizes_text(model) + ".");
  if (model.latency && !model.latency->knows_per_hop())
    remarks.push_back("The cost of a hop takes a shape with relays, as a ring of four ranks.");
  constexpr double kPoor = 0.15;
  if (model.latency && model.latency->spread() > kPoor)
    remarks.push_back(
        "The latencies lie far about the model: it describes this system badly, and predicts it no "
        "better.");
  return remarks;
}

std::string crossover_text(const Crossover& one) {
  const std::string below = printable(one.below), above = printable(one.above);
  if (!one.at)
    return fmt::format("{} ahead of {} at any number of ranks up to {}", below, above,
                       kMostComparedRanks);
  const std::string interval = one.low ? fmt::format(" (95 %: {} to {})", *one.low, *one.high) : "";
  return fmt::format("below {} ranks {}, from there on {}{}", *one.at, below, above, interval);
}

std::vector<std::pair<std::string, std::string>> crossover_sentences(const TopologyModel& model) {
  const std::vector<Crossover> all = crossovers(model);
  std::vector<std::pair<std::string, std::vector<const Crossover*>>> by_text;
  for (const Crossover& one : all) {
    const std::string said = crossover_text(one);
    auto same = std::find_if(by_text.begin(), by_text.end(),
                             [&said](const auto& line) { return line.first == said; });
    if (same == by_text.end()) same = by_text.insert(by_text.end(), {said, {}});
    same->second.push_back(&one);
  }
  std::vector<std::pair<std::string, std::string>> sentences;
  for (auto& [said, alike] : by_text) {
    std::stable_sort(alike.begin(), alike.end(),
                     [](const auto* a, const auto* b) { return a->number < b->number; });
    sentences.emplace_back(said, titles_of(alike));
  }
  return sentences;
}

std::string model_text(const TopologyModel& model, const std::vector<std::uint64_t>& predict,
                       const TextStyle& style) {
  std::string text;
  if (model.latency) add_facts(text, "model of the latency", *model.latency, style);
  for (const Exchange& exchange : model.exchanges)
    if (exchange.predictable() || exchange.time.has_knee())
      add_facts(text, "model of " + printable(exchange.name) + ", from message to message",
                exchange.time, style);
  for (const std::string& remark : model_remarks(model)) text += wrap("    ", remark, style.width);
  text += crossover_lines(model, style);
  if (!predict.empty()) text += predictions(model, predict, style);
  return text;
}

}  // namespace rdmameter
