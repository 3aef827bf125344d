// SPDX-License-Identifier: Apache-2.0
#include "reports/history/series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/compare/fingerprint.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"

namespace rdmameter {
namespace {

/// What was asked for, or the one to watch: bandwidth, else the first known, of latencies p50.
std::vector<const MetricInfo*> chosen_metrics(const HistoryCase& one, const SeriesChoice& choice) {
  std::vector<const MetricInfo*> known;
  for (const MetricInfo& metric : exported_metrics())
    if (one.numbers.contains(std::string(metric.key)) &&
        (choice.quantity.empty() || choice.quantity == metric.key))
      known.push_back(&metric);
  if (choice.every_metric || known.empty()) return known;
  const auto rate = std::ranges::find(known, Metric::gbps, &MetricInfo::metric);
  return {rate == known.end() ? known.front() : *rate};
}

/// The newest level is within the floor of what was before, or on the other side of it.
bool is_resolved(const SeriesChange& change, double newest) {
  const double back = std::log(newest / change.before);
  return std::abs(back) <= MeanShiftOptions{}.floor || (back > 0) != (change.after > change.before);
}

void acknowledge(std::vector<SeriesChange>& changes, const HistorySeries& series,
                 const Acknowledgement& acknowledged) {
  const bool meant = acknowledged.name == series.name &&
                     (acknowledged.metric.empty() || acknowledged.metric == series.metric->key);
  const auto point = std::ranges::find(series.points, acknowledged.since,
                                       [](const auto& each) { return each.entry->time; });
  if (!meant || point == series.points.end()) return;
  const auto at = static_cast<std::size_t>(point - series.points.begin());
  const auto distance = [at](const SeriesChange& change) {
    return change.at > at ? change.at - at : at - change.at;
  };
  const auto nearest = std::ranges::min_element(changes, {}, distance);
  if (nearest == changes.end() || distance(*nearest) > MeanShiftOptions{}.min_part) return;
  if (nearest->state == ChangeState::fresh) nearest->state = ChangeState::acknowledged;
  nearest->note = acknowledged.note;
}

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

/// A column a number. The least span is 4 % of the middle, so that noise does not look like peaks.
std::string spark_line(std::span<const double> values) {
  auto [low, high] = std::ranges::minmax(values);
  const double widen = std::max(0.0, 0.04 * (low + high) / 2 - (high - low)) / 2;
  low -= widen;
  high += widen;
  std::string line;
  for (const double value : values) {
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    line += kEighthsHigh[std::clamp(static_cast<int>(std::lround(share * 7)), 0, 7)];
  }
  return line;
}

/// "▲" below the columns of the spark line where something changed.
/// @param first  the point of the first column
std::string marks(const std::vector<SeriesChange>& changes, std::size_t first) {
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
  return fmt::format("{} {:+.1f} %: {} to {} {} since {}, {:.1f} standard errors",
                     better ? "better" : "worse", (change.after / change.before - 1) * 100,
                     shown.text(change.before), shown.text(change.after), shown.unit.name,
                     what(*series.points[change.at].entry), change.deviations);
}

/// What of the environment is not as it was one entry before.
std::string environment_text(const HistorySeries& series, const SeriesChange& change,
                             const TextStyle& style) {
  std::string text;
  const auto context = [](const HistoryEntry& entry) {
    return Json{{"rdmameter", entry.environment}};
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

constexpr std::string_view kStates[] = {"", "acknowledged", "resolved"};  ///< by ChangeState

/// "3 changes (1 acknowledged)"
std::string states_text(const std::vector<ChangeState>& changes) {
  std::string states;
  for (const ChangeState state : {ChangeState::acknowledged, ChangeState::resolved})
    if (const auto count = std::ranges::count(changes, state); count > 0)
      add_item(states, fmt::format("{} {}", count, kStates[static_cast<std::size_t>(state)]));
  return count_text(changes.size(), "change") + (states.empty() ? "" : " (" + states + ")");
}

/// "acknowledged (larger buffers): "; nothing of one that is new.
std::string state_text(const SeriesChange& change) {
  if (change.state == ChangeState::fresh) return "";
  return fmt::format("{}{}: ", kStates[static_cast<std::size_t>(change.state)],
                     change.note.empty() ? "" : fmt::format(" ({})", printable(change.note)));
}

}  // namespace

void check_quantity(const std::string& key) {
  if (!key.empty() && std::ranges::count(exported_metrics(), key, &MetricInfo::key) == 0)
    throw invalid_value(
        "--quantity", key,
        fmt::format("{}", fmt::join(mapped(exported_metrics(), &MetricInfo::key), ", ")));
}

std::vector<HistorySeries> series_of(const History& history, const SeriesChoice& choice) {
  check_quantity(choice.quantity);
  std::vector<HistorySeries> all;
  std::map<std::tuple<std::string, const MetricInfo*, std::string>, std::size_t> at;
  const std::size_t first = history.entries.size() - std::min(history.entries.size(), choice.last);
  for (std::size_t i = first; i < history.entries.size(); ++i) {
    for (const HistoryCase& one : history.entries[i].cases) {
      if (!is_chosen(one.name, choice.cases)) continue;
      const std::string machine = machine_of(history.entries[i].environment, one.name);
      for (const MetricInfo* metric : chosen_metrics(one, choice)) {
        const auto [where, is_new] = at.try_emplace({one.name, metric, machine}, all.size());
        if (is_new) all.push_back({one.name, machine, metric, {}});
        all[where->second].points.push_back(
            {&history.entries[i], one.numbers.at(std::string(metric->key))});
      }
    }
  }
  if (all.empty() && !choice.cases.empty())
    throw UsageError("--case '{}': no case of that name in this history.",
                     fmt::join(choice.cases, "', '"));
  return all;
}

std::vector<SeriesChange> changes_in(const HistorySeries& series,
                                     std::span<const Acknowledgement> acknowledged,
                                     std::size_t together) {
  std::vector<double> values;
  std::vector<std::size_t> points;  // of the values
  for (std::size_t i = 0; i < series.points.size(); ++i)
    if (const double value = series.points[i].number.median; value > 0) {
      values.push_back(value);
      points.push_back(i);
    }
  const auto part = [&](std::size_t from, std::size_t to) {
    return median({values.begin() + static_cast<std::ptrdiff_t>(from),
                   values.begin() + static_cast<std::ptrdiff_t>(to)});
  };
  const auto logarithms = mapped(values, [](double value) { return std::log(value); });
  std::vector<SeriesChange> changes;
  for (const MeanShift& shift : mean_shifts(logarithms, {.together = together}))
    changes.push_back({.at = points[shift.at],
                       .deviations = shift.deviations,
                       .before = part(shift.from, shift.at),
                       .after = part(shift.at, shift.to)});
  for (SeriesChange& change : changes)
    if (&change != &changes.back() && is_resolved(change, changes.back().after))
      change.state = ChangeState::resolved;
  for (const Acknowledgement& one : acknowledged) acknowledge(changes, series, one);
  return changes;
}

std::string show_history(const std::vector<HistorySeries>& all, const TextStyle& style) {
  std::string text;
  for (const HistorySeries& series : all) {
    const Shown shown = shown_as(series);
    const auto changes = changes_in(series, {}, all.size());
    const std::vector<double> values =
        mapped(series.points, [](const auto& point) { return point.number.median; });
    const HistoryNumber latest = series.points.back().number;
    const std::string after = fmt::format(" {} ± {} {}", shown.text(latest.median),
                                          shown.text(latest.half_range), shown.unit.name);
    const std::size_t margin = text_width(shown.text(std::ranges::max(values))) + 3;
    const std::size_t used = margin + text_width(after);
    const std::size_t columns = style.width > used + 10 ? style.width - used : 10;
    const std::size_t first = values.size() - std::min(columns, values.size());
    text += title_of(series, all, style) + pad_left(shown.text(values[first]) + " ", margin) +
            spark_line(std::span(values).subspan(first)) + after + "\n";
    if (const std::string line = marks(changes, first); !line.empty())
      text += std::string(margin, ' ') + line + "\n";
    for (const SeriesChange& change : changes)
      text += wrap("  ", series_change_text(series, change, shown), style.width);
  }
  if (all.empty()) text += "There is nothing in this history.\n";
  return style.utf8 ? text : to_ascii(text);
}

std::string check_history(const std::vector<HistorySeries>& all, const TextStyle& style,
                          std::span<const Acknowledgement> acknowledged, const std::string& since) {
  std::string text;
  std::vector<ChangeState> states;
  std::size_t with = 0, too_short = 0;
  for (const HistorySeries& series : all) {
    too_short += series.points.size() < MeanShiftOptions{}.min_series ? 1 : 0;
    auto changes = changes_in(series, acknowledged, all.size());
    std::erase_if(changes, [&](const SeriesChange& change) {
      const HistoryEntry& entry = *series.points[change.at].entry;
      return !since.empty() && epoch_seconds(entry.time) < epoch_seconds(since);
    });
    if (changes.empty()) continue;
    ++with;
    text += title_of(series, all, style);
    const Shown shown = shown_as(series);
    for (const SeriesChange& change : changes) {
      states.push_back(change.state);
      text +=
          wrap("  ", state_text(change) + series_change_text(series, change, shown), style.width) +
          environment_text(series, change, style);
    }
  }
  std::string last = fmt::format("{} in {} of {} series", states_text(states), with, all.size());
  if (too_short > 0)
    last += fmt::format("; {} with fewer than {} results, too few to tell", too_short,
                        MeanShiftOptions{}.min_series);
  last += with > 0 ? ". A change is a hint, not a verdict: the exit status stays 0." : ".";
  text += style.narrow ? wrap("", last, style.width) : last + "\n";
  return style.utf8 ? text : to_ascii(text);
}

}  // namespace rdmameter
