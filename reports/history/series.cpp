// SPDX-License-Identifier: Apache-2.0
#include "reports/history/series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/compare/fingerprint.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

const MetricInfo* metric_of(const std::string& key) {
  std::string known;
  for (const MetricInfo& metric : exported_metrics()) {
    if (metric.key == key) return &metric;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", metric.key);
  }
  throw invalid_value("--quantity", key, known);
}

/// What was asked for, or the one to watch: bandwidth, else p50, else the first known.
std::vector<const MetricInfo*> chosen_metrics(const HistoryCase& one, const SeriesChoice& choice) {
  const auto has = [&](const std::string& key) { return one.numbers.contains(key); };
  if (!choice.quantity.empty()) {
    if (!has(choice.quantity)) return {};
    return {metric_of(choice.quantity)};
  }
  std::vector<const MetricInfo*> known;
  for (const MetricInfo& metric : exported_metrics())
    if (has(std::string(metric.key))) known.push_back(&metric);
  if (choice.every_metric || known.empty()) return known;
  for (const char* key : {"gbps", "p50_ns"})
    if (has(key)) return {metric_of(key)};
  return {known.front()};
}

bool is_chosen(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& glob) {
           return glob == name || fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

/// The newest level is within the floor of what was before, or on the other side of it.
bool is_resolved(const SeriesChange& change, double newest) {
  const double back = std::log(newest / change.before);
  return std::abs(back) <= MeanShiftOptions{}.floor || (back > 0) != (change.after > change.before);
}

/// The index of the entry of that time; npos: the series does not have it.
std::size_t index_at(const HistorySeries& series, const std::string& time) {
  const auto found =
      std::ranges::find(series.points, time, [](const auto& point) { return point.entry->time; });
  return found == series.points.end() ? std::string::npos
                                      : static_cast<std::size_t>(found - series.points.begin());
}

void acknowledge(std::vector<SeriesChange>& changes, const HistorySeries& series,
                 const Acknowledgement& acknowledged) {
  const bool meant = acknowledged.name == series.name &&
                     (acknowledged.metric.empty() || acknowledged.metric == series.metric->key);
  const std::size_t at = meant ? index_at(series, acknowledged.since) : std::string::npos;
  if (at == std::string::npos) return;
  const auto distance = [at](const SeriesChange& change) {
    return change.at > at ? change.at - at : at - change.at;
  };
  const auto nearest = std::ranges::min_element(changes, {}, distance);
  if (nearest == changes.end() || distance(*nearest) > MeanShiftOptions{}.min_part) return;
  if (nearest->state == ChangeState::fresh) nearest->state = ChangeState::acknowledged;
  nearest->note = acknowledged.note;
}

}  // namespace

std::vector<HistorySeries> series_of(const History& history, const SeriesChoice& choice) {
  if (!choice.quantity.empty()) metric_of(choice.quantity);  // throws before anything is read
  std::vector<HistorySeries> all;
  std::map<std::tuple<std::string, const MetricInfo*, std::string>, std::size_t> at;
  const std::size_t first = history.entries.size() - std::min(history.entries.size(), choice.last);
  for (std::size_t i = first; i < history.entries.size(); ++i) {
    const std::string machine = machine_of(history.entries[i].environment);
    for (const HistoryCase& one : history.entries[i].cases) {
      if (!is_chosen(one.name, choice.cases)) continue;
      for (const MetricInfo* metric : chosen_metrics(one, choice)) {
        const auto [where, is_new] = at.try_emplace({one.name, metric, machine}, all.size());
        if (is_new) all.push_back({one.name, machine, metric, {}});
        all[where->second].points.push_back(
            {&history.entries[i], one.numbers.at(std::string(metric->key))});
      }
    }
  }
  if (all.empty() && !choice.cases.empty())
    throw UsageError(fmt::format("--case '{}': no case of that name in this history.",
                                 fmt::join(choice.cases, "', '")));
  return all;
}

std::vector<SeriesChange> changes_in(const HistorySeries& series,
                                     std::span<const Acknowledgement> acknowledged,
                                     std::size_t together) {
  std::vector<double> values;
  std::vector<std::size_t> at;  // of the points
  for (std::size_t i = 0; i < series.points.size(); ++i)
    if (const double value = series.points[i].number.median; value > 0) {
      values.push_back(value);
      at.push_back(i);
    }
  const std::vector<MeanShift> shifts = mean_shifts(logarithms(values), {.together = together});
  std::vector<SeriesChange> changes;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    const auto part = [&](std::size_t from, std::size_t to) {
      return median({values.begin() + static_cast<std::ptrdiff_t>(from),
                     values.begin() + static_cast<std::ptrdiff_t>(to)});
    };
    const std::size_t from = i == 0 ? 0 : shifts[i - 1].at;
    const std::size_t to = i + 1 < shifts.size() ? shifts[i + 1].at : values.size();
    changes.push_back({.at = at[shifts[i].at],
                       .deviations = shifts[i].deviations,
                       .before = part(from, shifts[i].at),
                       .after = part(shifts[i].at, to)});
  }
  for (SeriesChange& change : changes)
    if (&change != &changes.back() && is_resolved(change, changes.back().after))
      change.state = ChangeState::resolved;
  for (const Acknowledgement& one : acknowledged) acknowledge(changes, series, one);
  return changes;
}

}  // namespace rdmameter
