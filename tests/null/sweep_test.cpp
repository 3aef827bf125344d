// SPDX-License-Identifier: Apache-2.0
// A sweep on a virtual clock: where the search says that latency bends, and where queueing theory
// does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/error.h"
#include "core/engine/search/sweep_measurer.h"
#include "core/instrument/histogram_data.h"
#include "virtual_server.h"

namespace rdmameter {
namespace {

constexpr double kService = kService_ns;

/// Measures one rate after the other, each with arrivals of its own.
class VirtualMeasurer final : public Measurer {
 public:
  explicit VirtualMeasurer(std::uint64_t seed) : seed_(seed) {}

  Outcome measure(const TestCase& test_case) override {
    if (measured.size() == interrupt_after) throw Interrupted("interrupted");
    measured.push_back(test_case.rate);
    VirtualRun load{test_case, seed_ + 1000 * measured.size()};
    load.run();
    Outcome outcome;
    outcome.effective = test_case;
    outcome.operations = load.tally.operations;
    outcome.load = load.offered.result();
    outcome.latency = latency_of(test_case, *load.response);
    return outcome;
  }

  std::vector<std::uint64_t> measured;
  std::size_t interrupt_after = 1'000'000;

 private:
  std::uint64_t seed_;
};

TestCase sweep_case(std::string_view slo) {
  TestCase test_case = load_case(1, 20'000, 4096);
  test_case.rate = kSweep;
  set_axis(test_case, *find_axis("slo"), slo);
  return test_case;
}

SweepData swept(std::string_view slo, std::uint64_t seed) {
  const auto sweep = make_sweep_measurer(std::make_unique<VirtualMeasurer>(seed), {});
  const Outcome outcome = sweep->measure(sweep_case(slo));
  EXPECT_FALSE(outcome.interrupted);
  EXPECT_FALSE(outcome.latency);
  EXPECT_TRUE(outcome.effective.sweeps());
  return *outcome.sweep;
}

/// The share of requests that wait at most so long, Poisson arrivals, fixed service of length 1
/// (Crommelin 1932, with one server).
double waits_at_most(double time, double rho) {
  long double sum = 0;
  for (int k = 0; k <= static_cast<int>(time); ++k) {
    const long double x = static_cast<long double>(rho) * (k - static_cast<long double>(time));
    sum += std::pow(x, k) / std::tgamma(static_cast<long double>(k) + 1) * std::exp(-x);
  }
  return static_cast<double>((1 - rho) * sum);
}

/// The argument at which a rising function has the value.
double inverse(const std::function<double(double)>& rising, double value, double low, double high) {
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (rising(middle) < value ? low : high) = middle;
  }
  return low;
}

/// In services.
double p99_response(double rho) {
  return 1 + inverse([rho](double time) { return waits_at_most(time, rho); }, 0.99, 0, 24);
}

double highest_utilisation(double p99_services) {
  return inverse(p99_response, p99_services, 0.02, 0.85);
}

TEST(MD1, HasTheKnownQuantiles) {
  EXPECT_NEAR(waits_at_most(0, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(waits_at_most(1, 0.5), 0.5 * (std::exp(0.5)), 1e-12)
      << "and the second term is of no time";
}

TEST(Sweep, FindsSaturationAndTheRateOfTheSlo) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SweepData data = swept("5ms", seed);
    ASSERT_TRUE(data.saturation_per_s && data.slo_rate_per_s && data.unloaded_p99_ns);
    EXPECT_NEAR(*data.saturation_per_s, kCapacity_per_s, 0.05 * kCapacity_per_s) << seed;
    EXPECT_EQ(data.slo_ns, 5 * kService);
    const double expected = highest_utilisation(5) * kCapacity_per_s;
    EXPECT_NEAR(*data.slo_rate_per_s, expected, 0.05 * expected) << seed;
    EXPECT_GT(*data.slo_missed_per_s, *data.slo_rate_per_s);
    EXPECT_LT(*data.slo_missed_per_s, 1.03 * *data.slo_rate_per_s);
    EXPECT_FALSE(data.slo_missed_below);
  }
}

TEST(Sweep, TakesTheSloAsAMultipleOfTheP99WithoutLoad) {
  const SweepData data = swept("3x", 7);
  EXPECT_NEAR(*data.unloaded_p99_ns, p99_response(0.05) * kService, 0.05 * kService);
  EXPECT_DOUBLE_EQ(*data.slo_ns, 3 * *data.unloaded_p99_ns);
  const double expected = highest_utilisation(*data.slo_ns / kService) * kCapacity_per_s;
  EXPECT_NEAR(*data.slo_rate_per_s, expected, 0.05 * expected);
}

TEST(Sweep, SaysThatAnSloIsOutOfReach) {
  const SweepData data = swept("500us", 1);  // half of a service
  EXPECT_EQ(data.slo_rate_per_s, 0.0);
  EXPECT_TRUE(data.slo_missed_per_s);
}

TEST(Sweep, OfAnSloThatAQueueNeverReachesEndsAtSaturation) {
  const SweepData data = swept("10s", 1);
  EXPECT_NEAR(*data.slo_rate_per_s, kCapacity_per_s, 0.05 * kCapacity_per_s);
}

TEST(Sweep, HasACurveFromATenthToSaturation) {
  const SweepData data = swept("5ms", 3);
  for (const double share : {0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9, 0.95}) {
    const bool there = std::ranges::any_of(data.points, [&](const SweepPoint& point) {
      return point.p99_ns &&
             std::abs(static_cast<double>(point.rate_per_s) / (share * *data.saturation_per_s) -
                      1) < 0.05;
    });
    EXPECT_TRUE(there) << share;
  }
}

TEST(Sweep, KeepsWhatItHasFoundWhenInterrupted) {
  auto measurer = std::make_unique<VirtualMeasurer>(1);
  measurer->interrupt_after = 6;
  std::size_t heard = 0;
  const auto sweep =
      make_sweep_measurer(std::move(measurer), [&heard](const SweepPoint&) { ++heard; });
  const Outcome outcome = sweep->measure(sweep_case("5ms"));
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(outcome.sweep->points.size(), 6U);
  EXPECT_EQ(heard, 6U);
  EXPECT_FALSE(outcome.sweep->slo_rate_per_s);
}

TEST(Sweep, BeforeItHasAnythingIsInterruptedAsAnyCase) {
  auto measurer = std::make_unique<VirtualMeasurer>(1);
  measurer->interrupt_after = 0;
  const auto sweep = make_sweep_measurer(std::move(measurer), {});
  EXPECT_THROW(sweep->measure(sweep_case("5ms")), Interrupted);
}

TEST(Sweep, LeavesOtherRatesToTheMeasurer) {
  const auto sweep = make_sweep_measurer(std::make_unique<VirtualMeasurer>(1), {});
  const Outcome outcome = sweep->measure(load_case(0.5, 1000, 16));
  EXPECT_TRUE(outcome.latency);
  EXPECT_FALSE(outcome.sweep);
}

/// A path of which this much is known.
SweepPoint answer(std::uint64_t rate, double capacity, double p99_ns) {
  const auto asked = static_cast<double>(rate);
  return {.rate_per_s = rate,
          .offered_per_s = asked,
          .reached_per_s = std::min(asked, capacity),
          .p50_ns = 1000,
          .p99_ns = p99_ns,
          .saturated = asked > capacity};
}

TEST(RateSearch, GoesDownWhereAThousandPerSecondAreTooMany) {
  const SweepData data = search_rates(2000, [](std::uint64_t rate, Effort) {
    return std::optional(answer(rate, 30, rate > 20 ? 5000 : 1000));
  });
  EXPECT_EQ(data.saturation_per_s, 30);
  EXPECT_EQ(data.slo_rate_per_s, 20);
  EXPECT_EQ(data.slo_missed_per_s, 21);
}

TEST(RateSearch, NamesNoRateAsMissedThatItHasNotMeasured) {
  const SweepData data = search_rates(
      10'000, [](std::uint64_t rate, Effort) { return std::optional(answer(rate, 1e6, 1000)); });
  EXPECT_GT(*data.slo_rate_per_s, 0.95e6);
  EXPECT_FALSE(data.slo_missed_per_s);
}

TEST(RateSearch, SaysNothingOfAPathThatKeepsUpWithEverything) {
  const SweepData data = search_rates(
      2000, [](std::uint64_t rate, Effort) { return std::optional(answer(rate, 1e12, 1000)); });
  EXPECT_FALSE(data.saturation_per_s);
  EXPECT_FALSE(data.slo_rate_per_s);
  EXPECT_EQ(data.points.back().rate_per_s, 1'000'000'000U);
}

TEST(RateSearch, DoesNotTrustWhatOneRoughMeasurementReached) {
  const SweepData data = search_rates(2000, [](std::uint64_t rate, Effort effort) {
    return std::optional(answer(rate, effort == Effort::rough ? 5'000 : 20'000, 1000));
  });
  EXPECT_EQ(data.saturation_per_s, 20'000);
}

TEST(RateSearch, ClimbsToSaturationFromRoughMeasurementsThatAPauseSpoiltByFar) {
  const SweepData data = search_rates(2000, [](std::uint64_t rate, Effort effort) {
    return std::optional(answer(rate, effort == Effort::rough ? 30 : 100'000, 1000));
  });
  EXPECT_EQ(data.saturation_per_s, 100'000);
}

TEST(RateSearch, ClimbsBySmallStepsAtFirst) {
  // A path that is overloaded far beyond its saturation reaches less than at it.
  const SweepData data = search_rates(2000, [](std::uint64_t rate, Effort effort) {
    SweepPoint point = answer(rate, effort == Effort::rough ? 50'000 : 80'000, 1000);
    if (effort == Effort::full && rate > 160'000) point.reached_per_s /= 2;
    return std::optional(point);
  });
  EXPECT_EQ(data.saturation_per_s, 80'000);
}

TEST(RateSearch, SaysThatALowerRateIsWorse) {
  const SweepData data = search_rates(2000, [](std::uint64_t rate, Effort) {
    const bool slow = rate > 9'000 && rate < 14'000;  // as where interrupts are moderated
    return std::optional(answer(rate, 100'000, slow || rate > 80'000 ? 5000 : 1000));
  });
  EXPECT_NEAR(*data.slo_rate_per_s, 80'000, 2'000);
  EXPECT_TRUE(data.slo_missed_below);
}

TEST(RateSearch, OneBadMeasurementOfThreeDecidesNothing) {
  int number = 0;
  const SweepData data = search_rates(2000, [&number](std::uint64_t rate, Effort) {
    const bool disturbed = ++number % 3 == 0;
    return std::optional(answer(rate, 100'000, disturbed || rate > 50'000 ? 5000 : 1000));
  });
  EXPECT_NEAR(*data.slo_rate_per_s, 50'000, 1'000);
  EXPECT_FALSE(data.slo_missed_below);
}

}  // namespace
}  // namespace rdmameter
