// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/pair_times_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "reports/stats/sample.h"
#include "reports/topology/model_text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kShown = 8;

std::vector<const MatrixSummary*> summaries_of(const TopologyCase& one) {
  std::vector<const MatrixSummary*> summaries;
  for (const Row* row : one.summary.repetitions)
    if (row->topology->matrix_summary) summaries.push_back(&*row->topology->matrix_summary);
  return summaries;
}

}  // namespace

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
