// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/mix_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "reports/stats/sample.h"
#include "reports/text/case_text.h"

namespace rdmameter {
namespace {

/// @param of  gives nothing where a repetition has too few samples
template <class Of>
std::string median_of(const MixLine& line, int decimals, Of of) {
  std::vector<double> values;
  for (const Row* row : line.summary->repetitions)
    if (line.part < row->load->mix.size())
      if (const std::optional<double> value = of(row->load->mix[line.part]))
        values.push_back(*value);
  return values.empty() ? kUnknown : fmt::format("{:.{}f}", median(std::move(values)), decimals);
}

std::optional<double> percentile_us(const LatencyData& latency, double percent) {
  const auto ns = reported_percentile(latency.histogram, percent);
  return ns ? std::optional(static_cast<double>(*ns) / 1e3) : std::nullopt;
}

}  // namespace

bool has_mix(const CaseSummary& summary) {
  return !summary.repetitions.empty() &&
         std::ranges::all_of(summary.repetitions,
                             [](const Row* row) { return row->load && !row->load->mix.empty(); });
}

std::vector<MixLine> mix_lines(const CaseSummary& summary) {
  std::vector<MixLine> lines;
  for (std::size_t p = 0; p < summary.repetitions.front()->load->mix.size(); ++p)
    lines.push_back({&summary, p});
  return lines;
}

void add_mix(Table& table, const std::vector<MixLine>& lines) {
  using Part = const LoadPart&;
  std::vector<Table::Column> columns = {
      {.head = "part", .is_text = true},     {.head = "offered", .unit = "/s"},
      {.head = "reached", .unit = "/s"},     {.head = "payload", .unit = "Gb/s"},
      {.head = "p50", .unit = "µs"},         {.head = "p99", .unit = "µs"},
      {.head = "service p50", .unit = "µs"}, {.head = "service p99", .unit = "µs"},
      {.head = "late p99", .unit = "µs"}};
  for (const MixLine& line : lines) {
    const LoadPart& first = line.summary->repetitions.front()->load->mix[line.part];
    const auto number = [&](int decimals, auto of) { return median_of(line, decimals, of); };
    const std::vector<std::string> cells = {
        fmt::format("{} {}", printable(first.operation), first.size_bytes),
        number(0, [](Part part) { return std::optional(part.offered_per_s); }),
        number(0, [](Part part) { return std::optional(part.reached_per_s); }),
        number(3, [](Part part) { return std::optional(load_part_gbps(part)); }),
        number(3, [](Part part) { return percentile_us(part.response, 50); }),
        number(3, [](Part part) { return percentile_us(part.response, 99); }),
        number(3, [](Part part) { return percentile_us(part.service, 50); }),
        number(3, [](Part part) { return percentile_us(part.service, 99); }),
        number(3, [](Part part) { return percentile_us(part.lateness, 99); })};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.emplace_back(cells[i]);
  }
  for (Table::Column& column : columns) table.columns.push_back(std::move(column));
}

std::string mix_table(const Group& group, const TextStyle& style) {
  Table table;
  table.key_columns = 2;
  table.columns = text_columns({"case"});
  std::vector<MixLine> lines;
  for (const CaseSummary& summary : group.cases) {
    if (!has_mix(summary)) continue;
    for (const MixLine& line : mix_lines(summary)) {
      table.add_line({name_in_group(group, summary)});
      lines.push_back(line);
    }
  }
  if (lines.empty()) return "";
  add_mix(table, lines);
  return "\n" + bold("  parts of the mix", style) + "\n" + render(table, style);
}

}  // namespace rdmameter
