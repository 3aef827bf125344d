// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/series.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/softirq.h"
#include "core/verbs/async_events.h"
#include "tests/core/base/fake_tree.h"

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

TEST(Softirq, IsTheSeventhNumberOfTheFirstLine) {
  FakeTree tree;
  tree.write("stat", "cpu  10 20 30 40 50 60 70 0 0 0\ncpu0 1 1 1 1 1 1 1\n");
  EXPECT_EQ(softirq_ns(tree.root()), 700'000'000U);
  tree.write("stat", "nonsense\n");
  EXPECT_EQ(softirq_ns(tree.root()), std::nullopt);
}

TEST(AsyncEvents, EndARunWhereSomethingBrokeAndNotWhereItOnlyChanged) {
  EXPECT_NE(fatal_event_text(IBV_EVENT_PORT_ERR), "");
  EXPECT_NE(fatal_event_text(IBV_EVENT_DEVICE_FATAL), "");
  EXPECT_EQ(fatal_event_text(IBV_EVENT_PORT_ACTIVE), "");
  EXPECT_EQ(fatal_event_text(IBV_EVENT_GID_CHANGE), "");
  EXPECT_NE(fatal_event_text(IBV_EVENT_LID_CHANGE), "");
}

TEST(AsyncEvents, AreNotedWhereWhatPathsAreMadeOfChanged) {
  for (const ibv_event_type type : {IBV_EVENT_GID_CHANGE, IBV_EVENT_PKEY_CHANGE,
                                    IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER})
    EXPECT_TRUE(noted_event_text(type).starts_with("IBV_EVENT_"));
  EXPECT_EQ(noted_event_text(IBV_EVENT_PORT_ACTIVE), "");
  EXPECT_EQ(noted_event_text(IBV_EVENT_COMM_EST), "");
}

}  // namespace
}  // namespace rdmameter
