// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/mean_shift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNoise = 0.02;
constexpr std::size_t kLength = 300;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : engine_(seed) {}

  /// First-order autoregression of deviation kNoise.
  std::vector<double> series(std::size_t length, double correlation = 0) {
    std::vector<double> values(length);
    double value = kNoise * normal_(engine_);
    for (double& each : values) {
      each = value;
      value = correlation * value +
              std::sqrt(1 - correlation * correlation) * kNoise * normal_(engine_);
    }
    return values;
  }

  /// A season of 3 % that begins anywhere.
  std::vector<double> season(double period) {
    std::vector<double> values = series(kLength);
    const double phase = std::uniform_real_distribution<double>(0, 2 * std::numbers::pi)(engine_);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += 0.03 * std::sin(phase + 2 * std::numbers::pi * static_cast<double>(i) / period);
    return values;
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

/// Of 100 series that are checked whenever a value is added: how many ever show a change?
int alarms(const std::function<std::vector<double>()>& draw, const MeanShiftOptions& options = {}) {
  int alarms = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<double> series = draw();
    bool alarm = false;
    for (std::size_t length = 1; length <= series.size() && !alarm; ++length)
      alarm = !mean_shifts(std::span(series).first(length), options).empty();
    alarms += alarm ? 1 : 0;
  }
  return alarms;
}

TEST(MeanShiftAlarms, OfIndependentValuesAreFew) {
  for (const std::uint32_t seed : {1U, 21U}) {
    Generator generator(seed);
    EXPECT_LE(alarms([&] { return generator.series(kLength); }), 2) << seed;
  }
}

TEST(MeanShift, TakesMoreWhereManySeriesAreLookedAt) {
  Generator generator(12);
  std::vector<double> series = generator.series(60);
  for (std::size_t i = 30; i < series.size(); ++i) series[i] += 0.06;
  const auto shifts = mean_shifts(series);
  ASSERT_EQ(shifts.size(), 1U);
  std::size_t together = 1;
  while (together < 1'000'000'000'000 && !mean_shifts(series, {.together = together}).empty())
    together *= 10;
  EXPECT_LT(together, 1'000'000'000'000) << shifts[0].deviations;
}

TEST(MeanShiftAlarms, OfCorrelatedValuesAreFew) {
  for (const std::uint32_t seed : {2U, 22U}) {
    Generator generator(seed);
    EXPECT_LE(alarms([&] { return generator.series(kLength, 0.5); }), 5) << seed;
  }
}

TEST(MeanShiftAlarms, OfCorrelatedValuesAreFewByTheCorrelationAlone) {
  for (const std::uint32_t seed : {2U, 22U}) {
    Generator generator(seed);
    EXPECT_LE(alarms([&] { return generator.series(kLength, 0.5); }, {.floor = 0, .season = 0}), 15)
        << seed << ": were they taken for independent, nearly all would alarm";
  }
}

TEST(MeanShiftAlarms, OfOneDisturbedValueAreFew) {
  Generator generator(8);
  const auto disturbed = [&] {
    std::vector<double> series = generator.series(kLength);
    series[150] += 3;
    return series;
  };
  EXPECT_LE(alarms(disturbed), 2);
}

TEST(MeanShiftAlarms, OfAWeekOrADayOfHoursAreFew) {
  for (const std::uint32_t seed : {3U, 23U}) {
    Generator generator(seed);
    EXPECT_LE(alarms([&] { return generator.season(7); }), 10) << seed;
    EXPECT_LE(alarms([&] { return generator.season(24); }), 10) << seed;
  }
}

/// Of 100 series, how many show a change at all?
int seen(const std::function<std::vector<double>()>& draw) {
  int seen = 0;
  for (int i = 0; i < 100; ++i) seen += mean_shifts(draw()).empty() ? 0 : 1;
  return seen;
}

constexpr std::array kSeeds = {4U, 5U, 24U, 25U, 26U};

TEST(MeanShift, SeesSixStepsOfFourPercent) {
  for (const std::uint32_t seed : kSeeds) {
    Generator generator(seed);
    for (const std::size_t step : {10U, 43U})
      EXPECT_GE(seen([&] {
                  std::vector<double> series = generator.series(7 * step);
                  for (std::size_t i = 0; i < series.size(); ++i)
                    series[i] += std::log(1.04) * static_cast<double>(i / step);
                  return series;
                }),
                90)
          << step << ", seed " << seed;
  }
}

TEST(MeanShift, SeesACreepOfThirtyPercentOverThreeHundredResults) {
  for (const std::uint32_t seed : kSeeds) {
    Generator generator(seed);
    EXPECT_GE(seen([&] {
                std::vector<double> series = generator.series(kLength);
                for (std::size_t i = 0; i < series.size(); ++i)
                  series[i] += std::log(1.3) * static_cast<double>(i) / kLength;
                return series;
              }),
              90)
        << seed;
  }
}

TEST(MeanShift, SaysWhereAndByHowMuch) {
  Generator generator(6);
  std::vector<double> series = generator.series(90);
  for (std::size_t i = 30; i < 90; ++i) series[i] += i < 60 ? 0.2 : 0.1;
  const std::vector<MeanShift> shifts = mean_shifts(series);
  ASSERT_EQ(shifts.size(), 2U);
  EXPECT_EQ(shifts[0].at, 30U);
  EXPECT_NEAR(shifts[0].shift, 0.2, 0.02);
  EXPECT_EQ(shifts[1].at, 60U);
  EXPECT_NEAR(shifts[1].shift, -0.1, 0.02);
}

TEST(MeanShift, IsSeenAfterItsFifthValue) {
  Generator generator(7);
  std::vector<double> series = generator.series(60);
  series.insert(series.end(), 4, 1);
  for (const MeanShift& shift : mean_shifts(series)) EXPECT_LT(shift.at, 60U);
  series.push_back(1);
  const std::vector<MeanShift> shifts = mean_shifts(series);
  ASSERT_EQ(shifts.size(), 1U);
  EXPECT_EQ(shifts[0].at, 60U);
}

TEST(MeanShift, OfLessThanTheFloorIsNoneHoweverCertain) {
  std::vector<double> series(60);
  for (std::size_t i = 0; i < series.size(); ++i)
    series[i] = (i < 30 ? 0 : 0.025) + 1e-4 * static_cast<double>(i % 3);
  EXPECT_THAT(mean_shifts(series, {.season = 0}), IsEmpty());
  EXPECT_EQ(mean_shifts(series, {.floor = 0.02, .season = 0}).size(), 1U);
}

TEST(MeanShift, IsSeenFromFiveDeviationsOn) {
  std::vector<MeanShift> shifts;
  for (double step = 0.05; shifts.empty(); step *= 1.01) {
    std::vector<double> series(60);
    for (std::size_t i = 0; i < series.size(); ++i)
      series[i] = (i < 30 ? 0 : step) + 0.05 * static_cast<double>(i * i % 7);
    shifts = mean_shifts(series, {.season = 0});
  }
  // As rare with a variance that 60 values have told (scipy: t.isf(norm.sf(5), 30)).
  EXPECT_NEAR(shifts.front().deviations, 6.3, 0.1);
}

TEST(MeanShift, OfTooFewValuesOrOfOneValueIsNone) {
  EXPECT_THAT(mean_shifts({}), IsEmpty());
  EXPECT_THAT(mean_shifts(std::vector<double>{0, 1, 0, 1, 0}), IsEmpty());
  EXPECT_THAT(mean_shifts(std::vector<double>(50, 7.25)), IsEmpty());
}

TEST(MeanShift, OfValuesWithoutAnyNoiseIsCertain) {
  std::vector<double> series(40, 1);
  std::fill(series.begin() + 20, series.end(), 2);
  const std::vector<MeanShift> shifts = mean_shifts(series);
  ASSERT_EQ(shifts.size(), 1U);
  EXPECT_EQ(shifts[0].at, 20U);
}

}  // namespace
}  // namespace rdmameter
