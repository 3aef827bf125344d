// SPDX-License-Identifier: Apache-2.0
#include "core/engine/interval_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

struct IntervalThreadTest : ::testing::Test {
  IntervalThreadTest() {
    test_case.duration_ns = kUntilInterrupted;
    test_case.interval_ns = 20'000'000;
  }
  TestCase test_case;
  std::atomic<std::uint64_t> progress{0};
  std::vector<ProgressInterval> heard;
  IntervalListener listener{.hear = [this](const TestCase&, const ProgressInterval& interval) {
    heard.push_back(interval);
    progress = progress == 100 ? 40 : 100;  // a warm-up is over: the count begins anew
  }};
};

TEST_F(IntervalThreadTest, TellsWhatEachIntervalSawUntilItEnds) {
  {
    const IntervalThread thread{test_case, [this] { return progress.load(); }, listener};
    std::this_thread::sleep_for(milliseconds(100));
  }
  ASSERT_GE(heard.size(), 3U);
  EXPECT_LE(heard.size(), 5U);
  EXPECT_EQ(heard[0].operations, 0U);
  EXPECT_EQ(heard[1].operations, 100U);
  EXPECT_EQ(heard[2].operations, 40U);
  for (const ProgressInterval& interval : heard) EXPECT_GE(interval.end_s, interval.length_s);
}

TEST_F(IntervalThreadTest, SaysNothingOfWhatEndsByItselfOrToNobody) {
  IntervalListener nobody;
  {
    const IntervalThread untold{test_case, [this] { return progress.load(); }, nobody};
    test_case.duration_ns = 1'000'000;
    const IntervalThread bounded{test_case, [this] { return progress.load(); }, listener};
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_TRUE(heard.empty());
}

TEST_F(IntervalThreadTest, TellsOfALongBandwidthOnlyToThoseThatTakeItToo) {
  test_case.pattern = Pattern::bandwidth;
  test_case.interval_ns = 100'000'000;
  test_case.duration_ns = 200'000'000;
  const auto intervals = [this] {
    const IntervalThread thread{test_case, [this] { return progress.load(); }, listener};
    std::this_thread::sleep_for(milliseconds(250));
    return heard.size();
  };
  EXPECT_EQ(intervals(), 0U);
  listener.bounded_too = true;
  EXPECT_GE(intervals(), 1U);
}

}  // namespace
}  // namespace rdmameter
