// SPDX-License-Identifier: Apache-2.0
#include "core/engine/search/sweep_measurer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/engine/search/rate_search.h"
#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"

namespace rdmameter {
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

std::optional<double> percentile_ns(const HistogramData& samples, double percent) {
  const auto value = reported_percentile(samples, percent);
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

SweepPoint point_of(const Outcome& outcome, std::uint64_t rate_per_s, Effort effort) {
  SweepPoint point{.rate_per_s = rate_per_s,
                   .offered_per_s = load_offered_per_s(*outcome.load),
                   .reached_per_s = load_reached_per_s(*outcome.load),
                   .saturated = load_saturated(*outcome.load)};
  if (effort == Effort::rough) return point;
  point.p50_ns = percentile_ns(outcome.latency->histogram, 50);
  point.p99_ns = percentile_ns(outcome.latency->histogram, 99);
  return point;
}

class SweepMeasurer final : public Measurer {
 public:
  SweepMeasurer(std::unique_ptr<Measurer> measurer, SweepListener on_point)
      : measurer_(std::move(measurer)), on_point_(std::move(on_point)) {}

  Outcome measure(const TestCase& test_case) override;
  bool usable() const override { return measurer_->usable(); }
  void tell_responder(const nlohmann::json& row) override { measurer_->tell_responder(row); }
  nlohmann::ordered_json initiator_environment() const override {
    return measurer_->initiator_environment();
  }
  nlohmann::ordered_json responder_environment() const override {
    return measurer_->responder_environment();
  }

 private:
  std::optional<SweepPoint> measure_at(const TestCase& sweep, std::uint64_t rate_per_s,
                                       Effort effort, Outcome& all);

  const std::unique_ptr<Measurer> measurer_;
  const SweepListener on_point_;
};

/// @param all  out: the sweep, so far
std::optional<SweepPoint> SweepMeasurer::measure_at(const TestCase& sweep, std::uint64_t rate_per_s,
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

Outcome SweepMeasurer::measure(const TestCase& test_case) {
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

}  // namespace

std::unique_ptr<Measurer> make_sweep_measurer(std::unique_ptr<Measurer> measurer,
                                              SweepListener on_point) {
  return std::make_unique<SweepMeasurer>(std::move(measurer), std::move(on_point));
}

}  // namespace rdmameter
