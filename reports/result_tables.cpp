// SPDX-License-Identifier: Apache-2.0
#include "reports/result_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/case_text.h"
#include "reports/row_json.h"
#include "reports/table.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
using Number = std::optional<double>;

bool repeated(const CaseSummary& summary) {
  return summary.repetitions.size() > 1;
}

bool any_repeated(const Group& group) {
  return std::any_of(group.cases.begin(), group.cases.end(), repeated);
}

/// Adds to a column what belongs to a case: its line, and for a repeated one the line beneath.
void add_cells(Table::Column& column, const CaseSummary& summary, std::string cell,
               std::string below) {
  column.cells.push_back(std::move(cell));
  if (repeated(summary)) column.cells.push_back(std::move(below));
}

/// The varying axes, with ± in the last of them, where repetitions stand below a case.
Table key_table(const Group& group) {
  Table table;
  std::vector<std::string> keys = group.varying;
  if (keys.empty() && any_repeated(group)) keys.emplace_back();
  for (const std::string& key : keys) {
    const auto [name, unit] = split_key(key);
    Table::Column column{name, unit.empty() ? "" : "[" + unit + "]", {}};
    for (const CaseSummary& summary : group.cases)
      add_cells(column, summary, value_text(summary.case_object.value(key, Json())),
                key == keys.back() ? "±" : "");
    table.columns.push_back(std::move(column));
  }
  table.key_columns = table.columns.size();
  for (const CaseSummary& summary : group.cases) {
    table.subordinate.push_back(false);
    if (repeated(summary)) table.subordinate.push_back(true);
  }
  return table;
}

/// A column of medians with the spreads beneath, "–" where there is no number; not where there is
/// none at all.
void add_medians(Table& table, const Group& group, const NameAndUnit& head, const Unit& unit,
                 int most_decimals, const std::function<Number(const Row&)>& number) {
  std::vector<std::optional<Spread>> spreads;
  std::vector<double> known;
  for (const CaseSummary& summary : group.cases) {
    spreads.push_back(spread(summary, number));
    if (spreads.back()) known.push_back(spreads.back()->median / unit.size);
  }
  if (known.empty()) return;
  const int decimals = decimals_for(known, most_decimals);
  Table::Column column{head.name, head.unit, {}};
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const auto cell = [&](double Spread::*part) {
      return spreads[i] ? fixed((*spreads[i]).*part / unit.size, decimals) : std::string("–");
    };
    add_cells(column, group.cases[i], cell(&Spread::median), cell(&Spread::half_range));
  }
  table.columns.push_back(std::move(column));
}

/// A column of whole numbers: the median over the repetitions.
void add_count(Table& table, const Group& group, const char* head,
               std::uint64_t (*number)(const Row&)) {
  Table::Column column{head, "", {}};
  for (const CaseSummary& summary : group.cases) {
    const auto median = spread(
        summary, [number](const Row& row) -> Number { return static_cast<double>(number(row)); });
    add_cells(column, summary, fixed(median->median, 0), "");
  }
  table.columns.push_back(std::move(column));
}

/// A column of whole numbers of all repetitions together; not where none is known.
void add_sums(Table& table, const Group& group, const char* head, bool even_if_zero,
              const std::function<std::optional<std::uint64_t>(const Row&)>& number) {
  Table::Column column{head, "", {}};
  bool known = false;
  for (const CaseSummary& summary : group.cases) {
    std::optional<std::uint64_t> sum;
    for (const Row* row : summary.repetitions)
      if (const auto value = number(*row)) sum = sum.value_or(0) + *value;
    known = known || (sum && (even_if_zero || *sum > 0));
    add_cells(column, summary, sum ? std::to_string(*sum) : "–", "");
  }
  if (known) table.columns.push_back(std::move(column));
}

/// The group with those cases alone whose repetitions all have such numbers.
template <class Part>
Group only_with(const Group& group, std::optional<Part> Row::*part) {
  Group chosen = group;
  std::erase_if(chosen.cases, [part](const CaseSummary& summary) {
    return !std::all_of(summary.repetitions.begin(), summary.repetitions.end(),
                        [part](const Row* row) { return (row->*part).has_value(); });
  });
  return chosen;
}

std::string legend(const Group& group, const Table& table, const TextStyle& style) {
  std::string text;
  std::size_t least = ~std::size_t{0}, most = 0;
  for (const CaseSummary& summary : group.cases) {
    least = std::min(least, summary.repetitions.size());
    most = std::max(most, summary.repetitions.size());
  }
  if (most > 1)
    text +=
        fmt::format("Medians of {} repetitions; ± is half their range. ",
                    least == most ? std::to_string(most) : fmt::format("{} to {}", least, most));
  const auto has = [&table](auto test) {
    return std::any_of(table.columns.begin(), table.columns.end(), test);
  };
  if (has([](const auto& column) {
        return std::find(column.cells.begin(), column.cells.end(), "–") != column.cells.end();
      }))
    text += "–: too few samples. ";
  if (most > 1 && has([](const auto& column) { return column.head == "lost"; }))
    text += "Lost: all repetitions together. ";
  return text.empty() ? "" : dim(wrap("  ", text, style.width), style);
}

constexpr auto kLatency = &Row::latency;
constexpr auto kBandwidth = &Row::bandwidth;

struct LatencyColumn {
  const char* head;
  Number (*value)(const LatencySummary&);
};
constexpr LatencyColumn kLatencyColumns[] = {
    {"min", [](const LatencySummary& s) -> Number { return s.min; }},
    {"p50", [](const LatencySummary& s) { return s.p50; }},
    {"p90", [](const LatencySummary& s) { return s.p90; }},
    {"p99", [](const LatencySummary& s) { return s.p99; }},
    {"p99.9", [](const LatencySummary& s) { return s.p99_9; }},
    {"p99.99", [](const LatencySummary& s) { return s.p99_99; }},
    {"max", [](const LatencySummary& s) -> Number { return s.max; }},
    {"mean", [](const LatencySummary& s) -> Number { return s.mean; }},
};

/// By the quickest case, so that none loses its digits.
Unit latency_unit(const Group& group) {
  double typical = INFINITY;
  for (const CaseSummary& summary : group.cases)
    for (const Row* row : summary.repetitions) {
      const LatencySummary latency = summarize(row->latency->histogram, latency_divisor(*row));
      if (latency.count > 0) typical = std::min(typical, latency.p50.value_or(latency.mean));
    }
  return time_unit(std::isinf(typical) ? 1000 : typical);
}

}  // namespace

std::string latency_table(const Group& whole, const TextStyle& style) {
  const Group group = only_with(whole, kLatency);
  if (group.cases.empty()) return "";
  Table table = key_table(group);
  add_count(table, group, "count", [](const Row& row) { return row.latency->histogram.count; });
  const Unit unit = latency_unit(group);
  for (const LatencyColumn& column : kLatencyColumns)
    add_medians(table, group, {column.head, fmt::format("[{}]", unit.name)}, unit,
                most_decimals(unit), [&column](const Row& row) -> Number {
                  if (row.latency->histogram.count == 0) return std::nullopt;
                  return column.value(summarize(row.latency->histogram, latency_divisor(row)));
                });
  add_sums(table, group, "lost", false, [](const Row& row) { return row.lost; });
  return render(table, style) + legend(group, table, style);
}

std::string bandwidth_table(const Group& whole, const TextStyle& style) {
  const Group group = only_with(whole, kBandwidth);
  if (group.cases.empty()) return "";
  struct RateColumn {
    std::array<Unit, 3> units;  // in the first one's, largest first
    double (*value)(const BandwidthData&);
  };
  constexpr RateColumn kRates[] = {
      {{Unit{"Gb/s", 1}, Unit{"Mb/s", 1e-3}, Unit{"kb/s", 1e-6}}, bandwidth_gbps},
      {{Unit{"MiB/s", 1}, Unit{"KiB/s", 0x1p-10}, Unit{"B/s", 0x1p-20}}, bandwidth_mib_per_s},
      {{Unit{"Mmsg/s", 1}, Unit{"kmsg/s", 1e-3}, Unit{"msg/s", 1e-6}}, bandwidth_mmsg_per_s}};
  Table table = key_table(group);
  add_count(table, group, "messages", [](const Row& row) { return row.bandwidth->messages; });
  for (const RateColumn& rate : kRates) {
    const auto value = [&rate](const Row& row) -> Number { return rate.value(*row.bandwidth); };
    double largest = 0;
    for (const CaseSummary& summary : group.cases)
      largest = std::max(largest, spread(summary, value)->median);
    const Unit unit = rate_unit(rate.units, largest);
    add_medians(table, group, {std::string(unit.name), ""}, unit, 4, value);
  }
  add_sums(table, group, "sent", true, [](const Row& row) { return row.bandwidth->sent; });
  add_sums(table, group, "received", true, [](const Row& row) { return row.bandwidth->received; });
  add_sums(table, group, "lost", true,
           [](const Row& row) { return bandwidth_lost(*row.bandwidth); });
  add_sums(table, group, "duplicated", false,
           [](const Row& row) { return row.bandwidth->duplicated; });
  add_sums(table, group, "reordered", false,
           [](const Row& row) { return row.bandwidth->reordered; });
  const Row& first = *group.cases.front().repetitions.front();
  std::string note;
  if (first.bandwidth->injected)
    note = "Injected: a plain UC write leaves no trace at the receiver; what arrived is unknown.";
  else if (first.bandwidth->counted_by == BandwidthData::CountedBy::receiver)
    note = "Counted by the receiver.";
  return render(table, style) + (note.empty() ? "" : dim(wrap("  ", note, style.width), style)) +
         legend(group, table, style);
}

}  // namespace rdmameter
