// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/per_qp_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/text/case_text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostNamed = 8;

/// What a case's QPs are compared by: medians, means where there are too few samples, or rates.
std::string compared_by(const CaseSummary& summary) {
  for (const char* key : {"p50_ns", "mean_ns", "messages_per_s"})
    if (std::ranges::all_of(summary.repetitions, [&](const Row* row) {
          return std::ranges::count(row->per_qp->spread, key, &PerQpData::Spread::of) == 1;
        }))
      return key;
  return "";
}

std::string key_name(const std::string& key) {
  if (key == "p50_ns") return "p50 [µs]";
  return key == "mean_ns" ? "mean [µs]" : "rate [k/s]";
}

/// The median over the repetitions, in the unit of key_name(); of a ping-pong half a round trip, as
/// in the other tables.
std::string spread_text(const CaseSummary& summary, const std::string& key,
                        double PerQpData::Spread::*member) {
  const auto found = spread(summary, [&](const Row& row) -> std::optional<double> {
    return (*std::ranges::find(row.per_qp->spread, key, &PerQpData::Spread::of)).*member;
  });
  const double divisor =
      key == "messages_per_s" ? 1 : latency_divisor(*summary.repetitions.front());
  return found ? fmt::format("{:.4g}", found->median * 1e-3 / divisor) : kUnknown;
}

/// The port where it is the same in all repetitions.
std::string port_text(const CaseSummary& summary, std::uint64_t qp) {
  std::optional<std::uint64_t> port;
  for (const Row* row : summary.repetitions) {
    const PerQpData& data = *row->per_qp;
    const auto at = static_cast<std::size_t>(
        data.numbers.empty() ? qp
                             : static_cast<std::uint64_t>(std::ranges::find(data.numbers, qp) -
                                                          data.numbers.begin()));
    if (at >= data.udp_source_ports.size()) return "";
    if (port && *port != data.udp_source_ports[at]) return "";
    port = data.udp_source_ports[at];
  }
  return port ? fmt::format(" (port {})", *port) : "";
}

}  // namespace

bool has_per_qp(const CaseSummary& summary) {
  return std::ranges::all_of(summary.repetitions,
                             [](const Row* row) {
                               return row->per_qp && row->per_qp->qps > 1 &&
                                      !row->per_qp->spread.empty();
                             }) &&
         !compared_by(summary).empty();
}

std::string slow_qps_text(const CaseSummary& summary) {
  std::map<std::uint64_t, std::size_t> times;
  for (const Row* row : summary.repetitions)
    for (const std::uint64_t qp : row->per_qp->slow) ++times[qp];
  std::vector<std::pair<std::uint64_t, std::size_t>> slow(times.begin(), times.end());
  std::erase_if(slow,
                [&](const auto& one) { return 2 * one.second <= summary.repetitions.size(); });
  std::ranges::stable_sort(slow, std::greater{}, &std::pair<std::uint64_t, std::size_t>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(slow.size(), kMostNamed); ++i)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", slow[i].first,
                        port_text(summary, slow[i].first));
  if (slow.size() > kMostNamed) text += fmt::format(", {} more", slow.size() - kMostNamed);
  return text.empty() ? kUnknown : text;
}

void add_per_qp(Table& table, const std::vector<const CaseSummary*>& cases) {
  std::vector<Table::Column> columns = {
      {"QPs"},  {.head = "of each", .is_text = true}, {"least"}, {"median"}, {"greatest"},
      {"Jain"}, {.head = "slow QPs", .is_text = true}};
  for (const CaseSummary* summary : cases) {
    const std::string key = compared_by(*summary);
    const auto jain = spread(*summary, [](const Row& row) { return row.per_qp->jain; });
    const std::vector<std::string> cells = {
        fmt::format("{}", summary->repetitions.front()->per_qp->qps),
        key_name(key),
        spread_text(*summary, key, &PerQpData::Spread::min),
        spread_text(*summary, key, &PerQpData::Spread::p50),
        spread_text(*summary, key, &PerQpData::Spread::max),
        jain ? fmt::format("{:.3f}", jain->median) : kUnknown,
        slow_qps_text(*summary)};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.emplace_back(cells[i]);
  }
  for (Table::Column& column : columns)
    if (column.head != "Jain" ||
        std::ranges::any_of(column.cells, [](const auto& cell) { return cell.text != kUnknown; }))
      table.columns.push_back(std::move(column));
}

std::string per_qp_text(const Group& group, const TextStyle& style) {
  Table table;
  table.key_columns = 1;
  table.columns = {{.head = "case", .is_text = true}};
  std::vector<const CaseSummary*> cases;
  for (const CaseSummary& summary : group.cases) {
    if (!has_per_qp(summary)) continue;
    table.columns[0].cells.emplace_back(name_in_group(group, summary));
    cases.push_back(&summary);
  }
  if (cases.empty()) return "";
  add_per_qp(table, cases);
  return "\n" + bold("  QPs, one by one", style) + "\n" + render(table, style);
}

}  // namespace rdmameter
