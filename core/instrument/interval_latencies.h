// SPDX-License-Identifier: Apache-2.0
// What a measured loop does with a series of latencies (core/instrument/latency_series.h): only at
// the ends of intervals, between two samples. Nothing is allocated.
#pragma once

#include <cstdint>

#include "core/instrument/histogram.h"

namespace rdmameter {

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
