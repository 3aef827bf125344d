// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/decision_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/stats/sample.h"
#include "reports/text/case_text.h"
#include "reports/topology/number_column.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

using Number = std::optional<double>;

/// The transport, and the axes in which models of the same transport differ.
std::string over_text(std::span<const TopologyModel> models, std::size_t index) {
  const auto& setting = models[index].setting;
  const auto transport = [](const TopologyModel& model) {
    return model.setting.contains("transport") ? value_text(model.setting["transport"]) : "";
  };
  std::string text = transport(models[index]);
  std::set<std::string> keys;
  for (const TopologyModel& other : models) {
    if (transport(other) != text) continue;
    std::set<std::string> differ, lacked;  // what another opcode lacks follows from that
    for (const auto& [key, value] : setting.items())
      if (!other.setting.contains(key))
        (key == "opcode" ? differ : lacked).insert(key);
      else if (other.setting[key] != value)
        differ.insert(key);
    keys.merge(differ.empty() && !other.setting.contains("opcode") ? lacked : differ);
  }
  for (const std::string& key : keys) text += fmt::format(" {}:{}", key, value_text(setting[key]));
  return text;
}

Number farthest_ns(const Row& row, double percent) {
  if (row.topology->by_hops.empty()) return std::nullopt;
  const LatencyData& latency = row.topology->by_hops.back().latency;
  const auto ns = reported_percentile(latency.histogram, percent);
  return ns ? Number(static_cast<double>(*ns) / (latency.half_round_trip ? 2 : 1)) : std::nullopt;
}

Number median_far(const TopologyCase& one, double percent) {
  const auto result =
      spread(one.summary, [percent](const Row& row) { return farthest_ns(row, percent); });
  return result ? Number(result->median) : std::nullopt;
}

/// What the case's own traffic tells.
void add_traffic(ShapeChoice& choice, const TopologyCase& one) {
  const TopologyData& topology = *one.topology;
  if (reach_of(topology.traffic) == Reach::pair) {
    choice.p50_ns = one.p50_ns;
    choice.p99_ns = one.p99_ns;
    choice.farthest_ns = median_far(one, 50);
    choice.farthest_p99_ns = median_far(one, 99);
  } else if (reach_of(topology.traffic) == Reach::between_all) {
    if (!choice.exchange_ns || usual_schedule(topology)) choice.exchange_ns = one.p50_ns;
  } else if (topology.traffic == "flood" && one.rank_gbps && one.size_bytes > 0) {
    choice.rank_mmsg_per_s = *one.rank_gbps * 1e3 / (8 * static_cast<double>(one.size_bytes));
  }
}

/// What is over what, in the order of the lines.
using Overs = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// @return empty: some shape is there over several
Overs overs_of(std::span<const ShapeChoice> choices) {
  std::map<std::string, std::string> known;
  Overs overs;
  for (const ShapeChoice& choice : choices) {
    const auto [at, is_new] = known.emplace(choice.shape, choice.over);
    if (at->second != choice.over) return {};
    if (!is_new) continue;
    auto found = std::ranges::find(overs, choice.over, &Overs::value_type::first);
    if (found == overs.end()) found = overs.insert(found, {choice.over, {}});
    found->second.push_back(choice.shape);
  }
  return overs;
}

Number known_median(std::vector<double> values) {
  return values.empty() ? Number() : median(std::move(values));
}

}  // namespace

std::vector<ShapeChoice> shape_choices(std::span<const TopologyCase> cases,
                                       std::span<const TopologyModel> models,
                                       std::uint64_t size_bytes) {
  std::vector<ShapeChoice> choices;
  std::vector<std::vector<double>> connect_ns;
  for (const TopologyCase& one : cases) {
    if (one.size_bytes != size_bytes) continue;
    const std::string shape = shape_label(one), over = over_text(models, one.model);
    const auto found = std::ranges::find_if(choices, [&](const ShapeChoice& choice) {
      return choice.ranks == one.topology->ranks && choice.shape == shape && choice.over == over;
    });
    const auto at = static_cast<std::size_t>(found - choices.begin());
    if (found == choices.end()) {
      choices.push_back({.ranks = one.topology->ranks, .shape = shape, .over = over});
      connect_ns.emplace_back();
    }
    ShapeChoice& choice = choices[at];
    if (one.qps_max > 0) choice.qps = static_cast<double>(one.qps_max);
    if (one.memory_bytes) choice.memory_bytes = std::max(choice.memory_bytes, one.memory_bytes);
    for (const Row* row : one.summary.repetitions) {
      double sum = 0;
      for (const auto& [verb, ns] : row->topology->connect_ns) sum += static_cast<double>(ns);
      if (sum > 0) connect_ns[at].push_back(sum);
    }
    choice.connect_ns = known_median(connect_ns[at]);
    add_traffic(choice, one);
  }
  std::ranges::stable_sort(choices, {}, &ShapeChoice::ranks);
  return choices;
}

Table decision_table(std::span<const ShapeChoice> choices) {
  Table table;
  table.columns = {{"ranks"}, {.head = "graph", .is_text = true}};
  const bool names_over = overs_of(choices).empty();
  if (names_over) table.columns.push_back({.head = "over", .is_text = true});
  table.key_columns = table.columns.size();
  for (const ShapeChoice& choice : choices) {
    std::vector<Table::Cell> cells = {fmt::format("{}", choice.ranks), printable(choice.shape)};
    if (names_over) cells.emplace_back(printable(choice.over));
    table.add_line(std::move(cells));
  }
  const auto add = [&](Table::Column head, double size, int max_decimals,
                       Number ShapeChoice::*member) {
    const auto has = [member](const ShapeChoice& one) { return (one.*member).has_value(); };
    if (std::ranges::none_of(choices, has)) return;
    for (const ShapeChoice& choice : choices)
      head.cells.emplace_back(choice.*member ? three_digits(*(choice.*member) / size, max_decimals)
                                             : kUnknown);
    table.columns.push_back(std::move(head));
  };
  const auto add_time = [&](const char* head, Number ShapeChoice::*member, bool optional = false) {
    const Unit unit = unit_of_times(choices, member);
    add({.head = head, .unit = std::string(unit.name), .optional = optional}, unit.size,
        std::min(max_decimals(unit), 2), member);
  };
  add({"QPs"}, 1, 0, &ShapeChoice::qps);
  add({"memory", "KiB"}, 1024, 1, &ShapeChoice::memory_bytes);
  add_time("connect", &ShapeChoice::connect_ns);
  add_time("p50", &ShapeChoice::p50_ns);
  add_time("p99", &ShapeChoice::p99_ns);
  add_time("p50 far", &ShapeChoice::farthest_ns);
  add_time("p99 far", &ShapeChoice::farthest_p99_ns, true);
  add_time("alltoall", &ShapeChoice::exchange_ns);
  add({"flood", "Mmsg/s"}, 1, 3, &ShapeChoice::rank_mmsg_per_s);
  return table;
}

std::string decision_title(std::span<const ShapeChoice> choices, std::uint64_t size_bytes) {
  std::string title = fmt::format("how to connect ranks, {} B", size_bytes);
  const Overs overs = overs_of(choices);
  if (overs.size() == 1) return title + " over " + printable(overs.front().first);
  for (const auto& [over, shapes] : overs)
    title += fmt::format("{}{} over {}", &over == &overs.front().first ? ": " : "; ",
                         printable(fmt::format("{}", fmt::join(shapes, ", "))), printable(over));
  return title;
}

std::vector<std::uint64_t> decision_sizes(std::span<const TopologyCase> cases) {
  std::set<std::uint64_t> sizes;
  for (const TopologyCase& one : cases) sizes.insert(one.size_bytes);
  return {sizes.begin(), sizes.end()};
}

std::string decision_text(std::span<const TopologyCase> cases,
                          std::span<const TopologyModel> models, const GivenLimits& limits,
                          const TextStyle& style) {
  std::string text;
  for (const std::uint64_t size : decision_sizes(cases)) {
    const std::vector<ShapeChoice> choices = shape_choices(cases, models, size);
    text += "\n" + bold(decision_title(choices, size), style) + "\n" +
            render(decision_table(choices), style);
    for (const std::string& sentence : limit_sentences(cases, models, size, limits))
      text += wrap("  ", sentence, style.width);
  }
  return text;
}

}  // namespace rdmameter
