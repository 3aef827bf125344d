// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/series.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

TEST(Series, NotesWhatEachIntervalSawAndNothingBeforeItIsOver) {
  Series series{100'000'000};
  const auto begin = Series::Clock::now();
  series.note(5, begin + milliseconds(50));
  series.note(100, begin + milliseconds(150));
  series.note(101, begin + milliseconds(200));
  series.note(400, begin + milliseconds(260));
  series.close(410, begin + milliseconds(270));
  const auto json = series.json();
  EXPECT_EQ(json["messages"], (nlohmann::ordered_json{100, 300, 10}));
  EXPECT_EQ(json["end_ns"].size(), 3U);
  EXPECT_NEAR(json["end_ns"][1].get<double>(), 260e6, 5e6);
}

TEST(Series, OfALongRunIsBoundedAndKeepsEveryMessage) {
  Series series{10'000'000};
  const auto begin = Series::Clock::now();
  for (int i = 1; i <= 40'000; ++i) series.note(3U * i, begin + milliseconds(10 * i + 1));
  series.close(120'007, begin + milliseconds(400'100));
  const auto json = series.json();
  EXPECT_LE(json["messages"].size(), 4096U);
  EXPECT_GE(json["messages"].size(), 1024U);
  EXPECT_EQ(json["interval_ns"], 160'000'000U);
  std::uint64_t sum = 0;
  for (const auto& messages : json["messages"]) sum += messages.get<std::uint64_t>();
  EXPECT_EQ(sum, 120'007U);
}

TEST(Series, OfALongSteadyRunHasThatRateInEachOfItsJoinedIntervals) {
  Series series{1'000'000'000};
  const auto begin = Series::Clock::now();
  for (int i = 1; i <= 5000; ++i) series.close(7000U * i, begin + std::chrono::seconds(i));
  const auto json = series.json();
  ASSERT_EQ(json["interval_ns"], 2'000'000'000U);
  EXPECT_NEAR(json["mmsg_per_s_min"].get<double>(), 0.007, 1e-5);
  EXPECT_NEAR(json["mmsg_per_s_max"].get<double>(), 0.007, 1e-5);
  EXPECT_EQ(json["messages"][0], 14'000U);
  EXPECT_EQ(json["messages"].back(), 7'000U);
}

TEST(Series, LeavesAShortRestOutOfTheExtremes) {
  Series series{100'000'000};
  const auto begin = Series::Clock::now();
  series.note(1000, begin + milliseconds(100));
  series.note(3000, begin + milliseconds(200));
  series.close(3001, begin + milliseconds(210));
  const auto json = series.json();
  EXPECT_NEAR(json["mmsg_per_s_min"].get<double>(), 0.01, 0.001);
  EXPECT_NEAR(json["mmsg_per_s_max"].get<double>(), 0.02, 0.001);
}

TEST(Series, OfARunShorterThanAnIntervalIsOnePoint) {
  Series series{1'000'000'000};
  series.close(50);
  EXPECT_EQ(series.json()["messages"], nlohmann::ordered_json{50});
  EXPECT_GT(series.json()["mmsg_per_s_max"].get<double>(), 0);
}

}  // namespace
}  // namespace rdmameter
