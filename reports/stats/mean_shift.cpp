// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/mean_shift.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "reports/stats/sample.h"
#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// The median of a value and of up to two neighbours on either side.
double median_around(std::span<const double> series, std::size_t at) {
  constexpr std::size_t kReach = 2;
  const std::size_t from = at < kReach ? 0 : at - kReach;
  const auto part = series.subspan(from, std::min(at + kReach + 1, series.size()) - from);
  return median({part.begin(), part.end()});
}

/// Single values far from their neighbours, held to three deviations: a run that was disturbed is
/// no change. A change of level stays.
std::vector<double> held(std::span<const double> series) {
  constexpr double kDeviations = 3;
  std::vector<double> middles, distances;
  for (std::size_t i = 0; i < series.size(); ++i) {
    middles.push_back(median_around(series, i));
    distances.push_back(std::abs(series[i] - middles[i]));
  }
  const double limit = kDeviations * kMadOfNormal * median(distances);
  std::vector<double> values;
  for (std::size_t i = 0; i < series.size(); ++i)
    values.push_back(std::clamp(series[i], middles[i] - limit, middles[i] + limit));
  return values;
}

/// Half the mean square of differences of values `lag` apart: the variance less their covariance.
/// The tenth that differs most is left out, so that changes of level are.
double half_square(std::span<const double> series, std::size_t lag) {
  constexpr double kKept = 0.9, kKeptOfNormal = 0.6233;  // mean of chi squared below its quantile
  std::vector<double> squares;
  for (std::size_t i = lag; i < series.size(); ++i)
    squares.push_back((series[i] - series[i - lag]) * (series[i] - series[i - lag]));
  std::ranges::sort(squares);
  squares.resize(static_cast<std::size_t>(std::ceil(kKept * static_cast<double>(squares.size()))));
  return mean(squares) / 2 / kKeptOfNormal;
}

/// Of a first-order autoregression: the variance of the mean of very many values, times how many
/// they are.
double long_run_variance(std::span<const double> series) {
  constexpr double kMaxCorrelation = 0.9;  // beyond, a series and its trend cannot be told apart
  const double next = half_square(series, 1), second = half_square(series, 2);
  if (next <= 0) return second;
  const double correlation = std::clamp(second / next - 1, 0.0, kMaxCorrelation);
  const double variance = next / (1 - correlation);
  return variance * (1 + correlation) / (1 - correlation);
}

/// As improbable for a variance that so many values have told as `deviations` are for a known one.
/// Series that are looked at together share the chance.
double threshold_for(std::size_t values, const MeanShiftOptions& options) {
  const double chance = student_t_above(options.threshold, INFINITY) /
                        static_cast<double>(std::max<std::size_t>(1, options.together));
  return student_t_quantile(chance, static_cast<double>(values) / 2);  // differences overlap
}

/// How far a sinusoid of amplitude 1 can move the mean of so many values.
double season_of_mean(double values, double period) {
  return std::min(2 / std::numbers::pi, period / (std::numbers::pi * values));
}

/// So that series without any noise are split where they change, too.
constexpr double kMinVariance = 1e-12;

class Splitter {
 public:
  Splitter(const std::vector<double>& series, const MeanShiftOptions& options)
      : options_(options),
        threshold_(threshold_for(series.size(), options)),
        long_run_(long_run_variance(series)),
        sums_(series.size() + 1),
        bounds_{0, series.size()} {
    std::partial_sum(series.begin(), series.end(), sums_.begin() + 1);
  }

  std::vector<MeanShift> split_all() {
    split(0, sums_.size() - 1);
    std::ranges::sort(bounds_);
    std::vector<MeanShift> shifts;
    for (std::size_t i = 1; i + 1 < bounds_.size(); ++i)
      shifts.push_back(shift_at(bounds_[i - 1], bounds_[i], bounds_[i + 1]));
    return shifts;
  }

 private:
  double mean_of(std::size_t from, std::size_t to) const {
    return (sums_[to] - sums_[from]) / static_cast<double>(to - from);
  }

  MeanShift shift_at(std::size_t from, std::size_t at, std::size_t to) const {
    const auto before = static_cast<double>(at - from), after = static_cast<double>(to - at);
    const double shift = mean_of(at, to) - mean_of(from, at);
    const double season = options_.season * (season_of_mean(before, options_.period) +
                                             season_of_mean(after, options_.period));
    const double error = std::sqrt((long_run_ + kMinVariance) * (1 / before + 1 / after));
    const double beyond = std::abs(shift) - std::max(options_.floor, season);
    const double deviations = (std::abs(shift) - season) / error;
    return {.from = from,
            .at = at,
            .to = to,
            .shift = shift,
            .deviations = beyond > 0 ? deviations : 0};
  }

  void split(std::size_t from, std::size_t to) {
    if (to - from < options_.min_series) return;
    MeanShift best;
    for (std::size_t at = from + options_.min_part; at + options_.min_part <= to; ++at) {
      const MeanShift shift = shift_at(from, at, to);
      if (shift.deviations > best.deviations) best = shift;
    }
    if (best.deviations <= threshold_) return;
    bounds_.push_back(best.at);
    split(from, best.at);
    split(best.at, to);
  }

  const MeanShiftOptions options_;
  double threshold_, long_run_;
  std::vector<double> sums_;         ///< of the values before each
  std::vector<std::size_t> bounds_;  ///< of the parts
};

}  // namespace

std::vector<MeanShift> mean_shifts(std::span<const double> series,
                                   const MeanShiftOptions& options) {
  if (series.size() < std::max<std::size_t>(options.min_series, 3)) return {};
  return Splitter(held(series), options).split_all();
}

}  // namespace rdmameter
