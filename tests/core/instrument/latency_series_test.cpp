// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "core/instrument/histogram_data.h"
#include "core/instrument/series.h"

namespace rdmameter {
namespace {

class LatencySeriesTest : public testing::Test {
 protected:
  void record(std::uint64_t value_ns, std::uint64_t times = 1) {
    for (; times != 0; --times) all_->record(value_ns);
  }
  LatencySeries& series(std::uint64_t interval_ns = 100) {
    if (!series_) series_ = std::make_unique<LatencySeries>(interval_ns, true);
    return *series_;
  }
  const Histogram& all() const { return *all_; }

 private:
  std::unique_ptr<Histogram> all_ = std::make_unique<Histogram>();
  std::unique_ptr<LatencySeries> series_;
};

std::uint64_t samples(const std::vector<IntervalLatency>& intervals) {
  return std::accumulate(
      intervals.begin(), intervals.end(), std::uint64_t{0},
      [](std::uint64_t sum, const IntervalLatency& one) { return sum + one.count; });
}

TEST_F(LatencySeriesTest, EachIntervalHasItsOwnSamplesAndLosses) {
  record(10'000, 2000);
  series().close(all(), 3);
  record(20'000, 30);
  record(5'000'000);
  series().close(all(), 3);
  const auto intervals = series().intervals();
  ASSERT_EQ(intervals.size(), 2U);
  EXPECT_EQ(intervals[0].count, 2000U);
  EXPECT_EQ(intervals[0].lost, 3U);
  EXPECT_NEAR(static_cast<double>(*intervals[0].p50), 10'000, 80);
  EXPECT_NEAR(static_cast<double>(*intervals[0].p99), 10'000, 80);
  EXPECT_EQ(intervals[1].count, 31U);
  EXPECT_EQ(intervals[1].lost, 0U);
  EXPECT_NEAR(static_cast<double>(*intervals[1].p50), 20'000, 160);
  EXPECT_FALSE(intervals[1].p99);  // of 31 samples nobody knows it
  EXPECT_NEAR(static_cast<double>(*intervals[1].max), 5'000'000, 5'000);
}

TEST_F(LatencySeriesTest, APercentileIsKnownOnceTenSamplesAreBeyondIt) {
  for (const std::uint64_t count : {19U, 20U, 999U, 1000U}) {
    record(500, count);
    series().close(all(), 0);
  }
  const auto intervals = series().intervals();
  ASSERT_EQ(intervals.size(), 4U);
  EXPECT_FALSE(intervals[0].p50);
  EXPECT_TRUE(intervals[1].p50);
  EXPECT_FALSE(intervals[2].p99);
  EXPECT_TRUE(intervals[3].p99);
}

TEST_F(LatencySeriesTest, APercentileIsTheSampleOfItsRank) {
  for (std::uint64_t i = 1; i <= 1000; ++i) record(100 * i);
  series().close(all(), 0);
  const auto interval = series().intervals().front();
  EXPECT_NEAR(static_cast<double>(interval.p50.value()), 50'000, 50'000 / 256.0);
  EXPECT_NEAR(static_cast<double>(interval.p99.value()), 99'000, 99'000 / 256.0);
  EXPECT_NEAR(static_cast<double>(interval.max.value()), 100'000, 100'000 / 2048.0);
}

TEST_F(LatencySeriesTest, ASampleWithoutABucketCountsInItsIntervalAlone) {
  constexpr std::uint64_t kBeyond = std::uint64_t{1} << kHistogramMaxBits;
  record(10, 3);
  series().close(all(), 0);
  record(kBeyond + 7);
  series().close(all(), 0);
  record(20);
  series().close(all(), 0);
  const auto intervals = series().intervals();
  ASSERT_EQ(intervals.size(), 3U);
  EXPECT_EQ(intervals[0].max, 10U);
  EXPECT_EQ(intervals[1].count, 1U);
  EXPECT_EQ(intervals[1].max, kBeyond + 7);
  EXPECT_EQ(intervals[2].count, 1U);
  EXPECT_EQ(intervals[2].max, 20U);
}

TEST_F(LatencySeriesTest, OfSamplesWithoutABucketEachPercentileIsTheGreatest) {
  record(std::uint64_t{4} << kHistogramMaxBits, 1000);
  series().close(all(), 0);
  const auto interval = series().intervals().front();
  EXPECT_EQ(interval.p50, interval.max);
  EXPECT_EQ(interval.p99, interval.max);
}

TEST_F(LatencySeriesTest, KnowsWhetherSamplesCanBeLost) {
  EXPECT_TRUE(LatencySeries(100, true).lossy());
  EXPECT_FALSE(LatencySeries(100, false).lossy());
}

TEST_F(LatencySeriesTest, ALongSampleLeavesTheIntervalsThatItTookEmpty) {
  record(10, 5);
  record(350);
  EXPECT_EQ(series().left_ns(90), 10U);
  series().note(all(), 0, 440);
  EXPECT_EQ(series().left_ns(440), 60U);
  record(10);
  series().close(all(), 0);
  const auto intervals = series().intervals();
  ASSERT_EQ(intervals.size(), 5U);
  EXPECT_EQ(intervals[0].max, 350U);
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(intervals[i].count, 0U);
    EXPECT_FALSE(intervals[i].max);
  }
  EXPECT_EQ(intervals[4].count, 1U);
}

TEST_F(LatencySeriesTest, AnEmptyLastIntervalIsNone) {
  record(10);
  series().close(all(), 0);
  series().close(all(), 0);
  EXPECT_EQ(series().intervals().size(), 1U);
}

/// Whatever the number of intervals: none is lost, and they stay in order.
TEST_F(LatencySeriesTest, OfVeryManyIntervalsTwoBecomeOneInTheirOrder) {
  for (const std::size_t closed : {1023U, 1024U, 1025U, 1500U, 2047U, 2048U, 2600U, 5000U}) {
    auto all = std::make_unique<Histogram>();
    LatencySeries one{100, false};
    std::uint64_t elapsed_ns = 0, recorded = 0;
    while (recorded < closed) {
      all->record(1'000 + ++recorded);
      elapsed_ns += one.left_ns(elapsed_ns);
      one.note(*all, 0, elapsed_ns);
    }
    const auto intervals = one.intervals();
    EXPECT_LE(intervals.size(), LatencySeries::kMostIntervals) << closed;
    EXPECT_GE(intervals.size(), LatencySeries::kMostIntervals / 2 - 1) << closed;
    EXPECT_EQ(samples(intervals), closed);
    if (closed < 2048) {
      EXPECT_EQ(one.interval_ns(), closed < 1024 ? 100U : closed < 1536 ? 200U : 400U);
    }
    for (std::size_t i = 1; i < intervals.size(); ++i)
      ASSERT_GT(*intervals[i].max, *intervals[i - 1].max) << closed << " at " << i;
  }
}

TEST_F(LatencySeriesTest, TheLastIntervalIsToldOnce) {
  std::uint64_t seen = 0;
  EXPECT_FALSE(series().latest(seen));
  record(10, 25);
  series().close(all(), 1);
  const auto told = series().latest(seen);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->count, 25U);
  EXPECT_EQ(told->lost, 1U);
  EXPECT_EQ(told->p50, 10U);
  EXPECT_FALSE(series().latest(seen));
}

TEST_F(LatencySeriesTest, ThreadsAddUpAlsoWhereOneHasHadMoreIntervals) {
  LatencySeries other{100, true};
  auto theirs = std::make_unique<Histogram>();
  for (std::size_t i = 0; i < LatencySeries::kMostIntervals; ++i) {
    theirs->record(50);
    other.close(*theirs, 0);
  }
  ASSERT_EQ(other.interval_ns(), 200U);
  for (int i = 0; i < 3; ++i) {
    record(70);
    series().close(all(), 0);
  }
  series().add(other);
  const auto intervals = series().intervals();
  EXPECT_EQ(series().interval_ns(), 200U);
  ASSERT_EQ(intervals.size(), LatencySeries::kMostIntervals / 2);
  EXPECT_EQ(intervals[0].count, 4U);
  EXPECT_EQ(intervals[1].count, 3U);
  EXPECT_EQ(intervals[2].count, 2U);
  EXPECT_EQ(intervals[0].max, 70U);
}

}  // namespace
}  // namespace rdmameter
