// SPDX-License-Identifier: Apache-2.0
// A recorded histogram as plain data: merged, summarised and written after the measuring is over.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/instrument/histogram.h"

namespace rdmameter {

/// The non-empty buckets of a histogram of nanoseconds; see core/instrument/histogram.h for the
/// index rule.
struct HistogramData {
  std::uint64_t count = 0;  ///< all samples, overflow included
  std::uint64_t sum_ns = 0;
  std::uint64_t min_ns = 0;  ///< 0 while count is 0
  std::uint64_t max_ns = 0;
  std::uint64_t overflow = 0;
  std::vector<std::pair<std::uint32_t, std::uint64_t>>
      buckets;  ///< (index, n), index ascending, n > 0

  bool operator==(const HistogramData&) const = default;
};

/// What has been recorded so far.
HistogramData snapshot(const Histogram& histogram);

/// Adds the samples of `other`: exactly what recording both into one histogram would have given.
void merge(HistogramData& into, const HistogramData& other);

/// Value [ns] of the sample at nearest rank ceil(percent / 100 * count): its bucket's midpoint,
/// held within [min, max], so at most 0.05 % off. Samples without a bucket (overflow) rank last and
/// yield max.
/// @param percent  in (0, 100]
/// @return         0 for an empty histogram
std::uint64_t percentile(const HistogramData& data, double percent);

/// As percentile(), but only where enough samples stand behind it: at least ten beyond the
/// percentile (p50 20, p90 100, p99 1000, p99.9 10^4, p99.99 10^5 samples in all).
std::optional<std::uint64_t> reported_percentile(const HistogramData& data, double percent);

/// What the reports say about a latency. In ns, or in whatever the divisor makes of it.
struct LatencySummary {
  std::uint64_t count = 0;
  double min = 0, max = 0;                             ///< exact
  double mean = 0;                                     ///< exact: sum / count
  double stddev = 0;                                   ///< of the population, from bucket midpoints
  std::optional<double> p50, p90, p99, p99_9, p99_99;  ///< null: too few samples
};

/// @param divisor  1: the samples as they are; 2: half round trips, each statistic divided
LatencySummary summarize(const HistogramData& data, double divisor = 1);

}  // namespace rdmameter
