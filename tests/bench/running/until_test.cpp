// SPDX-License-Identifier: Apache-2.0
#include "bench/running/until.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>

#include "core/base/error.h"
#include "core/instrument/histogram.h"
#include "core/result/row_json.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;
using Ended = UntilData::Ended;

TEST(UntilGoals, AreAShareOrSomeOfNamedMetrics) {
  const std::vector<UntilGoal> one = read_until("1%");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].metric, nullptr);
  EXPECT_DOUBLE_EQ(one[0].share, 0.01);
  const std::vector<UntilGoal> two = read_until("p50=0.5%,p99=5%");
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].metric->metric, Metric::p50);
  EXPECT_DOUBLE_EQ(two[0].share, 0.005);
  EXPECT_EQ(two[1].metric->metric, Metric::p99);
  EXPECT_EQ(read_until("bandwidth=2%")[0].metric->metric, Metric::gbps);
}

TEST(UntilGoals, ThatAreNoneAreRefusedWithWhatIsTaken) {
  for (const char* text : {"", "1", "0%", "101%", "-1%", "nan%", "1%,", "p50", "p50=", "speed=1%",
                           "p50=1%,p50=2%", "1%,2%", "1 %", "0.001%"}) {
    try {
      read_until(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("p50=1%,p99=5%")) << text;
    }
  }
}

TEST(UntilBudget, IsATimeOfUpToADay) {
  EXPECT_EQ(read_budget("90"), 90'000'000'000U);
  EXPECT_EQ(read_budget("500ms"), 500'000'000U);
  for (const char* text : {"", "0", "soon", "86401s", "-1s"})
    EXPECT_THROW(read_budget(text), UsageError) << text;
}

Row bandwidth(double gbps) {
  Row row;
  row.bandwidth =
      BandwidthData{.messages = 1, .bytes = 1'000'000'000'000, .window_ns = 8'000'000'000'000};
  row.bandwidth->window_ns = static_cast<std::uint64_t>(8e12 / gbps);
  return row;
}

/// 100 samples whose median is p50 and whose p90 is p90; no more percentiles have enough samples.
Row latency(std::uint64_t p50_ns, std::uint64_t p90_ns) {
  const auto samples = std::make_unique<Histogram>();
  for (int i = 0; i < 60; ++i) samples->record(p50_ns);
  for (int i = 0; i < 40; ++i) samples->record(p90_ns);
  Row row;
  row.latency = LatencyData{.definition = LatencyData::Definition::completion,
                            .histogram = snapshot(*samples),
                            .half_round_trip = false};
  return row;
}

struct Settled {
  std::optional<UntilData> data;
  std::uint64_t repetitions = 0;
};

/// Repetitions until there is to be no further one.
Settled settle(const Until& until, const std::function<Row()>& repeat, double each_ns = 1000) {
  Settling settling(until);
  for (std::uint64_t count = 1; count <= until.repetitions; ++count)
    if (auto data = settling.add(repeat(), each_ns * static_cast<double>(count)))
      return {std::move(data), count};
  return {};
}

Until one_percent(std::uint64_t repetitions = kMaxUntilRepetitions) {
  return {.goals = read_until("1%"), .repetitions = repetitions};
}

TEST(Settling, TakesTwentyRepetitionsEvenOfACaseThatDoesNotVary) {
  const Until until = one_percent();
  const auto [data, repetitions] = settle(until, [] { return bandwidth(10); });
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::reached);
  EXPECT_EQ(repetitions, 20U);
  ASSERT_EQ(data->metrics.size(), 1U);
  EXPECT_EQ(data->metrics[0].metric, "gbps");
  EXPECT_NEAR(*data->metrics[0].median, 10, 1e-9);
  EXPECT_EQ(settled_share(data->metrics[0]), 0.0);
}

TEST(Settling, EndsByTheMetricThatTakesLongest) {
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  const Until until{.goals = read_until("p50=1%,p90=1%"), .repetitions = 10'000};
  const auto [data, repetitions] = settle(until, [&] {
    return latency(10'000, static_cast<std::uint64_t>(20'000 * (1 + 0.05 * normal(engine))));
  });
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::reached);
  EXPECT_GT(repetitions, 50U) << "p50 alone would have ended it after 20";
  EXPECT_LE(*settled_share(data->metrics[1]), 0.01);
}

TEST(Settling, EndsWhereTheBudgetIsSpent) {
  Until until = one_percent();
  until.budget_ns = 50'000;
  int count = 0;
  const auto [data, repetitions] = settle(until, [&] { return bandwidth(++count % 2 + 1); });
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::budget);
  EXPECT_EQ(repetitions, 50U);
  EXPECT_TRUE(data->metrics[0].low);
}

TEST(Settling, EndsByTheBudgetBeforeTwentyRepetitionsAndKnowsNothing) {
  Until until = one_percent();
  until.budget_ns = 3'000;
  const auto [data, repetitions] = settle(until, [&] { return bandwidth(1); });
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::budget);
  EXPECT_EQ(repetitions, 3U);
  EXPECT_FALSE(data->metrics[0].low);
}

TEST(Settling, EndsAfterTheMostRepetitions) {
  const Until until = one_percent(33);
  int count = 0;
  const auto [data, repetitions] = settle(until, [&] { return bandwidth(++count % 2 + 1); });
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::repetitions);
  EXPECT_EQ(repetitions, 33U);
}

TEST(Settling, EndsWhereTheNoiseHasConvergedAndTheGoalIsOutOfReach) {
  std::mt19937 engine(2);
  std::normal_distribution<double> normal;
  // 15 % of noise need some 1500 repetitions, and there is time for 900.
  Until until = one_percent();
  until.budget_ns = 900'000;
  const auto noisy = [&] { return bandwidth(10 * (1 + 0.15 * normal(engine))); };
  const auto [data, repetitions] = settle(until, noisy);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::noise);
  EXPECT_LT(repetitions, 900U);
  until.budget_ns = 60'000'000'000;
  EXPECT_EQ(settle(until, noisy).data->ended, Ended::reached) << "with time it is within reach";
}

TEST(Settling, OfACaseThatLacksTheMetricEndsAtOnce) {
  const Until until{.goals = read_until("p99=1%"), .repetitions = 100};
  const auto [data, repetitions] = settle(until, [] { return latency(1000, 2000); });
  ASSERT_TRUE(data);
  EXPECT_EQ(data->ended, Ended::not_measured) << "100 samples have no p99";
  EXPECT_EQ(repetitions, 1U);
  ASSERT_EQ(data->metrics.size(), 1U);
  EXPECT_FALSE(data->metrics[0].median);
}

/// How often the interval with which --until ends holds the true median: it looks many times, and
/// ends where the interval is narrow by chance.
double coverage(double kept, double noise) {
  constexpr int kRounds = 400;
  std::mt19937 engine(20261124);
  std::normal_distribution<double> normal;
  const Until until = one_percent(4000);
  int ended = 0, held = 0;
  for (int round = 0; round < kRounds; ++round) {
    double deviation = normal(engine) / std::sqrt(1 - kept * kept);
    const auto [data, repetitions] = settle(until, [&] {
      deviation = kept * deviation + normal(engine);
      return bandwidth(100 + 100 * noise * deviation);
    });
    if (!data || data->ended != Ended::reached) continue;
    ++ended;
    held += *data->metrics[0].low <= 100 && 100 <= *data->metrics[0].high;
  }
  EXPECT_GT(ended, kRounds * 9 / 10) << kept << ", " << noise;
  return static_cast<double>(held) / ended;
}

TEST(SettlingCoverage, HoldsTheMedianInNinetyThreeOfAHundredCases) {
  for (const double noise : {0.02, 0.05, 0.1}) EXPECT_GE(coverage(0, noise), 0.93) << noise;
}

TEST(SettlingCoverage, HoldsItToWhereEachRepetitionKeepsHalfOfTheLastDeviation) {
  for (const double noise : {0.02, 0.05}) EXPECT_GE(coverage(0.5, noise), 0.93) << noise;
}

}  // namespace
}  // namespace rdmameter
