// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/shapes_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "reports/topology/number_column.h"

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

}  // namespace rdmameter
