// SPDX-License-Identifier: Apache-2.0
#include "bench/running/until.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/result/row_json.h"
#include "reports/stats/ranks.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

constexpr double kUntilConfidence = 0.95;

[[noreturn]] void refuse_until(std::string_view text, const std::string& why) {
  throw UsageError(
      "--until '{}': {}; expected a relative precision of the median, such as 1%, or of metrics, "
      "such as p50=1%,p99=5% (metrics: {})",
      text, why, typed_metric_names());
}

UntilGoal read_goal(std::string_view text, std::string_view all) {
  UntilGoal goal{.metric = nullptr, .share = 0};
  std::string_view share = text;
  if (const std::size_t equals = text.find('='); equals != text.npos) {
    goal.metric = typed_metric(text.substr(0, equals));
    if (goal.metric == nullptr)
      refuse_until(all, fmt::format("there is no metric '{}'", text.substr(0, equals)));
    share = text.substr(equals + 1);
  }
  const auto [percent, unit] = number_and_unit(share);
  if (unit != "%" || !(percent >= 0.01 && percent <= 100))
    refuse_until(all, fmt::format("'{}' is no percentage from 0.01% to 100%", share));
  goal.share = percent / 100;
  return goal;
}

bool is_reached(const SettledMetric& metric) {
  const auto share = settled_share(metric);
  return share && *share <= metric.goal;
}

}  // namespace

std::vector<UntilGoal> read_until(const std::string& text) {
  std::vector<UntilGoal> goals;
  std::set<const MetricInfo*> seen;
  for (const std::string_view part : split(text, ",")) {
    goals.push_back(read_goal(part, text));
    if (!seen.insert(goals.back().metric).second) refuse_until(text, "names a metric twice");
  }
  return goals;
}

std::uint64_t read_budget(const std::string& text) {
  constexpr std::uint64_t kDay_ns = 86'400'000'000'000;
  return read_seconds_ns("--budget", text, 1, kDay_ns);
}

void Settling::take(Series& series, double value) {
  constexpr std::size_t kNoises = 512;
  series.values.push_back(value);
  const auto count = static_cast<double>(series.values.size());
  const double before = value - series.mean;
  series.mean += before / count;
  series.squares += before * (value - series.mean);
  if (count < 2 || !(series.mean > 0)) return;
  series.noise.push_back(std::sqrt(series.squares / (count - 1)) / series.mean);
  if (series.noise.size() > kNoises) series.noise.pop_front();
}

SettledMetric Settling::settled(const Series& series) {
  SettledMetric metric{.metric = std::string(series.metric->key), .goal = series.goal};
  metric.median = median(series.values);
  const Interval bounds = median_interval(series.values, kUntilConfidence);
  if (!std::isfinite(bounds.low)) return metric;
  metric.low = bounds.low;
  metric.high = bounds.high;
  return metric;
}

/// As NVIDIA's nvbench decides (its "stdrel" criterion): the noise of the values so far, as it was
/// after each of the latest ones, has come to rest within 5 % of what it is now. More values will
/// not make it smaller.
bool Settling::noise_converged(const Series& series) {
  constexpr std::size_t kEnough = 64;
  if (series.noise.size() < kEnough) return false;
  const double now = series.noise.back();
  double squares = 0;
  for (const double noise : series.noise) squares += (noise - now) * (noise - now);
  return std::sqrt(squares / static_cast<double>(series.noise.size())) < 0.05 * now;
}

std::optional<UntilData> Settling::add(const Row& row, double spent_ns) {
  using enum UntilData::Ended;
  if (series_.empty())
    for (const UntilGoal& goal : until_.goals)
      if (const auto* metric = goal.metric == nullptr ? watched_metric(row) : goal.metric)
        series_.push_back({metric, goal.share});
  UntilData data;
  const auto end = [&](UntilData::Ended why) {
    data.ended = why;
    return data;
  };
  for (Series& series : series_)
    if (const auto value = series.metric->value(row))
      take(series, *value);
    else
      data.metrics.push_back({.metric = std::string(series.metric->key), .goal = series.goal});
  if (series_.empty() || !data.metrics.empty()) return end(not_measured);

  const auto budget_ns = static_cast<double>(until_.budget_ns);
  const bool spent = spent_ns >= budget_ns,
             last = std::max(count(), row.repetition + 1) >= until_.repetitions;
  if (!spent && !last && count() < next_look_) return std::nullopt;
  // Each look may stop by chance, so there are fewer of them as repetitions go on.
  next_look_ = count() + std::max<std::uint64_t>(1, count() / 20);
  for (const Series& series : series_) data.metrics.push_back(settled(series));
  if (count() >= kMinUntilRepetitions && std::ranges::all_of(data.metrics, is_reached))
    return end(reached);
  if (last) return end(repetitions);
  if (spent) return end(budget);
  for (std::size_t i = 0; i < series_.size(); ++i) {
    // An interval narrows with the root of the repetitions.
    const double short_of = settled_share(data.metrics[i]).value_or(0) / series_[i].goal;
    const double needed = short_of * short_of;
    const bool beyond =
        needed * spent_ns > budget_ns ||
        needed * static_cast<double>(count()) > static_cast<double>(until_.repetitions);
    if (beyond && noise_converged(series_[i])) return end(noise);
  }
  return std::nullopt;
}

}  // namespace rdmameter
