// SPDX-License-Identifier: Apache-2.0
// -w and -y: rates below which a perftest tool ends with 1.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/perftest/report.h"

namespace rdmameter {

/// The limits of -w and -y. Of several rows (-a) one that reaches a limit is enough,
/// as in perftest.
class PerftestLimits {
 public:
  /// @param bandwidth  -w in the unit of the column
  /// @param rate       -y [Mmsg/s], which fails nothing without -w
  PerftestLimits(std::optional<double> bandwidth, std::optional<double> rate)
      : bandwidth_(bandwidth), rate_(rate) {}

  void add(const PerftestReport& report, std::uint64_t size_bytes, const PerftestTraffic& traffic);

  /// Is no limit missed that changes the status? Else stderr says which, first by the line by which
  /// scripts know it. -y alone is told in a note.
  bool met(const PerftestReport& report) const;

 private:
  std::optional<double> bandwidth_, rate_;
  std::optional<double> best_bandwidth_, best_rate_;  ///< of any row
};

}  // namespace rdmameter
