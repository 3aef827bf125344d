// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "core/instrument/histogram_data.h"

namespace rdmameter {
namespace {

/// HdrHistogram_c's counts_index_for(), written down slowly: unit magnitude 0,
/// sub_bucket_half_count_magnitude 10, sub_bucket_count 2048.
std::uint64_t hdr_counts_index(std::uint64_t value) {
  std::uint64_t bucket_index = 0;
  while ((value >> bucket_index) >= 2048) ++bucket_index;
  const std::uint64_t sub_bucket_index = value >> bucket_index;
  const std::uint64_t bucket_base_index = (bucket_index + 1) * 1024;
  return bucket_base_index + sub_bucket_index - 1024;
}

/// Every power of two with its neighbours, and random values of every magnitude.
std::vector<std::uint64_t> telling_values() {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 0; value < 5000; ++value) values.push_back(value);
  for (unsigned bit = 2; bit < kHistogramMaxBits; ++bit)
    for (const std::uint64_t offset : {-1, 0, 1}) values.push_back((1ULL << bit) + offset);
  values.push_back((1ULL << kHistogramMaxBits) - 1);
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) values.push_back(random() >> (64 - kHistogramMaxBits + i % 41));
  return values;
}

/// Latencies as they come: most of them near 1.5 us, some far out, a few beyond every bucket.
std::vector<std::uint64_t> samples(unsigned seed, int count) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> near(7.3, 0.2);
  std::lognormal_distribution<double> far(12, 3);
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i)
    values.push_back(static_cast<std::uint64_t>(i % 50 == 0 ? far(random) : near(random)));
  return values;
}

HistogramData record_all(const std::vector<std::uint64_t>& values) {
  const auto histogram = std::make_unique<Histogram>();
  for (const std::uint64_t value : values) histogram->record(value);
  return snapshot(*histogram);
}

TEST(HistogramIndex, FollowsHdrHistogramsCountsArray) {
  for (const std::uint64_t value : telling_values())
    ASSERT_EQ(histogram_index(value), hdr_counts_index(value)) << value;
}

TEST(HistogramIndex, IsInvertedByLowest) {
  for (std::uint32_t index = 0; index < kHistogramBuckets; ++index) {
    const std::uint64_t lowest = histogram_lowest(index);
    ASSERT_EQ(histogram_index(lowest), index);
    if (lowest > 0) {
      ASSERT_EQ(histogram_index(lowest - 1), index - 1);
    }
  }
  EXPECT_EQ(histogram_lowest(kHistogramBuckets), 1ULL << kHistogramMaxBits);
}

TEST(HistogramIndex, BucketsAreAtMostATenthOfAPercentWide) {
  for (std::uint32_t index = 1; index < kHistogramBuckets; ++index) {
    const auto lowest = static_cast<double>(histogram_lowest(index));
    const auto width = static_cast<double>(histogram_lowest(index + 1)) - lowest;
    ASSERT_TRUE(width == 1 || width / lowest <= 0.001) << index;
  }
}

TEST(Histogram, CountsWhatHasNoBucketAsOverflow) {
  const std::uint64_t limit = 1ULL << kHistogramMaxBits;
  const HistogramData data = record_all({100, limit - 1, limit, limit + 5});
  EXPECT_EQ(data.count, 4U);
  EXPECT_EQ(data.overflow, 2U);
  EXPECT_EQ(data.min_ns, 100U);
  EXPECT_EQ(data.max_ns, limit + 5);
  EXPECT_EQ(data.sum_ns, 100 + 3 * limit + 4);
  EXPECT_EQ(data.buckets, (Buckets{{histogram_index(100), 1}, {kHistogramBuckets - 1, 1}}));
}

TEST(Buckets, AreReadAsTheyWereAdded) {
  const std::vector<Buckets::value_type> added = {
      {0, 1}, {1, 127}, {128, 128}, {256, 1ULL << 53}, {kHistogramBuckets - 1, ~0ULL}};
  const Buckets buckets(added.begin(), added.end());
  std::vector<Buckets::value_type> read;
  for (const auto& bucket : buckets) read.push_back(bucket);
  EXPECT_EQ(read, added);
  EXPECT_EQ(buckets.front(), added.front());
  EXPECT_EQ(buckets.back(), added.back());
  EXPECT_FALSE(buckets.empty());
  EXPECT_TRUE(Buckets().empty());
}

TEST(HistogramData, VariesByWhatHasNoBucketAsByItsMaximum) {
  const std::uint64_t far = 1ULL << (kHistogramMaxBits + 1);
  EXPECT_NEAR(standard_deviation(record_all({100, 100, far, far})),
              static_cast<double>(far - 100) / 2, 1);
}

TEST(HistogramData, OfNothingIsAllZero) {
  const HistogramData data = record_all({});
  EXPECT_EQ(data, HistogramData{});
  EXPECT_EQ(percentile(data, 50), 0U);
  const LatencySummary summary = summarize(data);
  EXPECT_EQ(summary.count, 0U);
  EXPECT_EQ(summary.mean, 0);
  EXPECT_FALSE(summary.p50.has_value());
}

TEST(HistogramMerge, IsExactlyRecordingTogether) {
  const std::uint64_t huge = 1ULL << 50;
  std::vector<std::uint64_t> first = samples(1, 3000), second = samples(2, 500), both = first;
  second.push_back(huge);
  both.insert(both.end(), second.begin(), second.end());
  HistogramData merged = record_all(first);
  merge(merged, record_all(second));
  EXPECT_EQ(merged, record_all(both));

  HistogramData other_way = record_all(second);
  merge(other_way, record_all(first));
  EXPECT_EQ(other_way, merged);
}

TEST(HistogramMerge, OfThreadsIsExactlyRecordingTogether) {
  const std::uint64_t huge = 1ULL << 50;
  for (const auto& [first, second] :
       {std::pair(samples(1, 300), std::vector<std::uint64_t>{3, 9'000'000'000, huge}),
        std::pair(std::vector<std::uint64_t>{3, 9'000'000'000, huge}, samples(1, 300))}) {
    const auto sum = std::make_unique<Histogram>(), other = std::make_unique<Histogram>();
    std::vector<std::uint64_t> both = first;
    both.insert(both.end(), second.begin(), second.end());
    for (const std::uint64_t value : first) sum->record(value);
    for (const std::uint64_t value : second) other->record(value);
    sum->add(*other);
    EXPECT_EQ(snapshot(*sum), record_all(both));
    sum->record(huge - 1);  // beyond every bucket, and no new maximum
    EXPECT_EQ(sum->max_ns(), huge);
  }
}

TEST(HistogramMerge, OfThreadsKeepsTheHighestThatHasABucket) {
  for (const std::uint64_t mine : {5U, 7000U}) {
    const auto sum = std::make_unique<Histogram>(), other = std::make_unique<Histogram>();
    sum->record(mine);
    other->record(7005 - mine);
    sum->add(*other);
    EXPECT_EQ(sum->max_ns(), 7000U);
    EXPECT_EQ(sum->min_ns(), 5U);
  }
}

TEST(HistogramMerge, WithNothingChangesNothing) {
  const HistogramData data = record_all({5, 6, 7000});
  HistogramData from_empty;
  merge(from_empty, data);
  EXPECT_EQ(from_empty, data);
  HistogramData with_empty = data;
  merge(with_empty, HistogramData{});
  EXPECT_EQ(with_empty, data);
}

TEST(Percentile, IsTheNearestRankOfTheSortedSamples) {
  std::vector<std::uint64_t> values = samples(3, 20000);
  const HistogramData data = record_all(values);
  std::ranges::sort(values);
  for (const int per_myriad : {1, 100, 2500, 5000, 9000, 9900, 9990, 9999, 10000}) {
    const std::size_t rank = (values.size() * per_myriad + 9999) / 10000;  // whole numbers: exact
    const std::uint64_t truth = values[rank - 1];
    const std::uint64_t told = percentile(data, per_myriad / 100.0);
    if (truth >> kHistogramMaxBits) {
      EXPECT_EQ(told, data.max_ns);
    } else {
      EXPECT_EQ(histogram_index(told), histogram_index(truth)) << per_myriad;
    }
  }
}

TEST(Percentile, OfSmallValuesIsExact) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 1; value <= 1000; ++value) values.push_back(value);
  const HistogramData data = record_all(values);
  EXPECT_EQ(percentile(data, 50), 500U);
  EXPECT_EQ(percentile(data, 99), 990U);
  EXPECT_EQ(percentile(data, 99.9), 999U);  // in doubles 99.9 / 100 * 1000 is a little above 999
  EXPECT_EQ(percentile(data, 100), 1000U);
  EXPECT_EQ(percentile(data, 0.01), 1U);
}

TEST(Percentile, StaysWithinWhatWasSeen) {
  const std::uint64_t lowest = histogram_lowest(histogram_index(1'000'000));
  EXPECT_EQ(percentile(record_all({lowest}), 50), lowest);  // the midpoint would be above max
  const std::uint64_t highest = histogram_lowest(histogram_index(1'000'000) + 1) - 1;
  EXPECT_EQ(percentile(record_all({highest}), 50), highest);  // below min
}

TEST(Percentile, RanksOverflowLastAndCallsItMax) {
  const std::uint64_t huge = 1ULL << 45;
  EXPECT_EQ(percentile(record_all({10, 20, huge, huge + 1}), 50), 20U);
  EXPECT_EQ(percentile(record_all({10, 20, huge, huge + 1}), 75), huge + 1);
}

TEST(ReportedPercentile, NeedsTenSamplesBeyondIt) {
  const std::vector<std::pair<double, std::uint64_t>> kNeeded = {
      {50, 20}, {90, 100}, {99, 1000}, {99.9, 10'000}, {99.99, 100'000}};
  for (const auto& [percent, needed] : kNeeded) {
    HistogramData data{.count = needed, .min_ns = 8, .max_ns = 8, .buckets = {{8, needed}}};
    EXPECT_EQ(reported_percentile(data, percent), 8U) << percent;
    data.count = needed - 1;
    data.buckets = {{8, needed - 1}};
    EXPECT_FALSE(reported_percentile(data, percent).has_value()) << percent;
  }
}

TEST(LatencySummary, HasTheSamplesRangeMeanAndSpread) {
  const std::vector<std::uint64_t> values = samples(4, 5000);
  long double sum = 0, squares = 0;
  for (const std::uint64_t value : values) sum += value;
  const long double mean = sum / values.size();
  for (const std::uint64_t value : values) squares += (value - mean) * (value - mean);
  const LatencySummary summary = summarize(record_all(values));
  EXPECT_EQ(summary.count, values.size());
  EXPECT_EQ(summary.min, static_cast<double>(std::ranges::min(values)));
  EXPECT_EQ(summary.max, static_cast<double>(std::ranges::max(values)));
  EXPECT_DOUBLE_EQ(summary.mean, static_cast<double>(mean));  // exact, not from buckets
  EXPECT_NEAR(summary.stddev / std::sqrt(static_cast<double>(squares / values.size())), 1, 0.001);
}

TEST(LatencySummary, HasEachPercentileOfEnoughSamples) {
  const HistogramData data = record_all(samples(6, 100'000));
  const LatencySummary summary = summarize(data);
  for (const auto& [value, percent] :
       {std::pair(summary.p50, 50.0), std::pair(summary.p90, 90.0), std::pair(summary.p99, 99.0),
        std::pair(summary.p99_9, 99.9), std::pair(summary.p99_99, 99.99)})
    EXPECT_EQ(value, static_cast<double>(percentile(data, percent))) << percent;
}

TEST(LatencySummary, OfHalfRoundTripsDividesEveryStatistic) {
  const HistogramData data = record_all(samples(5, 1001));
  const LatencySummary whole = summarize(data), half = summarize(data, 2);
  EXPECT_EQ(half.count, whole.count);
  EXPECT_EQ(half.min, whole.min / 2);
  EXPECT_EQ(half.max, whole.max / 2);
  EXPECT_EQ(half.mean, whole.mean / 2);
  EXPECT_EQ(half.stddev, whole.stddev / 2);
  EXPECT_EQ(*half.p50, *whole.p50 / 2);
  EXPECT_EQ(*half.p99, *whole.p99 / 2);
  EXPECT_FALSE(half.p99_9.has_value());
}

}  // namespace
}  // namespace rdmameter
