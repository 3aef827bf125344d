// SPDX-License-Identifier: Apache-2.0
#include "reports/histogram_precision.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "reports/row_json.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

HistogramData recorded(const std::vector<std::uint64_t>& samples, unsigned precision_bits) {
  HistogramData data{.count = samples.size(), .min_ns = ~0ULL};
  std::map<std::uint32_t, std::uint64_t> buckets;
  for (const std::uint64_t sample : samples) {
    ++buckets[static_cast<std::uint32_t>(bucket_of(sample, precision_bits))];
    data.sum_ns += sample;
    data.min_ns = std::min(data.min_ns, sample);
    data.max_ns = std::max(data.max_ns, sample);
  }
  data.buckets.assign(buckets.begin(), buckets.end());
  return data;
}

std::vector<std::uint64_t> many_samples() {
  std::mt19937_64 engine(1);
  std::vector<std::uint64_t> samples;
  for (int i = 0; i < 2000; ++i) samples.push_back(engine() >> (23 + engine() % 40));
  return samples;
}

TEST(HistogramPrecision, RuleIsOursAtTenBits) {
  for (const std::uint64_t value : many_samples()) {
    EXPECT_EQ(bucket_of(value, 10), histogram_index(value));
    EXPECT_EQ(lowest_of(bucket_of(value, 10), 10),
              histogram_lowest(static_cast<std::uint32_t>(histogram_index(value))));
  }
  EXPECT_EQ(bucket_count(10), kHistogramBuckets);
}

TEST(HistogramPrecision, FromAFinerOneIsExact) {
  const auto samples = many_samples();
  EXPECT_EQ(with_our_precision(recorded(samples, 13), 13), recorded(samples, 10));
}

TEST(HistogramPrecision, FromACoarserOneIsAsCoarseAndKeepsWhatIsExact) {
  const auto samples = many_samples();
  const HistogramData made = with_our_precision(recorded(samples, 7), 7);
  const HistogramData exact = recorded(samples, 10);
  EXPECT_EQ(made.count, exact.count);
  EXPECT_EQ(made.buckets.front().first, histogram_index(exact.min_ns));
  EXPECT_EQ(made.buckets.back().first, histogram_index(exact.max_ns));
  for (const double percent : {10.0, 50.0, 90.0, 99.0})
    EXPECT_NEAR(static_cast<double>(percentile(made, percent)),
                static_cast<double>(percentile(exact, percent)),
                static_cast<double>(percentile(exact, percent)) / 128 + 1);
}

TEST(HistogramPrecision, OfARowIsSaidAndWhatIsWrittenCanBeReadAgain) {
  nlohmann::ordered_json json = row_to_json(latency_row("rc", 2, 0, 1));
  auto& histogram = json["latency"]["histogram"];
  histogram["precision_bits"] = 5;
  histogram.update({{"count", 5}, {"sum", 5000}, {"min", 900}, {"max", 1100}});
  histogram["index"] = {bucket_of(900, 5), bucket_of(1000, 5), bucket_of(1100, 5)};
  histogram["n"] = {1, 3, 1};
  const Row row = row_from_json(json, "test");
  EXPECT_EQ(row.more.at("histogram_recorded_bits"), 5);
  const Row again = row_from_json(row_to_json(row), "test");
  EXPECT_EQ(again.latency->histogram, row.latency->histogram);
  EXPECT_EQ(again.more, row.more);
}

}  // namespace
}  // namespace rdmameter
