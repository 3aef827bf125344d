// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/stall_text.h"

#include <fmt/core.h>

#include "reports/summary/loss_counters.h"
#include "reports/summary/metric.h"
#include "reports/summary/stalls.h"
#include "reports/text/table.h"

namespace rdmameter {
namespace {

std::string expected_text(const StallReport& report, StallCause cause) {
  const std::optional<double>& timer =
      cause == StallCause::timeout ? report.timeout_ns : report.rnr_ns;
  const bool has_timer = cause == StallCause::timeout || cause == StallCause::rnr;
  return has_timer && timer ? metric_text(Metric::max, *timer) : kUnknown;
}

Table table_of(const StallReport& report) {
  Table table;
  table.key_columns = 1;
  table.columns = {{"cause"}, {"samples"}, {"stall", "median"}, {"longest"}, {"timer"}};
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    const auto cause = static_cast<StallCause>(i);
    const Stalls& stalls = report.of(cause);
    const auto time = [&](double ns) {
      return stalls.samples == 0 ? kUnknown : metric_text(Metric::max, ns);
    };
    table.add_line({name_of(cause), fmt::format("{}", stalls.samples), time(stalls.median_ns),
                    time(stalls.max_ns), expected_text(report, cause)});
  }
  return table;
}

/// @param uncounted  not empty
std::string uncounted_text(const CaseSummary& summary, std::span<const UncountedEnd> uncounted,
                           const TextStyle& style) {
  const auto line = [&](const UncountedEnd& each, std::string_view end) {
    const std::string driver = printable(each.driver);
    return wrap("  ",
                fmt::format("No loss counters are known for {} ({}){}",
                            driver.starts_with("the ") ? driver : "driver " + driver, end,
                            sends_requests(summary, each.end)
                                ? ": a stall whose cause was not counted is judged by its length."
                                : ", which sent no requests here."),
                style.width);
  };
  const UncountedEnd &first = uncounted.front(), &last = uncounted.back();
  if (uncounted.size() == 1) return line(first, first.end);
  if (first.driver == last.driver) return line(first, "both ends");
  return line(first, first.end) + line(last, last.end);
}

/// @param uncounted  ends whose driver has no known counter of loss
std::string counters_text(const StallReport& report, const CaseSummary& summary,
                          std::span<const UncountedEnd> uncounted, const TextStyle& style) {
  if (!report.counted)
    return wrap("  ", "No driver here counts: causes rest on the length of the stalls alone.",
                style.width);
  std::string text;
  for (const LossCounter& counter : report.counters)
    text += wrap("  ",
                 fmt::format("{} {} {}: {}", counter.end, printable(counter.name), counter.events,
                             counter.meaning),
                 style.width);
  if (!uncounted.empty()) text += uncounted_text(summary, uncounted, style);
  return text.empty() ? wrap("  ", "No counter of loss or congestion changed.", style.width) : text;
}

std::string stall_text(const CaseSummary& summary, std::span<const UncountedEnd> uncounted,
                       const TextStyle& style) {
  const auto report = stalls_of(summary, uncounted);
  if (!report) return "";
  std::uint64_t stalled = 0;
  for (const Stalls& stalls : report->causes) stalled += stalls.samples;
  const std::string what =
      report->typical_ns == 0
          ? fmt::format("All of {} samples are as long as a timer.", report->samples)
          : fmt::format("{} of {} samples took more than {} times the {} ({}).", stalled,
                        report->samples, kStalledTimes,
                        report->mostly_stalled ? "smallest, since the median is a stall" : "median",
                        metric_text(Metric::max, report->typical_ns));
  return (stalled == 0 ? "" : render(table_of(*report), style)) + wrap("  ", what, style.width) +
         counters_text(*report, summary, uncounted, style);
}

}  // namespace

std::string loss_report(std::span<const Row> rows, const nlohmann::ordered_json& context,
                        const TextStyle& style) {
  std::string text;
  const std::vector<UncountedEnd> uncounted = ends_without_loss_counters(context);
  for (const Group& group : group_rows(rows))
    for (const CaseSummary& summary : group.cases)
      if (const std::string stalls = stall_text(summary, uncounted, style); !stalls.empty())
        text += "\n" + bold(printable(summary.repetitions.front()->name) + ": stalls", style) +
                "\n" + stalls;
  return text;
}

}  // namespace rdmameter
