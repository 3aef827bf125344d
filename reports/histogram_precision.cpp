// SPDX-License-Identifier: Apache-2.0
#include "reports/histogram_precision.h"

#include <algorithm>
#include <bit>
#include <map>

#include "core/histogram.h"

namespace rdmameter {

std::uint64_t bucket_of(std::uint64_t value_ns, unsigned precision_bits) {
  const auto width = static_cast<unsigned>(std::bit_width(value_ns));
  const unsigned shift = width > precision_bits + 1 ? width - precision_bits - 1 : 0;
  return (std::uint64_t{shift} << precision_bits) + (value_ns >> shift);
}

std::uint64_t lowest_of(std::uint64_t index, unsigned precision_bits) {
  const std::uint64_t half = index >> precision_bits;
  const std::uint64_t shift = half > 0 ? half - 1 : 0;
  return (index - (shift << precision_bits)) << shift;
}

std::uint64_t bucket_count(unsigned precision_bits) {
  return bucket_of((1ULL << kHistogramMaxBits) - 1, precision_bits) + 1;
}

HistogramData with_our_precision(const HistogramData& data, unsigned precision_bits) {
  std::map<std::uint32_t, std::uint64_t> counted;
  const auto count = [&counted](std::uint64_t value_ns, std::uint64_t n) {
    if (n > 0) counted[static_cast<std::uint32_t>(histogram_index(value_ns))] += n;
  };
  for (const auto& [index, n] : data.buckets) {
    const std::uint64_t low = lowest_of(index, precision_bits);
    const std::uint64_t high = lowest_of(std::uint64_t{index} + 1, precision_bits) - 1;
    const bool has_min = low <= data.min_ns && data.min_ns <= high;
    const bool has_max = low <= data.max_ns && data.max_ns <= high;
    std::uint64_t left = n;
    for (const auto& [holds, value_ns] :
         {std::pair{has_min, data.min_ns}, std::pair{has_max, data.max_ns}}) {
      if (!holds || left == 0) continue;
      count(value_ns, 1);
      --left;
    }
    count(std::clamp(low + (high - low + 1) / 2, std::max(low, data.min_ns),
                     std::min(high, data.max_ns)),
          left);
  }
  HistogramData made = data;
  made.buckets.assign(counted.begin(), counted.end());
  return made;
}

}  // namespace rdmameter
