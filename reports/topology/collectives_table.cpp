// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/collectives_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "reports/text/text.h"
#include "reports/topology/number_column.h"

namespace rdmameter {
namespace {

using Number = std::optional<double>;

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

}  // namespace

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

}  // namespace rdmameter
