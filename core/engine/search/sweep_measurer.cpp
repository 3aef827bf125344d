// SPDX-License-Identifier: Apache-2.0
#include "core/engine/search/sweep_measurer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kFactor = 4, kMost = 1'000'000'000;  // rates [1/s]
constexpr double kBeyond = 1.25;        // of what was reached: surely more than can be
constexpr int kMostBeyond = 8;          // times that this was not enough; each time it is more
constexpr double kUnloaded = 1.0 / 20;  // of saturation
constexpr double kWidth = 0.02;         // of the rate that is looked for
constexpr int kTimes = 3;
constexpr std::array kCurve{0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.95};  // of saturation

/// The user has ended the sweep.
struct Ended {};

double upper_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::uint64_t whole(double rate_per_s) {
  return static_cast<std::uint64_t>(
      std::clamp(std::round(rate_per_s), 1.0, static_cast<double>(kMost)));
}

class Search {
 public:
  explicit Search(const MeasureRate& measure) : measure_(measure) {}

  SweepData run(std::uint64_t slo) {
    try {
      find_saturation();
      if (!data_.saturation_per_s) return std::move(data_);
      find_unloaded();
      if (!data_.unloaded_p99_ns) return std::move(data_);
      find_slo_rate(slo);
      fill_curve();
    } catch (const Ended&) {
    }
    return std::move(data_);
  }

 private:
  SweepPoint measure(std::uint64_t rate_per_s, Effort effort) {
    const std::optional<SweepPoint> point = measure_(rate_per_s, effort);
    if (!point) throw Ended{};
    data_.points.push_back(*point);
    return *point;
  }

  /// @return  nothing: more than could ever be offered is kept up with
  std::optional<double> rough_saturation() {
    std::uint64_t rate = kFirstOfSweep;
    SweepPoint point = measure(rate, Effort::rough);
    while (!point.saturated) {
      if (rate == kMost) return std::nullopt;
      rate = std::min(rate * kFactor, kMost);
      point = measure(rate, Effort::rough);
      if (point.saturated) return point.reached_per_s;
    }
    while (rate > 1) {
      rate = std::max<std::uint64_t>(rate / kFactor, 1);
      const SweepPoint lower = measure(rate, Effort::rough);
      if (!lower.saturated) break;
      point = lower;
    }
    return point.reached_per_s;
  }

  void find_saturation() {
    std::optional<double> reached = rough_saturation();
    double factor = kBeyond;  // a machine that paused in the rough ones would be far below
    for (int i = 0; reached && i < kMostBeyond; ++i) {
      const std::uint64_t beyond = whole(*reached * factor);
      std::vector<double> saturated;
      for (int time = 0; time < kTimes; ++time)
        if (const SweepPoint point = measure(beyond, Effort::full); point.saturated)
          saturated.push_back(point.reached_per_s);
      if (2 * saturated.size() > kTimes) {
        data_.saturation_per_s = upper_median(saturated);
        return;
      }
      reached = static_cast<double>(beyond);  // which was kept up with
      factor = std::min(factor * factor, static_cast<double>(kFactor));
    }
  }

  void find_unloaded() {
    std::vector<double> p99_ns;
    for (int time = 0; time < kTimes; ++time)
      if (const auto p99 = measure(whole(*data_.saturation_per_s * kUnloaded), Effort::full).p99_ns)
        p99_ns.push_back(*p99);
    if (!p99_ns.empty()) data_.unloaded_p99_ns = upper_median(p99_ns);
  }

  bool keeps_slo(const SweepPoint& point) const {
    return !point.saturated && point.p99_ns && *point.p99_ns <= *data_.slo_ns;
  }

  bool within_slo(std::uint64_t rate_per_s) {
    int within = 0, beyond = 0;
    while (within <= kTimes / 2 && beyond <= kTimes / 2)
      ++(keeps_slo(measure(rate_per_s, Effort::full)) ? within : beyond);
    return within > beyond;
  }

  void find_slo_rate(std::uint64_t slo) {
    const auto times = static_cast<double>(slo & ~kTimesUnloaded);
    data_.slo_ns = (slo & kTimesUnloaded) != 0 ? times * *data_.unloaded_p99_ns : times;
    std::uint64_t low = whole(*data_.saturation_per_s * kUnloaded),
                  high = whole(*data_.saturation_per_s);
    if (*data_.unloaded_p99_ns > *data_.slo_ns) {
      data_.slo_rate_per_s = 0;
      data_.slo_missed_per_s = static_cast<double>(low);
      return;
    }
    while (high - low > std::max(1.0, kWidth * static_cast<double>(high))) {
      const std::uint64_t middle = low + (high - low) / 2;
      (within_slo(middle) ? low : high) = middle;
    }
    data_.slo_rate_per_s = static_cast<double>(low);
    if (high < whole(*data_.saturation_per_s)) data_.slo_missed_per_s = static_cast<double>(high);
  }

  bool measured_near(std::uint64_t rate_per_s) const {
    const auto rate = static_cast<double>(rate_per_s);
    return std::ranges::any_of(data_.points, [rate](const SweepPoint& point) {
      return point.p99_ns &&
             std::abs(static_cast<double>(point.rate_per_s) / rate - 1) < 2 * kWidth;
    });
  }

  void fill_curve() {
    for (const double share : kCurve) {
      const std::uint64_t rate = whole(*data_.saturation_per_s * share);
      if (measured_near(rate)) continue;
      if (static_cast<double>(rate) > *data_.slo_rate_per_s)
        measure(rate, Effort::full);
      else if (!within_slo(rate))
        data_.slo_missed_below = true;
    }
  }

  const MeasureRate& measure_;
  SweepData data_;
};

}  // namespace

SweepData search_rates(std::uint64_t slo, const MeasureRate& measure) {
  return Search(measure).run(slo);
}

namespace {

constexpr std::uint64_t kFewest = 50;    // requests of a rough measurement
constexpr std::uint64_t kRoughPerS = 5;  // a rough one lasts a fifth of a second

/// The case at one rate.
TestCase at_rate(const TestCase& sweep, std::uint64_t rate_per_s, Effort effort) {
  TestCase test_case = sweep;
  test_case.rate = rate_per_s;
  if (effort == Effort::rough)
    test_case.iterations =
        std::min(test_case.iterations, std::max(kFewest, rate_per_s / kRoughPerS));
  return test_case;
}

SweepPoint point_of(const Outcome& outcome, std::uint64_t rate_per_s, Effort effort) {
  SweepPoint point{.rate_per_s = rate_per_s,
                   .offered_per_s = load_offered_per_s(*outcome.load),
                   .reached_per_s = load_reached_per_s(*outcome.load),
                   .saturated = load_saturated(*outcome.load)};
  if (effort == Effort::rough) return point;
  const LatencySummary latency = summarize(outcome.latency->histogram);
  point.p50_ns = latency.p50;
  point.p99_ns = latency.p99;
  return point;
}

class SweepMeasurer final : public MeasurerOver {
 public:
  SweepMeasurer(std::unique_ptr<Measurer> measurer, SweepListener on_point)
      : MeasurerOver(*measurer), measurer_(std::move(measurer)), on_point_(std::move(on_point)) {}

  Outcome measure(const TestCase& test_case) override {
    if (!test_case.sweeps()) return measurer_->measure(test_case);
    Outcome all;
    all.effective = test_case;
    all.sweep = search_rates(test_case.slo, [&](std::uint64_t rate_per_s, Effort effort) {
      return measure_at(test_case, rate_per_s, effort, all);
    });
    all.effective.rate = kSweep;
    all.effective.slo = test_case.slo;
    all.effective.iterations = test_case.iterations;
    return all;
  }

 private:
  /// @param all  out: the sweep, so far
  std::optional<SweepPoint> measure_at(const TestCase& sweep, std::uint64_t rate_per_s,
                                       Effort effort, Outcome& all) {
    Outcome outcome;
    try {
      outcome = measurer_->measure(at_rate(sweep, rate_per_s, effort));
    } catch (const Interrupted&) {
      if (all.operations == 0) throw;
      all.interrupted = true;
      return std::nullopt;
    }
    all.interrupted = outcome.interrupted;
    if (outcome.interrupted || !outcome.load || !outcome.latency) return std::nullopt;
    all.operations += outcome.operations;
    all.elapsed_ns += outcome.elapsed_ns;
    all.cpu_ns += outcome.cpu_ns;
    all.effective = outcome.effective;
    all.resources = std::move(outcome.resources);
    all.extra = std::move(outcome.extra);
    const SweepPoint point = point_of(outcome, rate_per_s, effort);
    if (on_point_) on_point_(point);
    return point;
  }

  const std::unique_ptr<Measurer> measurer_;
  const SweepListener on_point_;
};

}  // namespace

std::unique_ptr<Measurer> make_sweep_measurer(std::unique_ptr<Measurer> measurer,
                                              SweepListener on_point) {
  return std::make_unique<SweepMeasurer>(std::move(measurer), std::move(on_point));
}

}  // namespace rdmameter
