// SPDX-License-Identifier: Apache-2.0
// Of an open loop's mix a line for each part: what was offered and reached, and how long it took.
#include <fmt/format.h>

#include <algorithm>

#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

const std::vector<LoadPart>& mix_of(const Row& row) {
  static const std::vector<LoadPart> kNone;
  return row.load ? row.load->mix : kNone;
}

FigureColumn time_column(const char* head, LatencyData LoadPart::*time, double percent) {
  const auto us_of = [=](const LoadPart& part) {
    return reported_percentile((part.*time).histogram, percent, 1e3);
  };
  return part_column({head, "µs"}, 3, mix_of, us_of, kTooFewSamples);
}

std::string mix_part(FigureLine line) {
  const LoadPart& part = mix_of(line.summary->first())[line.part];
  return fmt::format("{} {}", printable(part.operation), part.size_bytes);
}

std::vector<FigureCsv> mix_csv() {
  std::vector<FigureCsv> list =
      csv_of_keys("load_mix_{}_", "/load/mix/{}",
                  {"operation", "size_bytes", "weight", "due", "completed", "offered_per_s",
                   "reached_per_s", "reached_gbps"});
  for (const char* time : {"response", "service", "lateness"})
    std::ranges::move(csv_of_keys(fmt::format("load_mix_{{}}_{}_", time),
                                  fmt::format("/load/mix/{{}}/{}", time), {"p50", "p99"}, "_ns"),
                      std::back_inserter(list));
  return list;
}

}  // namespace

Figures mix_figures() {
  return {.title = "parts of the mix",
          .has = all_have<mix_of>,
          .parts = [](const Row& row) { return mix_of(row).size(); },
          .columns = {text_column({.head = "part", .is_text = true}, mix_part),
                      part_column({"offered", "/s"}, 0, mix_of, &LoadPart::offered_per_s),
                      part_column({"reached", "/s"}, 0, mix_of, &LoadPart::reached_per_s),
                      part_column({"payload", "Gb/s"}, 3, mix_of, load_part_gbps),
                      time_column("p50", &LoadPart::response, 50),
                      time_column("p99", &LoadPart::response, 99),
                      time_column("service p50", &LoadPart::service, 50),
                      time_column("service p99", &LoadPart::service, 99),
                      time_column("late p99", &LoadPart::lateness, 99)},
          .csv = mix_csv()};
}

}  // namespace rdmameter
