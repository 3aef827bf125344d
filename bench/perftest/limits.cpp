// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace rdmameter {

void PerftestLimits::add(const PerftestReport& report, std::uint64_t size_bytes,
                         const PerftestTraffic& traffic) {
  const PerftestBandwidth reached = perftest_bandwidth(report, size_bytes, traffic);
  best_bandwidth_ = std::max(best_bandwidth_.value_or(0), reached.average);
  best_rate_ = std::max(best_rate_.value_or(0), reached.message_rate);
}

std::optional<PerftestLimits::Miss> PerftestLimits::miss(const PerftestReport& report) const {
  if (best_bandwidth_ && bandwidth_ && *best_bandwidth_ < *bandwidth_)
    return Miss{"Error: BW result is below bw limit\n",
                fmt::format("the bandwidth of {:.2f} is below -w, --limit_bw {:.2f} {}",
                            *best_bandwidth_, *bandwidth_, report.gbits ? "Gb/sec" : "MiB/sec")};
  if (!best_rate_ || !rate_ || *best_rate_ >= *rate_) return std::nullopt;
  const std::string slow = fmt::format(
      "the message rate of {:.6f} is below -y, --limit_msgrate {:.6f} Mpps", *best_rate_, *rate_);
  if (bandwidth_) return Miss{"Error: Msg rate  is below msg_rate limit\n", slow};
  return Miss{"", slow + ", which changes no status without -w"};
}

}  // namespace rdmameter
