// SPDX-License-Identifier: Apache-2.0
#include "core/instrument/histogram_data.h"

#include <algorithm>
#include <cmath>

namespace rdmameter {
namespace {

/// Middle of the values of the buckets from `first` up to before `end` (as HdrHistogram's median
/// equivalent value), held within what was seen: where few samples are, no percentile may lie
/// outside [min, max].
std::uint64_t midpoint(std::uint32_t first, std::uint32_t end, std::uint64_t min_ns,
                       std::uint64_t max_ns) noexcept {
  const std::uint64_t lowest = histogram_lowest(first);
  const std::uint64_t width = histogram_lowest(end) - lowest;
  return std::clamp(lowest + width / 2, min_ns, max_ns);
}

/// Nearest rank, 1 to count. 99.9 / 100 is no exact binary number: without the tolerance rank 9990
/// of 10000 would be 9991. It is far above a double's error and far below 1 / count.
std::uint64_t nearest_rank(std::uint64_t count, double percent) {
  const auto samples = static_cast<double>(count);
  const double exact = percent / 100 * samples;
  const double rank = std::ceil(exact - exact * 1e-14);
  return static_cast<std::uint64_t>(std::clamp(rank, 1.0, samples));
}

void put(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

}  // namespace

void Buckets::push_back(value_type bucket) {
  put(bytes_, bucket.first - back_.first);
  put(bytes_, bucket.second);
  back_ = bucket;
}

std::uint64_t Buckets::Iterator::take_further(std::uint64_t value) {
  value &= 0x7F;
  for (unsigned shift = 7;; shift += 7) {
    const std::uint64_t byte = *at_++;
    value |= (byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

HistogramData snapshot(const Histogram& histogram) {
  HistogramData data;
  const bool fits =
      histogram.max_ns() >> kHistogramMaxBits == 0 && histogram.min_ns() <= histogram.max_ns();
  const std::uint64_t first = fits ? histogram_index(histogram.min_ns()) : 0;
  const std::uint64_t end = fits ? histogram_index(histogram.max_ns()) + 1 : kHistogramBuckets;
  for (auto index = static_cast<std::uint32_t>(first); index < end; ++index)
    if (const std::uint64_t n = histogram.bucket(index); n != 0) {
      data.buckets.push_back({index, n});
      data.count += n;
    }
  data.overflow = histogram.overflow();
  data.count += data.overflow;
  data.sum_ns = histogram.sum_ns();
  data.min_ns = data.count == 0 ? 0 : histogram.min_ns();
  data.max_ns = histogram.max_ns();
  return data;
}

void merge(HistogramData& into, const HistogramData& other) {
  if (other.count == 0) return;
  into.min_ns = into.count == 0 ? other.min_ns : std::min(into.min_ns, other.min_ns);
  into.max_ns = std::max(into.max_ns, other.max_ns);
  into.count += other.count;
  into.sum_ns += other.sum_ns;
  into.overflow += other.overflow;

  Buckets merged;
  Buckets::Iterator mine = into.buckets.begin();
  for (auto [index, n] : other.buckets) {
    for (; mine != into.buckets.end() && mine->first < index; ++mine) merged.push_back(*mine);
    if (mine != into.buckets.end() && mine->first == index) {
      n += mine->second;
      ++mine;
    }
    merged.push_back({index, n});
  }
  for (; mine != into.buckets.end(); ++mine) merged.push_back(*mine);
  into.buckets = std::move(merged);
}

std::uint64_t percentile(const HistogramData& data, double percent) {
  if (data.count == 0) return 0;
  const std::uint64_t rank = nearest_rank(data.count, percent);
  std::uint64_t seen = 0;
  for (const auto& [index, n] : data.buckets) {
    seen += n;
    if (seen >= rank) return midpoint(index, index + 1, data.min_ns, data.max_ns);
  }
  return data.max_ns;
}

std::uint64_t value_at_rank(std::span<const std::uint32_t> counts, unsigned shift,
                            std::uint64_t rank, std::uint64_t min_ns,
                            std::uint64_t max_ns) noexcept {
  std::uint64_t seen = 0;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (seen >= rank) return midpoint(i << shift, (i + 1) << shift, min_ns, max_ns);
  }
  return max_ns;
}

std::optional<double> reported_percentile(const HistogramData& data, double percent,
                                          double divisor) {
  // Ten samples beyond it; the tolerance as in nearest_rank().
  if ((100 - percent) / 100 * static_cast<double>(data.count) < 10 * (1 - 1e-9))
    return std::nullopt;
  return static_cast<double>(percentile(data, percent)) / divisor;
}

double mean(const HistogramData& data) {
  return static_cast<double>(data.sum_ns) / static_cast<double>(data.count);
}

double standard_deviation(const HistogramData& data) {
  const double middle = mean(data);
  double squares = 0;
  for (const auto& [index, n] : data.buckets) {
    const std::uint64_t ns = midpoint(index, index + 1, data.min_ns, data.max_ns);
    const double distance = static_cast<double>(ns) - middle;
    squares += static_cast<double>(n) * distance * distance;
  }
  // Samples without a bucket are known only to be at least 2^41 and at most max: they count as max.
  const double beyond = static_cast<double>(data.max_ns) - middle;
  squares += static_cast<double>(data.overflow) * beyond * beyond;
  return std::sqrt(squares / static_cast<double>(data.count));
}

LatencySummary summarize(const HistogramData& data, double divisor) {
  if (data.count == 0) return {};
  return {.count = data.count,
          .min = static_cast<double>(data.min_ns) / divisor,
          .max = static_cast<double>(data.max_ns) / divisor,
          .mean = mean(data) / divisor,
          .stddev = standard_deviation(data) / divisor,
          .p50 = reported_percentile(data, 50, divisor),
          .p90 = reported_percentile(data, 90, divisor),
          .p99 = reported_percentile(data, 99, divisor),
          .p99_9 = reported_percentile(data, 99.9, divisor),
          .p99_99 = reported_percentile(data, 99.99, divisor)};
}

}  // namespace rdmameter
