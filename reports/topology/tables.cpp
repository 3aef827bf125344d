// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/base/parse_value.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// The kernel's count of that name.
auto counted(const char* name) {
  return [name](const TopologyCase& one) {
    const NamedCounts& kernel = one.topology->kernel;
    const auto found = std::ranges::find(kernel, name, &NamedCounts::value_type::first);
    return found == kernel.end() ? Number() : real(found->second);
  };
}

/// Of a repetition over so many hops [ns].
Number p50_at(const Row& row, std::uint64_t hops) {
  const auto at = std::ranges::find(row.topology->by_hops, hops, &TopologyData::AtDistance::hops);
  if (at == row.topology->by_hops.end()) return std::nullopt;
  return summarize(at->latency.histogram, at->latency.half_round_trip ? 2 : 1).p50;
}

template <class Value>
std::function<Number(const TopologyCase&)> of_collective(Value CollectiveData::*member) {
  return [member](const TopologyCase& one) {
    return median_of(one.summary, [member](const Row& row) {
      return Number((*row.topology->collective).*member);
    });
  };
}

std::vector<TopologyCase> fastest_first(TopologyCases cases) {
  auto chosen =
      filtered(cases, [](const TopologyCase& one) { return one.topology->collective.has_value(); });
  std::ranges::stable_sort(chosen, {}, [](const TopologyCase& one) {
    const std::string_view kind = split(one.topology->traffic, "-").front();  // "allreduce"
    return std::tuple(kind, one.size_bytes, one.topology->ranks, one.p50_ns.value_or(INFINITY));
  });
  return chosen;
}

constexpr std::size_t kShown = 8;
constexpr Unit kPercentUnit{"%", 0.01};

std::vector<const MatrixSummary*> summaries_of(const TopologyCase& one) {
  std::vector<const MatrixSummary*> summaries;
  for (const Row* row : one.summary.repetitions)
    if (row->topology->matrix_summary) summaries.push_back(&*row->topology->matrix_summary);
  return summaries;
}

}  // namespace

Table shapes_keys(TopologyCases cases) {
  Table table{.columns = {{"ranks"}, {.head = "graph", .is_text = true}}, .key_columns = 2};
  for (const TopologyCase& one : cases)
    table.add_line({one.topology->ranks, printable(shape_label(one))});
  return table;
}

void add_measurements(Table& table, TopologyCases cases) {
  const Unit unit = unit_of_times(cases, &TopologyCase::p50_ns);
  const int decimals = max_decimals(unit);
  const auto hops = [](const TopologyCase& one) {
    return one.topology->hops ? Number(one.topology->hops->mean) : std::nullopt;
  };
  add_numbers<TopologyCase>(table, cases,
                            {{{"hops", "", "mean"}, hops, 2},
                             {{"p50"}, &TopologyCase::p50_ns, decimals, unit},
                             {{"p99"}, &TopologyCase::p99_ns, decimals, unit},
                             {{"rate"}, &TopologyCase::gbps, 4, {"Gb/s"}},
                             {{"of a rank"}, &TopologyCase::rank_gbps, 4, {"Gb/s"}},
                             {{"Jain"}, &TopologyCase::jain, 3},
                             {{"of model"}, &TopologyCase::share, 0, kPercentUnit}});
}

void add_times_by_hops(Table& table, TopologyCases cases) {
  std::set<std::uint64_t> distances;
  for (const TopologyCase& one : cases)
    for (const TopologyData::AtDistance& at : one.topology->by_hops) distances.insert(at.hops);
  if (distances.size() < 2) return;
  const Unit unit = unit_of_times(cases, &TopologyCase::p50_ns);
  for (const std::uint64_t hops : distances) {
    const auto p50 = [hops](const TopologyCase& one) {
      return median_of(one.summary, [hops](const Row& row) { return p50_at(row, hops); });
    };
    add_numbers<TopologyCase>(table, cases,
                              {{{count_text(hops, "hop")}, p50, max_decimals(unit), unit}});
  }
}

void add_resources(Table& table, TopologyCases cases, bool all) {
  constexpr Unit kKib{"KiB", 1024};
  const auto qps = [](const TopologyCase& one) { return known_count(one.qps_max); };
  const auto qps_total = [](const TopologyCase& one) {
    return known_count(one.topology->qps_total.value_or(0));
  };
  std::vector<NumberColumn<TopologyCase>> columns{
      {{"QPs", "", "of a rank"}, qps},
      {{"QPs", "", "in all"}, qps_total},
      {{"connect"}, &TopologyCase::connect_ns, 2, unit_of_times(cases, &TopologyCase::connect_ns)},
      {{"barrier"}, &TopologyCase::barrier_ns, 2, unit_of_times(cases, &TopologyCase::barrier_ns)},
      {{"memory"}, &TopologyCase::memory_bytes, 1, kKib},
      {{"relays'"}, &TopologyCase::relay_bytes, 1, kKib},
      {{"kernel:", "", "QPs"}, counted("qps")}};
  if (all)
    columns.insert(columns.end(), {{{"CQs"}, counted("cqs")},
                                   {{"CQ entries"}, counted("cqes")},
                                   {{"MRs"}, counted("mr_bytes"), 1, kKib}});
  columns.push_back({{"pinned"}, counted("pinned_bytes"), 1, kKib});
  add_numbers(table, cases, std::move(columns));
}

Table collectives_table(TopologyCases all) {
  const std::vector<TopologyCase> list = fastest_first(all);
  const TopologyCases cases = list;
  Table table{.columns = {{.head = "collective", .is_text = true},
                          {"size", "B"},
                          {"ranks"},
                          {.head = "graph", .is_text = true}},
              .key_columns = 4,
              .title = "collectives: time of the slowest rank, from a barrier on"};
  for (const TopologyCase& one : cases)
    table.add_line({printable(one.topology->traffic),
                    known_text(known_count(one.topology->collective->bytes), 0),
                    one.topology->ranks, printable(shape_label(one))});
  // Where there are no other times, those of ranks say more than the graph.
  table.columns.back().optional =
      std::ranges::none_of(cases, [](const TopologyCase& one) { return one.p50_ns.has_value(); });
  const Unit unit = unit_of_times(cases, &TopologyCase::p50_ns);
  const auto time = [&](const char* head, const char* qualifier,
                        std::function<Number(const TopologyCase&)> number, bool optional = true) {
    return NumberColumn<TopologyCase>{{.head = head, .qualifier = qualifier, .optional = optional},
                                      std::move(number),
                                      std::min(max_decimals(unit), 2),
                                      unit};
  };
  add_numbers<TopologyCase>(
      table, cases,
      {time("p50", "", &TopologyCase::p50_ns, cases.empty() || !cases.front().p50_ns),
       time("p99", "", &TopologyCase::p99_ns),
       time("of ranks", "min", of_collective(&CollectiveData::rank_min_ns)),
       time("of ranks", "mean", of_collective(&CollectiveData::rank_mean_ns)),
       time("of ranks", "max", of_collective(&CollectiveData::rank_max_ns)),
       {{"algbw"}, of_collective(&CollectiveData::algbw_gb_per_s), 4, {"GB/s"}},
       {{"busbw"}, of_collective(&CollectiveData::busbw_gb_per_s), 4, {"GB/s"}},
       {{"of bound"}, &TopologyCase::share, 0, kPercentUnit},
       {{"relayed"}, of_collective(&CollectiveData::relayed_hops), 0, {"hops"}},
       time("barrier", "", &TopologyCase::barrier_ns)});
  return table;
}

Table pair_times_table(TopologyCases cases, bool streams) {
  using Quantile = std::pair<const char*, double MatrixSummary::*>;
  static constexpr Quantile kQuantiles[] = {
      {"min", &MatrixSummary::min_ns}, {"p10", &MatrixSummary::p10_ns},
      {"p50", &MatrixSummary::p50_ns}, {"p90", &MatrixSummary::p90_ns},
      {"p99", &MatrixSummary::p99_ns}, {"max", &MatrixSummary::max_ns}};
  // What takes longest is the least bandwidth.
  static constexpr std::array kOfStreams{"min", "p1", "p10", "p50", "p90", "max"};
  Table table{.key_columns = 3,
              .title = fmt::format("{} between pairs of ranks", streams ? "bandwidth" : "one way")};
  for (const TopologyCase& one : cases) {
    const auto summaries = summaries_of(one);
    const PairNumbers numbers = pair_numbers(one);
    if (summaries.empty() || numbers.bandwidths() != streams) continue;
    TableLine line(table);
    line.add_text("graph", printable(shape_label(one)));
    line.add({"ranks"}, one.topology->ranks);
    line.add({"size", "B"}, one.size_bytes);
    line.add({"pairs"}, summaries.front()->pairs);
    auto texts = mapped(kQuantiles, [&](const Quantile& each) {
      return numbers.text(median(mapped(summaries, each.second)));
    });
    if (streams) std::ranges::reverse(texts);
    for (std::size_t i = 0; i < texts.size(); ++i)
      line.add({streams ? kOfStreams[i] : kQuantiles[i].first}, texts[i]);
  }
  return table;
}

Table slowest_pairs_table(const TopologyCase& one, const Json& context, bool judge_shared) {
  const PairNumbers numbers = pair_numbers(one);
  Table table{.key_columns = 2, .title = "slowest pairs, not judged: " + case_title(one)};
  if (ranks_shared_cores(one) && !judge_shared) return table;
  const auto summaries = summaries_of(one);
  using InRepetitions = std::vector<const MatrixSummary::Pair*>;  // of one pair of ranks
  std::map<std::pair<std::uint64_t, std::uint64_t>, InRepetitions> found;
  for (const MatrixSummary* summary : summaries)
    for (const MatrixSummary::Pair& pair : summary->slowest)
      found[{pair.from, pair.to}].push_back(&pair);
  const auto of_median = [](const InRepetitions& pairs) {
    return median(mapped(pairs, &MatrixSummary::Pair::of_median));
  };
  auto slow = mapped(found, [](const auto& each) { return each.second; });
  std::ranges::stable_sort(slow, {}, [&](const InRepetitions& pairs) {
    return std::pair(-real(pairs.size()), -of_median(pairs));
  });
  for (const InRepetitions& pairs : slow) {
    if (table.lines() == kShown) break;
    const double ns = median(mapped(pairs, &MatrixSummary::Pair::ns));
    TableLine line(table);
    line.add_text("from", rank_text(context, pairs.front()->from));
    line.add_text("to", rank_text(context, pairs.front()->to));
    line.add({"hops"}, pairs.front()->hops);
    line.add({numbers.bandwidths() ? "bandwidth" : "one way"}, numbers.text(ns));
    line.add({"times the median", "", "of as many hops"}, fmt::format("{:.2f}", of_median(pairs)));
    line.add({"repetitions"}, fmt::format("{} of {}", pairs.size(), summaries.size()));
  }
  return table;
}

}  // namespace rdmameter
