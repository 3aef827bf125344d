// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/blame_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/text/case_text.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostStalls = 5;

using Blamed = std::vector<const CaseSummary*>;

/// Over all repetitions of a case.
template <class Count>
std::uint64_t blamed_sum(const CaseSummary& summary, Count count) {
  std::uint64_t total = 0;
  for (const Row* row : summary.repetitions) total += count(*row->blame);
  return total;
}

template <class Count>
void add_blamed(Table& table, const Blamed& cases, const char* head, Count count) {
  Table::Column column{.head = head};
  for (const CaseSummary* summary : cases)
    column.cells.emplace_back(fmt::format("{}", blamed_sum(*summary, count)));
  table.columns.push_back(std::move(column));
}

/// The least limit of its repetitions.
std::string blame_limit_text(const CaseSummary& summary) {
  const auto least = std::ranges::min_element(summary.repetitions, {},
                                              [](const Row* row) { return row->blame->limit_ns; });
  return fmt::format("{:.6g}", static_cast<double>((*least)->blame->limit_ns) * 1e-3);
}

std::string stalls_text(const Blamed& cases, const TextStyle& style) {
  std::string lines;
  for (const BlameData::Stall& stall : longest_stalls(cases, kMostStalls))
    lines +=
        wrap(fmt::format("  {:>8.1f} µs ", static_cast<double>(stall.duration_ns) * 1e-3),
             fmt::format("at {} (monotonic {} s)", printable(stall.utc), monotonic_text(stall)),
             style.width);
  return lines.empty() ? "" : dim("  The longest stalls of the initiator's loop:\n", style) + lines;
}

}  // namespace

bool has_blame(const CaseSummary& summary) {
  return std::ranges::all_of(summary.repetitions,
                             [](const Row* row) { return row->blame.has_value(); });
}

void add_blame(Table& table, const Blamed& cases) {
  Table::Column limit{.head = "from", .unit = "µs"};
  for (const CaseSummary* summary : cases) limit.cells.emplace_back(blame_limit_text(*summary));
  table.columns.push_back(std::move(limit));
  add_blamed(table, cases, "late", [](const BlameData& data) { return data.late; });
  add_blamed(table, cases, "local", [](const BlameData& data) { return data.local.count; });
  add_blamed(table, cases, "peer", [](const BlameData& data) { return data.peer.count; });
  add_blamed(table, cases, "path", [](const BlameData& data) { return data.path.count; });
  add_blamed(table, cases, "undecided", [](const BlameData& data) { return data.undecided.count; });
}

std::vector<BlameData::Stall> longest_stalls(const Blamed& cases, std::size_t most) {
  std::vector<BlameData::Stall> stalls;
  for (const CaseSummary* summary : cases)
    for (const Row* row : summary->repetitions)
      stalls.insert(stalls.end(), row->blame->stalls.begin(), row->blame->stalls.end());
  std::ranges::stable_sort(stalls, std::ranges::greater{}, &BlameData::Stall::duration_ns);
  stalls.resize(std::min(stalls.size(), most));
  return stalls;
}

std::string monotonic_text(const BlameData::Stall& stall) {
  return fmt::format("{}.{:09}", stall.monotonic_ns / 1'000'000'000,
                     stall.monotonic_ns % 1'000'000'000);
}

std::string blame_text(const Group& group, const TextStyle& style) {
  Table table;
  table.key_columns = 1;
  table.columns = {{.head = "case", .is_text = true}};
  Blamed cases;
  for (const CaseSummary& summary : group.cases) {
    if (!has_blame(summary)) continue;
    table.columns[0].cells.emplace_back(name_in_group(group, summary));
    cases.push_back(&summary);
  }
  if (cases.empty()) return "";
  add_blame(table, cases);
  return "\n" + bold("  late samples, by who was late", style) + "\n" + render(table, style) +
         dim(wrap("  ",
                  "Samples of that length or more, of all repetitions; of a ping-pong whole round "
                  "trips.",
                  style.width),
             style) +
         stalls_text(cases, style);
}

}  // namespace rdmameter
