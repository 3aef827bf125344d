// SPDX-License-Identifier: Apache-2.0
// A recorded histogram as plain data: merged, summarised and written after the measuring is over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/instrument/histogram.h"

namespace rdmameter {

/// The non-empty buckets of a histogram, by ascending index, read forwards. Packed, two to four
/// bytes each where pairs take sixteen: a report holds a hundred thousand histograms.
class Buckets {
 public:
  using value_type = std::pair<std::uint32_t, std::uint64_t>;  ///< (index, n), n > 0

  class Iterator {
   public:
    using value_type = Buckets::value_type;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const std::uint8_t* begin, const std::uint8_t* end) : at_(begin), end_(end) {
      ++*this;
    }
    const value_type& operator*() const { return bucket_; }
    const value_type* operator->() const { return &bucket_; }
    Iterator& operator++() {
      done_ = at_ == end_;
      if (done_) return *this;
      bucket_.first += static_cast<std::uint32_t>(take());
      bucket_.second = take();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return done_; }

   private:
    std::uint64_t take() {
      const std::uint64_t value = *at_++;
      return value < 0x80 ? value : take_further(value);
    }
    std::uint64_t take_further(std::uint64_t value);

    const std::uint8_t *at_ = nullptr, *end_ = nullptr;
    value_type bucket_{};
    bool done_ = true;
  };

  Buckets() = default;
  Buckets(std::initializer_list<value_type> buckets) : Buckets(buckets.begin(), buckets.end()) {}
  Buckets(std::input_iterator auto first, std::input_iterator auto last) {
    for (; first != last; ++first) push_back(*first);
  }

  /// @param bucket  its index above back()'s
  void push_back(value_type bucket);
  void reserve(std::size_t buckets) { bytes_.reserve(2 * buckets); }

  Iterator begin() const { return {bytes_.data(), bytes_.data() + bytes_.size()}; }
  std::default_sentinel_t end() const { return {}; }
  bool empty() const { return bytes_.empty(); }
  value_type front() const { return *begin(); }
  value_type back() const { return back_; }

  bool operator==(const Buckets&) const = default;

 private:
  std::vector<std::uint8_t> bytes_;  ///< LEB128: the index less the one before it, and n
  value_type back_{};
};

/// The content of a histogram of nanoseconds; core/instrument/histogram.h has the index rule.
struct HistogramData {
  std::uint64_t count = 0;  ///< all samples, overflow included
  std::uint64_t sum_ns = 0;
  std::uint64_t min_ns = 0;  ///< 0 while count is 0
  std::uint64_t max_ns = 0;
  std::uint64_t overflow = 0;
  Buckets buckets;

  bool operator==(const HistogramData&) const = default;
};

/// The samples recorded so far.
HistogramData snapshot(const Histogram& histogram);

/// Adds the samples of `other`: exactly what recording both into one histogram would have given.
void merge(HistogramData& into, const HistogramData& other);

/// Value [ns] of the sample at nearest rank ceil(percent / 100 * count): its bucket's midpoint,
/// held within [min, max], so at most 0.05 % off. Samples without a bucket (overflow) rank last and
/// yield max.
/// @param percent  in (0, 100]
/// @return         0 for an empty histogram
std::uint64_t percentile(const HistogramData& data, double percent);

/// Value [ns] of the sample at a rank, from 1, where each count is of 2^shift neighbouring buckets:
/// their midpoint, held within [min_ns, max_ns].
std::uint64_t value_at_rank(std::span<const std::uint32_t> counts, unsigned shift,
                            std::uint64_t rank, std::uint64_t min_ns,
                            std::uint64_t max_ns) noexcept;

/// The percentile, but only where enough samples support it: at least ten beyond the percentile
/// (p50 20, p90 100, p99 1000, p99.9 10^4, p99.99 10^5 samples in all).
/// @param divisor  as summarize() takes it
std::optional<double> reported_percentile(const HistogramData& data, double percent,
                                          double divisor = 1);

/// Mean and standard deviation of the samples [ns]: the mean is exact, the deviation the
/// population's, from bucket midpoints.
/// @param data  with a sample at least
double mean(const HistogramData& data);
double standard_deviation(const HistogramData& data);

/// The figures of a latency in reports: in ns, or as the divisor makes them.
struct LatencySummary {
  std::uint64_t count = 0;
  double min = 0, max = 0;                             ///< exact
  double mean = 0, stddev = 0;                         ///< as the functions have them
  std::optional<double> p50, p90, p99, p99_9, p99_99;  ///< null: too few samples
};

/// @param divisor  1: the samples as they are; 2: half round trips, each statistic divided
LatencySummary summarize(const HistogramData& data, double divisor = 1);

}  // namespace rdmameter
