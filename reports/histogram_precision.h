// SPDX-License-Identifier: Apache-2.0
// Histograms that were recorded with another precision than ours.
#pragma once

#include <cstdint>

#include "core/histogram_data.h"

namespace rdmameter {

inline constexpr std::uint64_t kLeastPrecisionBits = 1, kMostPrecisionBits = 16;

/// The index rule (core/histogram.h) for any precision: the bucket of a value below 2^41, the least
/// value of a bucket, how many buckets there are.
std::uint64_t bucket_of(std::uint64_t value_ns, unsigned precision_bits);
std::uint64_t lowest_of(std::uint64_t index, unsigned precision_bits);
std::uint64_t bucket_count(unsigned precision_bits);

/// Counts the samples anew with our own precision. From a finer one this is exact; a coarser one
/// stays as coarse as it was: its samples lie at the midpoints of its buckets, but for the least
/// and the largest, which are known.
/// @param data  its buckets are of `precision_bits`, within `min_ns` to `max_ns`
HistogramData with_our_precision(const HistogramData& data, unsigned precision_bits);

}  // namespace rdmameter
