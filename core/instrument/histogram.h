// SPDX-License-Identifier: Apache-2.0
// A fixed-size log-linear histogram of nanoseconds: HdrHistogram's counts array with
// sub_bucket_half_count_magnitude 10 and sub_bucket_count 2048 (unit magnitude 0), so that files
// can be merged exactly and read by HdrHistogram's tools. Recording is part of the measured path.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace rdmameter {

inline constexpr unsigned kHistogramPrecisionBits = 10;
inline constexpr unsigned kHistogramMaxBits = 41;  ///< values below 2^41 ns (36 min) have a bucket

/// Index of the bucket that holds `value_ns` (below 2^41).
/// Below 2048 a bucket is 1 ns wide; above it, 2^10 buckets share each power of two.
constexpr std::uint64_t histogram_index(std::uint64_t value_ns) noexcept {
  constexpr std::uint64_t kLinear = (2ULL << kHistogramPrecisionBits) - 1;
  // 63 ^ clz is the number of the highest bit, and one instruction (std::bit_width takes three).
  const unsigned highest_bit = 63U ^ static_cast<unsigned>(__builtin_clzll(value_ns | kLinear));
  const unsigned shift = highest_bit - kHistogramPrecisionBits;
  return (std::uint64_t{shift} << kHistogramPrecisionBits) + (value_ns >> shift);
}

/// Least value of bucket `index` [ns]; the bucket ends before `histogram_lowest(index + 1)`.
constexpr std::uint64_t histogram_lowest(std::uint32_t index) noexcept {
  constexpr std::uint32_t kHalf = 1U << kHistogramPrecisionBits;
  if (index < 2 * kHalf) return index;
  const std::uint32_t shift = (index >> kHistogramPrecisionBits) - 1;
  return static_cast<std::uint64_t>(index - (shift << kHistogramPrecisionBits)) << shift;
}

inline constexpr std::size_t kHistogramBuckets =
    histogram_index((1ULL << kHistogramMaxBits) - 1) + 1;
static_assert(kHistogramBuckets == 32768);

/// Counts of samples by bucket, with exact sum, least and largest. 256 KiB; allocate and touch it
/// before the clock starts. One writer.
class Histogram {
 public:
  /// Adds one sample [ns]. Never fails: a value without a bucket counts as overflow (and in sum,
  /// max). New extremes are rare, so branches cost less than keeping both up by conditional moves,
  /// and one of them finds the overflow too.
  void record(std::uint64_t value_ns) noexcept {
    sum_ += value_ns;
    if (value_ns < min_) [[unlikely]]
      min_ = value_ns;
    if (value_ns > highest_) [[unlikely]] {
      if (value_ns >> kHistogramMaxBits != 0) {
        ++overflow_;
        overflow_max_ = value_ns > overflow_max_ ? value_ns : overflow_max_;
        return;
      }
      highest_ = value_ns;
    }
    ++counts_[histogram_index(value_ns)];
  }

  /// Takes over the other's samples; exact, the buckets being alike.
  void add(const Histogram& other) noexcept {
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    highest_ = std::max(highest_, other.highest_);
    overflow_ += other.overflow_;
    overflow_max_ = std::max(overflow_max_, other.overflow_max_);
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

  std::uint64_t bucket(std::uint32_t index) const noexcept { return counts_[index]; }
  std::uint64_t sum_ns() const noexcept { return sum_; }
  std::uint64_t min_ns() const noexcept { return min_; }  ///< UINT64_MAX while empty
  std::uint64_t max_ns() const noexcept { return overflow_ != 0 ? overflow_max_ : highest_; }
  std::uint64_t overflow() const noexcept { return overflow_; }

 private:
  std::uint64_t sum_ = 0;  ///< [ns]; 584 years of samples fit
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t highest_ = 0;  ///< of the values that have a bucket
  std::uint64_t overflow_ = 0, overflow_max_ = 0;
  std::array<std::uint64_t, kHistogramBuckets> counts_{};
};

// What a measured loop does with a series of latencies (core/instrument/series.h): only at
// the ends of intervals, between two samples. Nothing is allocated.

class IntervalLatencies {
 public:
  /// An interval is over; it has what `all` has got since the last one.
  /// @param all   every sample since the series began
  /// @param lost  likewise
  virtual void close(const Histogram& all, std::uint64_t lost) noexcept = 0;
  /// An interval without a sample is over.
  virtual void close_empty() noexcept = 0;

  // Of a loop that knows how long it has measured.

  /// Until the interval is over.
  virtual std::uint64_t left_ns(std::uint64_t elapsed_ns) const noexcept = 0;
  /// Closes what is over by then. The first interval has the samples, those behind it none: a
  /// closed loop's last sample began in the first.
  virtual void note(const Histogram& all, std::uint64_t lost,
                    std::uint64_t elapsed_ns) noexcept = 0;

 protected:
  ~IntervalLatencies() = default;
};

}  // namespace rdmameter
