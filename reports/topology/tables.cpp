// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "reports/stats/sample.h"
#include "reports/text/text.h"
#include "reports/topology/model_text.h"

namespace rdmameter {
namespace {

using Cases = std::span<const TopologyCase>;
using Number = std::optional<double>;

auto part(Number TopologyCase::*member) {
  return [member](const TopologyCase& one) { return one.*member; };
}

auto counted(const char* name) {
  return [name](const TopologyCase& one) { return kernel_count(one, name); };
}

void add_times(Table& table, Cases cases, const char* head, const Unit& unit, int max_decimals,
               Number TopologyCase::*member) {
  add_number_column<TopologyCase>(table, cases, {head, std::string(unit.name)}, unit.size,
                                  max_decimals, part(member));
}

/// Of a repetition over so many hops [ns].
Number p50_at(const Row& row, std::uint64_t hops) {
  const auto at = std::ranges::find(row.topology->by_hops, hops, &TopologyData::AtDistance::hops);
  if (at == row.topology->by_hops.end()) return std::nullopt;
  return summarize(at->latency.histogram, at->latency.half_round_trip ? 2 : 1).p50;
}

Number known_count(std::uint64_t value) {
  return value == 0 ? Number() : Number(static_cast<double>(value));
}

Number median_of_rows(const TopologyCase& one, Number (*number)(const CollectiveData&)) {
  const auto result =
      spread(one.summary, [number](const Row& row) { return number(*row.topology->collective); });
  return result ? Number(result->median) : std::nullopt;
}

/// "allreduce" of "allreduce-ring"
std::string_view kind_of(const TopologyCase& one) {
  return std::string_view(one.topology->traffic).substr(0, one.topology->traffic.find('-'));
}

std::vector<TopologyCase> fastest_first(std::span<const TopologyCase> cases) {
  std::vector<TopologyCase> chosen;
  for (const TopologyCase& one : cases)
    if (one.topology->collective) chosen.push_back(one);
  std::ranges::stable_sort(chosen, {}, [](const TopologyCase& one) {
    return std::tuple(kind_of(one), one.size_bytes, one.topology->ranks,
                      one.p50_ns.value_or(std::numeric_limits<double>::infinity()));
  });
  return chosen;
}

constexpr std::size_t kShown = 8;

std::vector<const MatrixSummary*> summaries_of(const TopologyCase& one) {
  std::vector<const MatrixSummary*> summaries;
  for (const Row* row : one.summary.repetitions)
    if (row->topology->matrix_summary) summaries.push_back(&*row->topology->matrix_summary);
  return summaries;
}

}  // namespace

Table shapes_keys(Cases cases) {
  Table table;
  table.columns = {{"ranks"}, {.head = "graph", .is_text = true}};
  table.key_columns = table.columns.size();
  for (const TopologyCase& one : cases)
    table.add_line({fmt::format("{}", one.topology->ranks), printable(shape_label(one))});
  return table;
}

void add_measurements(Table& table, Cases cases) {
  add_number_column<TopologyCase>(
      table, cases, {"hops", "", "mean"}, 1, 2, [](const TopologyCase& one) {
        return one.topology->hops ? Number(one.topology->hops->mean) : std::nullopt;
      });
  const Unit unit = unit_of_times(cases, &TopologyCase::p50_ns);
  add_times(table, cases, "p50", unit, max_decimals(unit), &TopologyCase::p50_ns);
  add_times(table, cases, "p99", unit, max_decimals(unit), &TopologyCase::p99_ns);
  add_number_column<TopologyCase>(table, cases, {"rate", "Gb/s"}, 1, 4, part(&TopologyCase::gbps));
  add_number_column<TopologyCase>(table, cases, {"of a rank", "Gb/s"}, 1, 4,
                                  part(&TopologyCase::rank_gbps));
  add_number_column<TopologyCase>(table, cases, {"Jain"}, 1, 3, part(&TopologyCase::jain));
  add_number_column<TopologyCase>(table, cases, {"of model", "%"}, 0.01, 0,
                                  part(&TopologyCase::share));
}

void add_times_by_hops(Table& table, Cases cases) {
  std::set<std::uint64_t> distances;
  for (const TopologyCase& one : cases)
    for (const TopologyData::AtDistance& at : one.topology->by_hops) distances.insert(at.hops);
  if (distances.size() < 2) return;
  const Unit unit = unit_of_times(cases, &TopologyCase::p50_ns);
  for (const std::uint64_t hops : distances)
    add_number_column<TopologyCase>(
        table, cases,
        {fmt::format("{} {}", hops, hops == 1 ? "hop" : "hops"), std::string(unit.name)}, unit.size,
        max_decimals(unit), [hops](const TopologyCase& one) {
          const auto median_of = [hops](const Row& row) { return p50_at(row, hops); };
          const auto result = spread(one.summary, median_of);
          return result ? Number(result->median) : std::nullopt;
        });
}

void add_resources(Table& table, Cases cases, bool all) {
  add_number_column<TopologyCase>(table, cases, {"QPs", "", "of a rank"}, 1, 0,
                                  [](const TopologyCase& one) { return known_count(one.qps_max); });
  add_number_column<TopologyCase>(
      table, cases, {"QPs", "", "in all"}, 1, 0,
      [](const TopologyCase& one) { return known_count(one.topology->qps_total.value_or(0)); });
  add_times(table, cases, "connect", unit_of_times(cases, &TopologyCase::connect_ns), 2,
            &TopologyCase::connect_ns);
  add_times(table, cases, "barrier", unit_of_times(cases, &TopologyCase::barrier_ns), 2,
            &TopologyCase::barrier_ns);
  add_number_column<TopologyCase>(table, cases, {"memory", "KiB"}, 1024, 1,
                                  part(&TopologyCase::memory_bytes));
  add_number_column<TopologyCase>(table, cases, {"relays'", "KiB"}, 1024, 1,
                                  part(&TopologyCase::relay_bytes));
  add_number_column<TopologyCase>(table, cases, {"kernel:", "", "QPs"}, 1, 0, counted("qps"));
  if (all) {
    add_number_column<TopologyCase>(table, cases, {"CQs"}, 1, 0, counted("cqs"));
    add_number_column<TopologyCase>(table, cases, {"CQ entries"}, 1, 0, counted("cqes"));
    add_number_column<TopologyCase>(table, cases, {"MRs", "KiB"}, 1024, 1, counted("mr_bytes"));
  }
  add_number_column<TopologyCase>(table, cases, {"pinned", "KiB"}, 1024, 1,
                                  counted("pinned_bytes"));
}

Table collectives_table(std::span<const TopologyCase> all) {
  const std::vector<TopologyCase> list = fastest_first(all);
  const std::span<const TopologyCase> cases = list;
  Table table;
  table.columns = {{.head = "collective", .is_text = true},
                   {"size", "B"},
                   {"ranks"},
                   {.head = "graph", .is_text = true}};
  table.key_columns = table.columns.size();
  for (const TopologyCase& one : cases)
    table.add_line({printable(one.topology->traffic),
                    one.topology->collective->bytes == 0
                        ? kUnknown
                        : fmt::format("{}", one.topology->collective->bytes),
                    fmt::format("{}", one.topology->ranks), printable(shape_label(one))});
  const Unit unit = unit_of_times(cases, &TopologyCase::p50_ns);
  const int decimals = std::min(max_decimals(unit), 2);
  const auto add_time = [&](const char* head, const char* qualifier, const auto& number) {
    add_number_column<TopologyCase>(
        table, cases,
        {.head = head, .unit = std::string(unit.name), .qualifier = qualifier, .optional = true},
        unit.size, decimals, number);
  };
  const auto add = [&](Table::Column head, int most, Number (*number)(const CollectiveData& data)) {
    add_number_column<TopologyCase>(
        table, cases, std::move(head), 1, most,
        [number](const TopologyCase& one) { return median_of_rows(one, number); });
  };
  add_time("p50", "", [](const TopologyCase& one) { return one.p50_ns; });
  table.columns.back().optional = cases.empty() || !cases.front().p50_ns;
  add_time("p99", "", [](const TopologyCase& one) { return one.p99_ns; });
  for (const auto& [qualifier, number] :
       std::initializer_list<std::pair<const char*, Number (*)(const CollectiveData&)>>{
           {"min", [](const CollectiveData& data) { return Number(data.rank_min_ns); }},
           {"mean", [](const CollectiveData& data) { return Number(data.rank_mean_ns); }},
           {"max", [](const CollectiveData& data) { return Number(data.rank_max_ns); }}})
    add_time("of ranks", qualifier,
             [given = number](const TopologyCase& one) { return median_of_rows(one, given); });
  add({"algbw", "GB/s"}, 4, [](const CollectiveData& data) { return data.algbw_gb_per_s; });
  add({"busbw", "GB/s"}, 4, [](const CollectiveData& data) { return data.busbw_gb_per_s; });
  add_number_column<TopologyCase>(table, cases, {"of bound", "%"}, 0.01, 0,
                                  [](const TopologyCase& one) { return one.share; });
  add({"relayed", "hops"}, 0,
      [](const CollectiveData& data) { return Number(real(data.relayed_hops)); });
  add_time("barrier", "", [](const TopologyCase& one) { return one.barrier_ns; });
  return table;
}

Table pair_times_table(std::span<const TopologyCase> cases, bool streams) {
  using Quantile = std::pair<const char*, double MatrixSummary::*>;
  static constexpr Quantile kQuantiles[] = {
      {"min", &MatrixSummary::min_ns}, {"p10", &MatrixSummary::p10_ns},
      {"p50", &MatrixSummary::p50_ns}, {"p90", &MatrixSummary::p90_ns},
      {"p99", &MatrixSummary::p99_ns}, {"max", &MatrixSummary::max_ns}};
  Table table{text_columns({"graph"})};
  for (const char* head : {"ranks", "size", "pairs"}) table.columns.push_back({head});
  table.columns[2].unit = "B";
  table.key_columns = 3;
  for (const auto& [name, quantile] : kQuantiles) table.columns.push_back({name});
  for (const TopologyCase& one : cases) {
    const auto summaries = summaries_of(one);
    const PairNumbers numbers = pair_numbers(one);
    if (summaries.empty() || numbers.bandwidths() != streams) continue;
    std::vector<Table::Cell> cells{
        printable(shape_label(one)), fmt::format("{}", one.topology->ranks),
        fmt::format("{}", one.size_bytes), fmt::format("{}", summaries.front()->pairs)};
    for (const auto& [name, quantile] : kQuantiles) {
      std::vector<double> values;
      for (const MatrixSummary* summary : summaries) values.push_back(summary->*quantile);
      cells.emplace_back(numbers.text(median(values)));
    }
    // What takes longest is the least bandwidth.
    if (streams) std::reverse(cells.end() - std::ssize(kQuantiles), cells.end());
    table.add_line(std::move(cells));
  }
  return table;
}

Table slowest_pairs_table(const TopologyCase& one, const nlohmann::ordered_json& context,
                          bool judge_shared) {
  Table table{text_columns({"from", "to"})};
  table.key_columns = 2;
  const PairNumbers numbers = pair_numbers(one);
  for (const char* head :
       {"hops", numbers.bandwidths() ? "bandwidth" : "one way", "times the median", "repetitions"})
    table.columns.push_back({head});
  table.columns[4].qualifier = "of as many hops";
  if (ranks_shared_cores(one) && !judge_shared) return table;
  const auto summaries = summaries_of(one);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<const MatrixSummary::Pair*>> found;
  for (const MatrixSummary* summary : summaries)
    for (const MatrixSummary::Pair& pair : summary->slowest)
      found[{pair.from, pair.to}].push_back(&pair);
  struct Slow {
    const MatrixSummary::Pair* pair;
    std::size_t times;
    double ns, of_median;
  };
  std::vector<Slow> slow;
  for (const auto& [ranks, pairs] : found) {
    std::vector<double> ns, of_median;
    for (const MatrixSummary::Pair* pair : pairs) {
      ns.push_back(pair->ns);
      of_median.push_back(pair->of_median);
    }
    slow.push_back({pairs.front(), pairs.size(), median(ns), median(of_median)});
  }
  std::ranges::stable_sort(slow, {}, [](const Slow& each) {
    return std::pair(-static_cast<double>(each.times), -each.of_median);
  });
  for (const Slow& each : slow) {
    if (table.lines() == kShown) break;
    table.add_line({rank_text(context, static_cast<std::uint32_t>(each.pair->from)),
                    rank_text(context, static_cast<std::uint32_t>(each.pair->to)),
                    fmt::format("{}", each.pair->hops), numbers.text(each.ns),
                    fmt::format("{:.2f}", each.of_median),
                    fmt::format("{} of {}", each.times, summaries.size())});
  }
  return table;
}

}  // namespace rdmameter
