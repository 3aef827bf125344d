// SPDX-License-Identifier: Apache-2.0
// Late samples by cause, and the stalls of the poll loop behind them.

#include <fmt/format.h>

#include <algorithm>

#include "reports/figures/figures.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostStalls = 5;

/// Over all repetitions of a case.
FigureColumn blamed(const char* cause, HistogramData BlameData::*samples) {
  return sum_column(cause, [samples](const Row& row) { return ((*row.blame).*samples).count; });
}

/// The least limit of its repetitions.
std::string blame_limit_text(FigureLine line) {
  const auto least = std::ranges::min_element(line.summary->repetitions, {},
                                              [](const Row* row) { return row->blame->limit_ns; });
  return fmt::format("{:.6g}", static_cast<double>((*least)->blame->limit_ns) * 1e-3);
}

std::string stalls_text(const Group& group, const TextStyle& style) {
  std::string lines;
  for (const BlameData::Stall& stall : longest_stalls(cases_of(group), kMostStalls))
    lines +=
        wrap(fmt::format("  {:>8.1f} µs ", static_cast<double>(stall.duration_ns) * 1e-3),
             fmt::format("at {} (monotonic {} s)", printable(stall.utc), monotonic_text(stall)),
             style.width);
  return lines.empty() ? "" : dim("  The longest stalls of the initiator's loop:\n", style) + lines;
}

}  // namespace

std::vector<BlameData::Stall> longest_stalls(const std::vector<const CaseSummary*>& cases,
                                             std::size_t most) {
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

Figures blame_figures() {
  return {.title = "late samples by cause",
          .page_title = "Late samples by cause, of all repetitions",
          .has = all_have<&Row::blame>,
          .columns = {text_column({.head = "from", .unit = "µs"}, blame_limit_text),
                      sum_column("late", [](const Row& row) { return row.blame->late; }),
                      blamed("local", &BlameData::local), blamed("peer", &BlameData::peer),
                      blamed("path", &BlameData::path), blamed("undecided", &BlameData::undecided)},
          .remark = [](const FigureLines&) -> std::string {
            return "Samples of that length or more, of all repetitions; of a ping-pong whole round "
                   "trips.";
          },
          .beneath = stalls_text};
}

}  // namespace rdmameter
