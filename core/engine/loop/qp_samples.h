// SPDX-License-Identifier: Apache-2.0
// The samples of one QP among several, in a small histogram: a thousand QPs' fit into memory. Part
// of the measured path, of those cases alone that have several QPs.
#pragma once

#include <cstdint>
#include <limits>

#include "core/instrument/histogram.h"

namespace rdmameter {

/// Buckets of a Histogram that are one here: 2^4. So one is 16 ns wide up to 2048 ns, and beyond at
/// most 1.6 % of its values.
inline constexpr unsigned kQpSamplesShift = 4;
inline constexpr std::size_t kQpSamplesBuckets = (kHistogramBuckets >> kQpSamplesShift) + 1;

/// Marks a policy of a loop as one that keeps figures of each QP: `using PerQp`.
template <class Base>
struct EachQp : Base {
  using PerQp = void;
};
template <class Of>
inline constexpr bool kPerQp = requires {
  typename Of::PerQp;
};

struct QpSamples {
  std::uint64_t count = 0, sum_ns = 0;
  std::uint64_t min_ns = std::numeric_limits<std::uint64_t>::max(), max_ns = 0;
  std::uint32_t* buckets = nullptr;  ///< kQpSamplesBuckets; or one, where `shift` is 63
  unsigned shift = kQpSamplesShift;

  void record(std::uint64_t value_ns) noexcept {
    ++count;
    sum_ns += value_ns;
    if (value_ns < min_ns) [[unlikely]]
      min_ns = value_ns;
    if (value_ns > max_ns) [[unlikely]]
      max_ns = value_ns;
    constexpr std::uint64_t kLargest = (1ULL << kHistogramMaxBits) - 1;
    ++buckets[histogram_index(value_ns < kLargest ? value_ns : kLargest) >> shift];
  }

  /// Forgets the samples of a warm-up.
  void clear() noexcept {
    const std::size_t used = shift == kQpSamplesShift ? kQpSamplesBuckets : 1;
    for (std::size_t i = 0; i < used; ++i) buckets[i] = 0;
    count = sum_ns = max_ns = 0;
    min_ns = std::numeric_limits<std::uint64_t>::max();
  }
};

}  // namespace rdmameter
