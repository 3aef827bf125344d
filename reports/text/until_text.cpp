// SPDX-License-Identifier: Apache-2.0
#include "reports/text/until_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result/row_json.h"
#include "reports/summary/metric.h"

namespace rdmameter {
namespace {

/// "p50" of "p50_ns"; a key that is no metric of ours is told as it is.
std::string metric_name(const std::string& key) {
  const auto& all = metrics();
  const auto found = std::ranges::find(all, key, &MetricInfo::key);
  return found == all.end() ? printable(key) : std::string(found->name);
}

std::string percent_text(double share) {
  return fmt::format("±{:.2g} %", share * 100);
}

constexpr auto kWhy = names_to<UntilData::Ended::not_measured>(
    "reached", "not reached, no more repetitions are allowed (--repetitions)",
    "not reached, the time is up (--budget)", "not reached, the noise does not become smaller",
    "not known, it was not measured");

}  // namespace

std::string until_text(const Row& row) {
  if (!row.until) return "";
  std::string goals, settled;
  for (const SettledMetric& metric : row.until->metrics) {
    add_item(goals, fmt::format("{} {}", metric_name(metric.metric), percent_text(metric.goal)));
    const auto share = settled_share(metric);
    add_item(settled, share ? percent_text(*share) : "not known");
  }
  return fmt::format("until{}: {} after {} repetitions{}", goals.empty() ? "" : " " + goals,
                     name_in(kWhy, row.until->ended), row.repetition + 1,
                     settled.empty() ? "" : " (" + settled + ")");
}

std::string until_report(std::span<const Row> rows, const TextStyle& style) {
  std::size_t asked = 0, reached = 0;
  std::string others;
  for (const Row& row : rows) {
    if (!row.until) continue;
    ++asked;
    if (row.until->ended == UntilData::Ended::reached)
      ++reached;
    else
      others +=
          wrap("    ", fmt::format("{}: {}", printable(row.name), until_text(row)), style.width);
  }
  if (asked == 0) return "";
  return wrap("  ",
              fmt::format("Medians as well known as --until asks: of {} of {} cases.", reached,
                          asked),
              style.width) +
         others;
}

}  // namespace rdmameter
