// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr CalibrationFacts kGood{.has_counter = true,
                                 .first_ticks_per_ns = 2.5961,
                                 .second_ticks_per_ns = 2.59611,
                                 .ticks_per_ns = 2.596105,
                                 .invariant = true,
                                 .kernel_uses_counter = true};

TEST(ClockJudge, TakesAnInvariantCounterThatCalibrates) {
  const ClockChoice choice = judge_calibration(kGood);
  EXPECT_EQ(choice.kind, ClockChoice::Kind::counter);
  EXPECT_DOUBLE_EQ(choice.ticks_per_ns, 2.596105);
  EXPECT_NEAR(choice.error_ppm, 3.9, 0.1);
  EXPECT_THAT(choice.reason, HasSubstr("invariant"));
}

TEST(ClockJudge, TakesACounterThatOnlyTheKernelVouchesFor) {
  CalibrationFacts facts = kGood;
  facts.invariant = false;
  const ClockChoice choice = judge_calibration(facts);
  EXPECT_EQ(choice.kind, ClockChoice::Kind::counter);
  EXPECT_THAT(choice.reason, HasSubstr("the kernel keeps time by"));
}

TEST(ClockJudge, RefusesACounterThatNobodyVouchesFor) {
  CalibrationFacts facts = kGood;
  facts.invariant = facts.kernel_uses_counter = false;
  const ClockChoice choice = judge_calibration(facts);
  EXPECT_EQ(choice.kind, ClockChoice::Kind::kernel);
  EXPECT_EQ(choice.ticks_per_ns, 1.0);
  EXPECT_THAT(choice.reason, HasSubstr("does not call its counter invariant"));
}

TEST(ClockJudge, RefusesIntervalsThatDisagree) {
  CalibrationFacts facts = kGood;
  facts.second_ticks_per_ns = facts.first_ticks_per_ns * (1 + 201e-6);
  EXPECT_EQ(judge_calibration(facts).kind, ClockChoice::Kind::kernel);
  EXPECT_THAT(judge_calibration(facts).reason, HasSubstr("did not settle"));
  facts.second_ticks_per_ns = facts.first_ticks_per_ns * (1 - 201e-6);
  EXPECT_EQ(judge_calibration(facts).kind, ClockChoice::Kind::kernel);
  facts.second_ticks_per_ns = facts.first_ticks_per_ns * (1 + 199e-6);
  EXPECT_EQ(judge_calibration(facts).kind, ClockChoice::Kind::counter);
}

TEST(ClockJudge, RefusesACounterThatStandsStillOrIsNotThere) {
  CalibrationFacts facts = kGood;
  facts.first_ticks_per_ns = 0;
  EXPECT_EQ(judge_calibration(facts).kind, ClockChoice::Kind::kernel);
  facts = kGood;
  facts.second_ticks_per_ns = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judge_calibration(facts).kind, ClockChoice::Kind::kernel);
  EXPECT_EQ(judge_calibration(CalibrationFacts{}).kind, ClockChoice::Kind::kernel);
}

TEST(ClockJudge, WarnsOfACounterWithACoarseTick) {
  CalibrationFacts facts = kGood;
  facts.first_ticks_per_ns = facts.second_ticks_per_ns = facts.ticks_per_ns = 0.025;  // 25 MHz
  const ClockChoice coarse = judge_calibration(facts);
  EXPECT_NEAR(resolution_ns(coarse).value(), 40, 1e-9);
  EXPECT_THAT(clock_warning(coarse), HasSubstr("steps by 40.0 ns"));

  const ClockChoice fine = judge_calibration(kGood);
  EXPECT_NEAR(resolution_ns(fine).value(), 0.385, 1e-3);
  EXPECT_EQ(clock_warning(fine), "");

  const ClockChoice kernel = judge_calibration({});
  EXPECT_FALSE(resolution_ns(kernel).has_value());
  EXPECT_EQ(clock_warning(kernel), "");
}

TEST(ClockJudge, CallsATickOfTenNanosecondsCoarseAndNoneBelow) {
  CalibrationFacts facts = kGood;
  for (const double tick_ns : {9.99, 10.0}) {
    facts.first_ticks_per_ns = facts.second_ticks_per_ns = facts.ticks_per_ns = 1 / tick_ns;
    EXPECT_EQ(clock_warning(judge_calibration(facts)).empty(), tick_ns < 10) << tick_ns;
  }
}

TEST(KernelClock, TicksInNanosecondsAndNeverBackwards) {
  const KernelClock clock;
  EXPECT_EQ(clock.to_ns(12'345), 12'345U);
  EXPECT_EQ(clock.to_ticks(12'345), 12'345U);
  timespec before{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &before);
  const std::uint64_t first = clock.now(), second = clock.now();
  EXPECT_LE(static_cast<std::uint64_t>(before.tv_sec) * 1'000'000'000, first);
  EXPECT_LE(first, second);
}

TEST(CounterClock, ConvertsDaysWithinAPartPerBillion) {
  for (const double ticks_per_ns : {0.024, 0.05, 1.0, 2.596105, 5.7}) {
    CalibrationFacts facts = kGood;
    facts.first_ticks_per_ns = facts.second_ticks_per_ns = facts.ticks_per_ns = ticks_per_ns;
    const CounterClock counter = judge_calibration(facts).counter;
    for (const std::uint64_t ns : {1'000ULL, 1'000'000'000ULL, 48ULL * 3600 * 1'000'000'000}) {
      const auto ticks =
          static_cast<std::uint64_t>(std::llround(static_cast<double>(ns) * ticks_per_ns));
      const double allowed =
          1 + 1 / ticks_per_ns + static_cast<double>(ns) * 1e-9;  // one tick, rounding
      EXPECT_NEAR(static_cast<double>(counter.to_ns(ticks)), static_cast<double>(ns), allowed);
      EXPECT_NEAR(static_cast<double>(counter.to_ticks(ns)), static_cast<double>(ticks),
                  allowed * ticks_per_ns + 1);
    }
  }
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(CounterClock, GoesOnWhileTheKernelsClockDoes) {
  const CounterClock counter;
  const KernelClock kernel;
  const std::uint64_t first = counter.now(), begin = kernel.now();
  while (kernel.now() < begin + 1'000'000) {
  }
  EXPECT_GT(counter.now(), first);
}
#endif

/// The quickest of many readings in a row.
template <class Clock>
double quickest_reading_ns(const Clock& clock) {
  constexpr int kReadings = 1000;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t begin = clock.now();
    std::uint64_t end = begin;
    for (int reading = 0; reading < kReadings; ++reading) end = clock.now();
    least = std::min(least, end - begin);
  }
  return static_cast<double>(clock.to_ns(least)) / kReadings;
}

TEST(ChooseClock, SaysWhatOneReadingCostsAndNotAFewTogether) {
  const ClockChoice choice = choose_clock();
  const double quickest_ns = choice.kind == ClockChoice::Kind::counter
                                 ? quickest_reading_ns(choice.counter)
                                 : quickest_reading_ns(KernelClock{});
  EXPECT_GT(choice.read_ns, quickest_ns / 4);
  EXPECT_LT(choice.read_ns, quickest_ns * 20);
}

TEST(ChooseClock, CalibratesForSixteenMilliseconds) {
#if defined(__x86_64__) || defined(__aarch64__)
  const std::uint64_t begin = KernelClock{}.now();
  choose_clock();
  EXPECT_GE(KernelClock{}.now() - begin, 16'000'000U);
#endif
}

TEST(ChooseClock, SaysWhichAndWhatItCosts) {
  const ClockChoice choice = choose_clock();
  EXPECT_FALSE(choice.reason.empty());
  EXPECT_GT(choice.ticks_per_ns, 0);
  EXPECT_GT(choice.read_ns, 0);
  EXPECT_LT(choice.read_ns, 100'000);
  RecordProperty("reason", choice.reason);
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_THAT(choice.reason, Not(HasSubstr("has no counter")));
#endif
}

}  // namespace
}  // namespace rdmameter
