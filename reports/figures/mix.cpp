// SPDX-License-Identifier: Apache-2.0
// Of an open loop's mix a line for each part: what was offered and reached, and how long it took.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// The median over those repetitions that have the number.
FigureColumn mix_number(const char* head, const char* unit, int decimals,
                        std::optional<double> (*of)(const LoadPart&)) {
  FigureColumn column = text_column({.head = head, .unit = unit}, [=](FigureLine line) {
    std::vector<double> values;
    for (const Row* row : line.summary->repetitions)
      if (line.part < row->load->mix.size())
        if (const std::optional<double> value = of(row->load->mix[line.part]))
          values.push_back(*value);
    return known_text(known_median(values), decimals);
  });
  column.missing = kTooFewSamples;
  return column;
}

std::optional<double> percentile_us(const LatencyData& latency, double percent) {
  const auto ns = reported_percentile(latency.histogram, percent);
  return ns ? std::optional(static_cast<double>(*ns) / 1e3) : std::nullopt;
}

bool has_mix(const CaseSummary& summary) {
  return !summary.repetitions.empty() &&
         std::ranges::all_of(summary.repetitions,
                             [](const Row* row) { return row->load && !row->load->mix.empty(); });
}

std::string mix_part(FigureLine line) {
  const LoadPart& part = line.summary->repetitions.front()->load->mix[line.part];
  return fmt::format("{} {}", printable(part.operation), part.size_bytes);
}

std::vector<FigureCsv> mix_csv() {
  std::vector<FigureCsv> list =
      csv_of_keys("load_mix_{}_", "/load/mix/{}",
                  {"operation", "size_bytes", "weight", "due", "completed", "offered_per_s",
                   "reached_per_s", "reached_gbps"});
  for (const char* time : {"response", "service", "lateness"})
    for (FigureCsv& column :
         csv_of_keys(fmt::format("load_mix_{{}}_{}_", time), fmt::format("/load/mix/{{}}/{}", time),
                     {"p50", "p99"}, "_ns"))
      list.push_back(std::move(column));
  return list;
}

}  // namespace

Figures mix_figures() {
  using Part = const LoadPart&;
  return {
      .title = "parts of the mix",
      .has = has_mix,
      .parts = [](const Row& row) { return row.load ? row.load->mix.size() : 0; },
      .columns = always(
          {text_column({.head = "part", .is_text = true}, mix_part),
           mix_number("offered", "/s", 0,
                      [](Part part) { return std::optional(part.offered_per_s); }),
           mix_number("reached", "/s", 0,
                      [](Part part) { return std::optional(part.reached_per_s); }),
           mix_number("payload", "Gb/s", 3,
                      [](Part part) { return std::optional(load_part_gbps(part)); }),
           mix_number("p50", "µs", 3, [](Part part) { return percentile_us(part.response, 50); }),
           mix_number("p99", "µs", 3, [](Part part) { return percentile_us(part.response, 99); }),
           mix_number("service p50", "µs", 3,
                      [](Part part) { return percentile_us(part.service, 50); }),
           mix_number("service p99", "µs", 3,
                      [](Part part) { return percentile_us(part.service, 99); }),
           mix_number("late p99", "µs", 3,
                      [](Part part) { return percentile_us(part.lateness, 99); })}),
      .csv = mix_csv()};
}

}  // namespace rdmameter
