// SPDX-License-Identifier: Apache-2.0
#include "reports/history/history_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/fingerprint.h"
#include "reports/summary/facts.h"
#include "reports/summary/unit.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kEighthsHigh[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

/// The unit of a series, and its decimals, by its latest number.
struct Shown {
  Unit unit;
  int decimals;
  std::string text(double value) const { return fixed(value / unit.size, decimals); }
};

Shown shown_as(const HistorySeries& series) {
  const double latest = series.points.back().number.median;
  const Unit unit = series.metric->unit == "ns" ? time_unit(latest) : Unit{series.metric->unit, 1};
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
    line += kEighthsHigh[std::clamp(static_cast<int>(std::lround(share * 7)), 0, 7)];
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
    if (change.at >= first) line = pad_right(line, change.at - first) + "▲";
  return line;
}

std::string what(const HistoryEntry& entry) {
  const std::string day = entry.time.substr(0, 16);
  return printable(entry.commit.empty() ? day : entry.commit.substr(0, 12) + " (" + day + ")");
}

std::string series_change_text(const HistorySeries& series, const SeriesChange& change,
                               const Shown& shown) {
  const bool better = series.metric->higher_is_better != (change.after < change.before);
  return fmt::format("{} {}: {} to {} {} since {}, {:.1f} standard errors",
                     better ? "better" : "worse", percent_text(change.before, change.after),
                     shown.text(change.before), shown.text(change.after), shown.unit.name,
                     what(*series.points[change.at].entry), change.deviations);
}

/// What of the environment is not as it was one entry before.
std::string environment_text(const HistorySeries& series, const SeriesChange& change,
                             const TextStyle& style) {
  std::string text;
  const auto context = [](const HistoryEntry& entry) {
    return nlohmann::ordered_json{{"rdmameter", entry.environment}};
  };
  for (const std::string& line : environment_changes(context(*series.points[change.at - 1].entry),
                                                     context(*series.points[change.at].entry)))
    text += wrap("      the environment changed there: ", line, style.width);
  return text;
}

/// With the machine where the case has series of several.
std::string title_of(const HistorySeries& series, const std::vector<HistorySeries>& all,
                     const TextStyle& style) {
  const std::string title = fmt::format("{}, {}", printable(series.name), series.metric->name);
  const auto machines = std::ranges::count_if(all, [&](const HistorySeries& each) {
    return each.name == series.name && each.metric == series.metric;
  });
  return bold(style.narrow ? name_lines(title, style.width) : title + "\n", style) +
         (machines > 1 ? wrap("  on ", printable(series.machine), style.width) : "");
}

struct StateCounts {
  std::size_t all = 0, acknowledged = 0, resolved = 0;

  void add(ChangeState state) {
    ++all;
    acknowledged += state == ChangeState::acknowledged ? 1 : 0;
    resolved += state == ChangeState::resolved ? 1 : 0;
  }

  /// "3 changes (1 acknowledged)"
  std::string text() const {
    std::string states;
    if (acknowledged > 0) states = fmt::format("{} acknowledged", acknowledged);
    if (resolved > 0) states += fmt::format("{}{} resolved", states.empty() ? "" : ", ", resolved);
    return count_text(all, "change") + (states.empty() ? "" : fmt::format(" ({})", states));
  }
};

/// "acknowledged (larger buffers): "; nothing of one that is new.
std::string state_text(const SeriesChange& change) {
  const std::string note = change.note.empty() ? "" : fmt::format(" ({})", printable(change.note));
  switch (change.state) {
    case ChangeState::fresh:
      return "";
    case ChangeState::acknowledged:
      return fmt::format("acknowledged{}: ", note);
    case ChangeState::resolved:
      return fmt::format("resolved{}: ", note);
  }
  return "";
}

bool is_before(const HistoryEntry& entry, const std::string& since) {
  return !since.empty() && epoch_seconds(entry.time) < epoch_seconds(since);
}

}  // namespace

std::string show_history(const std::vector<HistorySeries>& all, const TextStyle& style) {
  std::string text;
  for (const HistorySeries& series : all) {
    const Shown shown = shown_as(series);
    const auto changes = changes_in(series, {}, all.size());
    const HistoryNumber latest = series.points.back().number;
    const std::string after = fmt::format(" {} ± {} {}", shown.text(latest.median),
                                          shown.text(latest.half_range), shown.unit.name);
    const std::size_t margin = text_width(shown.text(largest_of(series))) + 3;
    const std::size_t used = margin + text_width(after);
    const std::size_t columns = style.width > used + 10 ? style.width - used : 10;
    const std::size_t drawn = std::min(columns, series.points.size());
    const HistoryNumber first = series.points[series.points.size() - drawn].number;
    text += title_of(series, all, style) + pad_left(shown.text(first.median) + " ", margin) +
            spark_line(series, columns) + after + "\n";
    if (const std::string line = marks(series, changes, columns); !line.empty())
      text += std::string(margin, ' ') + line + "\n";
    for (const SeriesChange& change : changes)
      text += wrap("  ", series_change_text(series, change, shown), style.width);
  }
  if (all.empty()) text += "There is nothing in this history.\n";
  return style.utf8 ? text : to_ascii(text);
}

std::string check_history(const std::vector<HistorySeries>& all, const TextStyle& style,
                          const CheckOptions& options) {
  std::string text;
  StateCounts counts;
  std::size_t with = 0, too_short = 0;
  for (const HistorySeries& series : all) {
    too_short += series.points.size() < MeanShiftOptions{}.min_series ? 1 : 0;
    auto changes = changes_in(series, options.acknowledged, all.size());
    std::erase_if(changes, [&](const SeriesChange& change) {
      return is_before(*series.points[change.at].entry, options.since);
    });
    if (changes.empty()) continue;
    ++with;
    text += title_of(series, all, style);
    const Shown shown = shown_as(series);
    for (const SeriesChange& change : changes) {
      counts.add(change.state);
      text +=
          wrap("  ", state_text(change) + series_change_text(series, change, shown), style.width) +
          environment_text(series, change, style);
    }
  }
  std::string last = fmt::format("{} in {} of {} series", counts.text(), with, all.size());
  if (too_short > 0)
    last += fmt::format("; {} with fewer than {} results, too few to tell", too_short,
                        MeanShiftOptions{}.min_series);
  last += with > 0 ? ". A change is a hint, not a verdict: the exit status stays 0." : ".";
  text += style.narrow ? wrap("", last, style.width) : last + "\n";
  return style.utf8 ? text : to_ascii(text);
}

}  // namespace rdmameter
