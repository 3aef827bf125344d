// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/fingerprint.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The unit of a series, and its decimals, by its latest number.
struct Shown {
  Unit unit;
  int decimals;
  std::string text(double value) const { return fixed(value / unit.size, decimals); }
};

Shown shown_as(const HistorySeries& series) {
  const double latest = series.points.back().number.median;
  const Unit unit =
      series.quantity->unit == "ns" ? time_unit(latest) : Unit{series.quantity->unit, 1};
  return {unit, decimals_for(std::vector{latest / unit.size}, 3)};
}

double largest_of(const HistorySeries& series) {
  double largest = 0;
  for (const HistorySeries::Point& point : series.points)
    largest = std::max(largest, point.number.median);
  return largest;
}

std::string percent_text(double before, double after) {
  if (before == 0) return "from 0";
  return fmt::format("{:+.1f} %", (after / before - 1) * 100);
}

/// A column a number. The least span is 4 % of the middle, so that noise does not look like peaks.
std::string spark_line(const HistorySeries& series, std::size_t columns) {
  const std::size_t count = std::min(columns, series.points.size());
  const std::span points(series.points.end() - static_cast<std::ptrdiff_t>(count),
                         series.points.end());
  double low = INFINITY, high = 0;
  for (const HistorySeries::Point& point : points) {
    low = std::min(low, point.number.median);
    high = std::max(high, point.number.median);
  }
  const double widen = std::max(0.0, 0.04 * (low + high) / 2 - (high - low)) / 2;
  low -= widen;
  high += widen;
  std::string line;
  for (const HistorySeries::Point& point : points) {
    const double share = high > low ? (point.number.median - low) / (high - low) : 0.5;
    line += kBlocks[std::clamp(static_cast<int>(std::lround(share * 7)), 0, 7)];
  }
  return line;
}

/// "▲" below the columns of the spark line where something changed.
std::string marks(const HistorySeries& series, const std::vector<SeriesChange>& changes,
                  std::size_t columns) {
  const std::size_t count = std::min(columns, series.points.size());
  const std::size_t first = series.points.size() - count;
  std::string line;
  for (const SeriesChange& change : changes)
    if (change.point.at >= first) line = pad_right(line, change.point.at - first) + "▲";
  return line;
}

std::string what(const HistoryEntry& entry) {
  const std::string day = entry.time.substr(0, 16);
  return printable(entry.commit.empty() ? day : entry.commit.substr(0, 12) + " (" + day + ")");
}

std::string series_change_text(const HistorySeries& series, const SeriesChange& change,
                               const Shown& shown) {
  const bool better = series.quantity->smaller_is_better == (change.after < change.before);
  return fmt::format("{} {}: {} to {} {} since {}, p = {:.3g}", better ? "better" : "worse",
                     percent_text(change.before, change.after), shown.text(change.before),
                     shown.text(change.after), shown.unit.name,
                     what(*series.points[change.point.at].entry), change.point.p_value);
}

/// What of the environment is not as it was one entry before.
std::string environment_text(const HistorySeries& series, const SeriesChange& change,
                             const TextStyle& style) {
  std::string text;
  const auto context = [](const HistoryEntry& entry) {
    return nlohmann::ordered_json{{"rdmameter", entry.environment}};
  };
  for (const std::string& line :
       environment_changes(context(*series.points[change.point.at - 1].entry),
                           context(*series.points[change.point.at].entry)))
    text += wrap("      the environment changed there: ", line, style.width);
  return text;
}

std::string title_of(const HistorySeries& series, const TextStyle& style) {
  return bold(fmt::format("{}, {}", printable(series.name), series.quantity->name), style) + "\n";
}

}  // namespace

std::string show_history(const std::vector<HistorySeries>& all, const TextStyle& style) {
  std::string text;
  for (const HistorySeries& series : all) {
    const Shown shown = shown_as(series);
    const auto changes = changes_in(series);
    const HistoryNumber latest = series.points.back().number;
    const std::string after = fmt::format(" {} ± {} {}", shown.text(latest.median),
                                          shown.text(latest.half_range), shown.unit.name);
    const std::size_t margin = text_width(shown.text(largest_of(series))) + 3;
    const std::size_t used = margin + text_width(after);
    const std::size_t columns = style.width > used + 10 ? style.width - used : 10;
    const std::size_t drawn = std::min(columns, series.points.size());
    const HistoryNumber first = series.points[series.points.size() - drawn].number;
    text += title_of(series, style) + pad_left(shown.text(first.median) + " ", margin) +
            spark_line(series, columns) + after + "\n";
    if (const std::string line = marks(series, changes, columns); !line.empty())
      text += std::string(margin, ' ') + line + "\n";
    for (const SeriesChange& change : changes)
      text += wrap("  ", series_change_text(series, change, shown), style.width);
  }
  if (all.empty()) text += "There is nothing in this history.\n";
  return style.utf8 ? text : to_ascii(text);
}

std::string check_history(const std::vector<HistorySeries>& all, const TextStyle& style) {
  std::string text;
  std::size_t found = 0, with = 0, too_short = 0;
  for (const HistorySeries& series : all) {
    const auto changes = changes_in(series);
    found += changes.size();
    too_short += series.points.size() < 2 * EDivisiveOptions{}.least_segment ? 1 : 0;
    if (changes.empty()) continue;
    ++with;
    text += title_of(series, style);
    const Shown shown = shown_as(series);
    for (const SeriesChange& change : changes)
      text += wrap("  ", series_change_text(series, change, shown), style.width) +
              environment_text(series, change, style);
  }
  text +=
      fmt::format("{} change{} in {} of {} cases", found, found == 1 ? "" : "s", with, all.size());
  if (too_short > 0)
    text += fmt::format("; {} with fewer than {} results, too few to tell", too_short,
                        2 * EDivisiveOptions{}.least_segment);
  text += found > 0 ? ". A change is a hint, not a verdict: the exit status stays 0.\n" : ".\n";
  return style.utf8 ? text : to_ascii(text);
}

}  // namespace rdmameter
