// SPDX-License-Identifier: Apache-2.0
#include "reports/text/result_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/result/row_json.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/summary/summary.h"
#include "reports/text/case_text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
using Number = std::optional<double>;

bool any_repeated(const Group& group) {
  return std::ranges::any_of(
      group.cases, [](const CaseSummary& summary) { return summary.repetitions.size() > 1; });
}

std::vector<const CaseSummary*> cases_of(const Group& group) {
  std::vector<const CaseSummary*> cases;
  for (const CaseSummary& summary : group.cases) cases.push_back(&summary);
  return cases;
}

/// A column of whole numbers: the median over the repetitions. Optional.
void add_count(Table& table, const Group& group, const char* head,
               std::uint64_t (*number)(const Row&)) {
  Table::Column column{head};
  column.optional = true;
  for (const CaseSummary& summary : group.cases) {
    const auto median = spread(
        summary, [number](const Row& row) -> Number { return static_cast<double>(number(row)); });
    column.cells.emplace_back(fixed(median->median, 0));
  }
  table.columns.push_back(std::move(column));
}

enum class Sum { always, optional, unless_zero };

/// A column of whole numbers of all repetitions together; not where none is known.
void add_sums(Table& table, const Group& group, const char* head, Sum sums,
              const std::function<std::optional<std::uint64_t>(const Row&)>& number) {
  Table::Column column{.head = head, .optional = sums == Sum::optional};
  bool known = false;
  for (const CaseSummary& summary : group.cases) {
    std::optional<std::uint64_t> sum;
    for (const Row* row : summary.repetitions)
      if (const auto value = number(*row)) sum = sum.value_or(0) + *value;
    known = known || (sum && (sums != Sum::unless_zero || *sum > 0));
    column.cells.emplace_back(sum ? std::to_string(*sum) : "");  // nobody counts them
  }
  if (known) table.columns.push_back(std::move(column));
}

/// The group with those cases alone whose repetitions all have such numbers.
template <auto part>
Group only_with(const Group& group) {
  Group chosen = group;
  std::erase_if(chosen.cases, std::not_fn(all_have<part>));
  return chosen;
}

/// By the quickest case, so that none loses its digits.
Unit latency_unit(CasesOfTable cases) {
  double typical = INFINITY;
  for (const CaseSummary* summary : cases)
    for (const Row* row : summary->repetitions) {
      const LatencySummary latency = summarize(row->latency->histogram, latency_divisor(*row));
      if (latency.count > 0) typical = std::min(typical, latency.p50.value_or(latency.mean));
    }
  return time_unit(std::isinf(typical) ? 1000 : typical);
}

/// What nobody does without.
bool is_tail_or_center(Metric metric) {
  return metric != Metric::min && metric != Metric::p90 && metric != Metric::mean;
}

/// "Counted by the receiver: send_bw over UC and UD."
std::string told_of(const char* what, const Group& group, bool (*holds)(const BandwidthData&)) {
  std::string list;
  std::size_t held = 0;
  for (const CaseSummary& summary : group.cases) {
    const Row& row = *summary.repetitions.front();
    if (!holds(*row.bandwidth)) continue;
    ++held;
    const std::string name =
        printable(test_of(row)) + " over " + upper_case(printable(transport_of(row)));
    if (list.find(name) == list.npos) list += (list.empty() ? "" : ", ") + name;
  }
  if (held == 0) return "";
  return held == group.cases.size() ? fmt::format("{}. ", what)
                                    : fmt::format("{}: {}. ", what, list);
}

std::string counting_note(const Group& group) {
  return told_of(
             "Injected (a plain UC write leaves no trace at the receiver; what arrived is unknown)",
             group, [](const BandwidthData& data) { return data.injected; }) +
         told_of("Counted by the receiver", group,
                 [](const BandwidthData& data) {
                   return !data.injected && data.counted_by == BandwidthData::CountedBy::receiver;
                 }) +
         told_of("Short window (few messages beside those under way; rate of the whole traffic)",
                 group, [](const BandwidthData& data) { return data.short_window; });
}

/// Of completions, as the last columns of rates.
/// @return  a note that says so
std::string add_completions(Table& table, const Group& group) {
  const auto cases = cases_of(group);
  if (only_with<&Row::latency>(group).cases.size() != cases.size()) return "";
  const Unit unit = latency_unit(cases);
  std::string told;
  for (const Metric metric : {Metric::p50, Metric::p99}) {
    const std::size_t before = table.columns.size();
    add_medians(table, cases,
                {.head = std::string(info_of(metric).name),
                 .unit = std::string(unit.name),
                 .optional = true},
                unit, max_decimals(unit), info_of(metric).value);
    if (table.columns.size() > before)
      told += fmt::format("{}{}", told.empty() ? "" : ", ", info_of(metric).name);
  }
  return told.empty() ? "" : told + ": of completions. ";
}

}  // namespace

Table key_table(const Group& group) {
  Table table;
  std::vector<std::string> keys = group.varying;
  if (any_repeated(group)) {
    table.note_sign = "±";
    if (keys.empty()) keys.emplace_back();
  }
  for (const std::string& key : keys) {
    const auto [name, unit] = split_key(key);
    Table::Column column{name, unit};
    column.is_text = key == "test" || key == "transport";
    for (const CaseSummary& summary : group.cases) {
      const Json value = summary.case_object.value(key, Json());
      if (value.is_string()) column.unit.clear();  // "sweep", "10Gb/s"
      column.cells.emplace_back(value_text(value));
    }
    table.columns.push_back(std::move(column));
  }
  table.key_columns = table.columns.size();
  return table;
}

std::string legend(const Group& group, const Table& table, const TextStyle& style) {
  std::string text;
  std::size_t min = ~std::size_t{0}, max = 0;
  for (const CaseSummary& summary : group.cases) {
    min = std::min(min, summary.repetitions.size());
    max = std::max(max, summary.repetitions.size());
  }
  if (max > 1)
    text += fmt::format("Medians of {} repetitions; ± is half their range. ",
                        min == max ? std::to_string(max) : fmt::format("{} to {}", min, max));
  const auto has = [&table](auto test) {
    return std::any_of(table.columns.begin(), table.columns.end(), test);
  };
  if (has([](const auto& column) {
        return std::ranges::find(column.cells, kUnknown, &Table::Cell::text) != column.cells.end();
      }))
    text += kTooFewSamples;
  if (max > 1 && has([](const auto& column) { return column.head == "lost"; }))
    text += "Lost: all repetitions together. ";
  return text.empty() ? "" : dim(wrap("  ", text, style.width), style);
}

void add_medians(Table& table, CasesOfTable cases, Table::Column column, const Unit& unit,
                 int max_decimals, const std::function<std::optional<double>(const Row&)>& number) {
  std::vector<std::optional<Spread>> spreads;
  std::vector<double> known;
  for (const CaseSummary* summary : cases) {
    spreads.push_back(spread(*summary, number));
    if (spreads.back()) known.push_back(spreads.back()->median / unit.size);
  }
  if (known.empty()) return;
  const int decimals = max_decimals == 0 ? 0 : decimals_for(known, max_decimals);
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const auto text = [&](double Spread::*part) {
      return spreads[i] ? fixed((*spreads[i]).*part / unit.size, decimals) : std::string(kUnknown);
    };
    const bool repeated = cases[i]->repetitions.size() > 1;
    column.cells.emplace_back(text(&Spread::median), repeated ? text(&Spread::half_range) : "");
  }
  table.columns.push_back(std::move(column));
}

void add_latencies(Table& table, CasesOfTable cases) {
  const Unit unit = latency_unit(cases);
  for (const MetricInfo& metric : metrics())
    if (is_latency(metric) && metric.metric != Metric::stddev)
      add_medians(table, cases,
                  {.head = std::string(metric.name),
                   .unit = std::string(unit.name),
                   .optional = !is_tail_or_center(metric.metric)},
                  unit, max_decimals(unit), metric.value);
}

std::string latency_table(const Group& whole, const TextStyle& style) {
  const Group group = only_with<&Row::latency>(whole);
  if (group.cases.empty()) return "";
  Table table = key_table(group);
  add_count(table, group, "count", [](const Row& row) { return row.latency->histogram.count; });
  add_latencies(table, cases_of(group));
  add_sums(table, group, "lost", Sum::unless_zero, [](const Row& row) { return row.lost; });
  const bool torn = std::ranges::any_of(group.cases, [](const CaseSummary& summary) {
    return std::ranges::any_of(summary.repetitions,
                               [](const Row* row) { return tail_may_be_missing(*row); });
  });
  return render(table, style) +
         (torn ? dim(wrap("  ", std::string(kTailMayBeMissing), style.width), style) : "") +
         legend(group, table, style);
}

std::string bandwidth_table(const Group& whole, std::optional<double> line_rate_gbps,
                            const TextStyle& style) {
  const Group group = only_with<&Row::bandwidth>(whole);
  if (group.cases.empty()) return "";
  Table table = key_table(group);
  add_count(table, group, "messages", [](const Row& row) { return row.bandwidth->messages; });
  for (const Metric metric : {Metric::gbps, Metric::mib_per_s, Metric::mmsg_per_s}) {
    const auto value = [number = info_of(metric).value](const Row& row) -> Number {
      return number(row).value_or(0);  // an empty window
    };
    double largest = 0;
    for (const CaseSummary& summary : group.cases)
      largest = std::max(largest, spread(summary, value)->median);
    const Unit unit = rate_unit(metric, largest);
    add_medians(table, cases_of(group),
                {.head = std::string(unit.name), .optional = metric == Metric::mib_per_s}, unit, 4,
                value);
    if (metric == Metric::gbps)
      add_medians(table, cases_of(group), {.head = "of line", .unit = "%"}, {"%", 1}, 1,
                  [line_rate_gbps](const Row& row) { return line_percent(line_rate_gbps, row); });
  }
  std::string doubt;
  for (const CaseSummary& summary : group.cases)
    for (const Row* row : summary.repetitions)
      if (doubt.empty()) doubt = line_doubt(line_rate_gbps, *row);
  const auto lost = [](const Row& row) { return bandwidth_lost(*row.bandwidth); };
  const bool any_lost = std::ranges::any_of(group.cases, [&](const CaseSummary& summary) {
    return std::ranges::any_of(summary.repetitions,
                               [&](const Row* row) { return lost(*row).value_or(0) > 0; });
  });
  if (any_lost) {
    add_sums(table, group, "sent", Sum::optional,
             [](const Row& row) { return row.bandwidth->sent; });
    add_sums(table, group, "received", Sum::optional,
             [](const Row& row) { return row.bandwidth->received; });
  }
  add_sums(table, group, "lost", Sum::always, lost);
  add_sums(table, group, "duplicated", Sum::unless_zero,
           [](const Row& row) { return row.bandwidth->duplicated; });
  add_sums(table, group, "reordered", Sum::unless_zero,
           [](const Row& row) { return row.bandwidth->reordered; });
  if (!doubt.empty()) doubt += ' ';
  const std::string note = doubt + add_completions(table, group) + counting_note(group);
  return render(table, style) + (note.empty() ? "" : dim(wrap("  ", note, style.width), style)) +
         legend(group, table, style);
}

}  // namespace rdmameter
