// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/interval_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
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
  std::mutex mutex;
  std::condition_variable one_more;
  std::vector<ProgressInterval> heard;
  IntervalListener listener{.hear = [this](const TestCase&, const ProgressInterval& interval) {
    const std::lock_guard lock(mutex);
    heard.push_back(interval);
    progress = progress == 100 ? 40 : 100;  // a warm-up is over: the count begins anew
    one_more.notify_one();
  }};

  /// However slow the machine is. @return  is that so?
  bool await_heard(std::size_t count) {
    std::unique_lock lock(mutex);
    return one_more.wait_for(lock, std::chrono::minutes(1), [&] { return heard.size() >= count; });
  }
};

TEST_F(IntervalThreadTest, TellsWhatEachIntervalSawUntilItEnds) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const IntervalThread thread{test_case, [this] { return progress.load(); }, listener};
    ASSERT_TRUE(await_heard(3));
  }
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(heard.size() * test_case.interval_ns, static_cast<std::uint64_t>(elapsed.count()));
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
    if (listener.bounded_too) return await_heard(1);
    std::this_thread::sleep_for(milliseconds(250));
    return !heard.empty();
  };
  EXPECT_FALSE(intervals());
  listener.bounded_too = true;
  EXPECT_TRUE(intervals());
}

}  // namespace
}  // namespace rdmameter
