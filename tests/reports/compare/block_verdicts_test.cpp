// SPDX-License-Identifier: Apache-2.0
// As verdicts_test.cpp, of the two sides of one measuring run on a machine that drifts and is
// disturbed.
#include <gtest/gtest.h>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/simulated_files.h"

namespace rdmameter {
namespace {

constexpr int kCases = 100;

/// Both sides of a measuring run. Times are counted in measurements.
struct Turns {
  std::uint64_t blocks = 12;
  double drift = 0.5;                      ///< from the first measurement to the last
  double walk = 0;                         ///< deviation of the step to the next measurement
  double disturbance = 0;                  ///< slows down...
  std::uint64_t period = 4, duration = 1;  ///< ...so long in each period
  int changed = 0;                         ///< cases that are slower on side B...
  double slower = 1;                       ///< ...so many times
};

/// How slow the machine is from measurement to measurement.
class Weather {
 public:
  Weather(const Turns& how, std::mt19937& engine) : how_(how), engine_(engine) {}

  double next() {
    const double all = 2.0 * static_cast<double>(how_.blocks) * kCases;
    const double drift = how_.drift * static_cast<double>(at_) / all;
    const double disturbed = at_ % how_.period < how_.duration ? how_.disturbance : 0;
    walked_ += how_.walk == 0 ? 0 : how_.walk * normal(engine_);
    ++at_;
    return (1 + drift + disturbed) * std::exp(walked_);
  }

 private:
  const Turns& how_;
  std::mt19937& engine_;
  std::uint64_t at_ = 0;
  double walked_ = 0;
};

Comparable turns(std::mt19937& engine, const Turns& how) {
  Comparable made = file_of({});
  for (int i = 0; i < kCases; ++i)
    for (auto& side : made.sides)
      side.push_back(
          latency_case("case" + std::to_string(i), 1, how.blocks, [](auto, auto) { return 1.0; }));
  Weather weather(how, engine);
  for (std::uint64_t block = 0; block < how.blocks; ++block)
    for (std::size_t i = 0; i < kCases; ++i) {
      const bool b_first = engine() % 2 == 0;
      for (const bool b_side : {b_first, !b_first}) {
        const bool changed = b_side && i < static_cast<std::size_t>(how.changed);
        const double level = 5000 * weather.next() * (changed ? how.slower : 1);
        Replicate& one = made.sides[b_side ? 1 : 0][i].replicates[block];
        for (const Metric metric : kSimulated)
          one.value[static_cast<std::size_t>(metric)] =
              level * std::exp((metric == Metric::p99 ? 0.1 : 0.02) * normal(engine));
      }
    }
  return made;
}

void expect_few_false_alarms_of(const Turns& how) {
  std::mt19937 engine(static_cast<std::uint32_t>(how.period));
  int failed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    failed += compare_sides(turns(engine, how), {}).conclusion == Conclusion::fail ? 1 : 0;
  EXPECT_LE(at_least(failed, kSweeps), 0.05) << failed << " with period " << how.period;
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverUnderDriftAndDisturbancesOfAnyPeriod) {
  for (const std::uint64_t period : {2U, 3U, 4U, 200U, 400U})
    expect_few_false_alarms_of({.disturbance = 0.3, .period = period});
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverWhereADisturbanceLastsForHalfOfItsPeriod) {
  for (const std::uint64_t period : {6U, 800U})  // measurements, and blocks
    expect_few_false_alarms_of({.disturbance = 0.3, .period = period, .duration = period / 2});
}

TEST(Blocks, OfIdenticalCodeFailHardlyEverOnARandomWalk) {
  expect_few_false_alarms_of({.drift = 0, .walk = 0.01});  // by half within a run
}

TEST(Blocks, FindTenPercentInTenCasesUnderDrift) {
  std::mt19937 engine(10);
  std::size_t right = 0, wrong = 0;
  constexpr int kFew = 20, kChanged = 10;
  for (int sweep = 0; sweep < kFew; ++sweep)
    for (const CaseComparison& one :
         compare_sides(turns(engine, {.changed = kChanged, .slower = 1.1}), {}).cases)
      if (one.verdict == CaseVerdict::fail)
        ++(std::stoi(one.name.substr(4)) < kChanged ? right : wrong);
  EXPECT_GE(right, kFew * kChanged * 90U / 100);
  EXPECT_LE(wrong, 3U);
}

TEST(Blocks, ProveThatIdenticalCodePasses) {
  std::mt19937 engine(11);
  int passed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    passed += compare_sides(turns(engine, {}), {}).conclusion == Conclusion::pass ? 1 : 0;
  EXPECT_GE(passed, kSweeps * 90 / 100);
}

TEST(Blocks, HaveIntervalsThatHoldTheTruthNineteenTimesInTwenty) {
  for (const std::uint64_t blocks : {5U, 7U, 10U}) {
    std::mt19937 engine(static_cast<std::uint32_t>(blocks));
    int all = 0, held = 0;
    for (int sweep = 0; sweep < 10; ++sweep)
      for (const CaseComparison& one : compare_sides(turns(engine, {.blocks = blocks}), {}).cases)
        for (const MetricEffect& each : one.effects) {
          const Interval interval = each.effect.interval;
          held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
          ++all;
        }
    EXPECT_GE(at_most(held, all), 0.93) << held << " of " << all;
    EXPECT_LE(at_least(held, all), 0.97) << held << " of " << all;
  }
}

}  // namespace
}  // namespace rdmameter
