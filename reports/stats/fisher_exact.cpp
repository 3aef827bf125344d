// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/fisher_exact.h"

#include <algorithm>
#include <cmath>

namespace rdmameter {
namespace {

double log_choose(std::uint64_t n, std::uint64_t k) {
  const auto whole = static_cast<double>(n), part = static_cast<double>(k);
  return std::lgamma(whole + 1) - std::lgamma(part + 1) - std::lgamma(whole - part + 1);
}

}  // namespace

double fisher_exact(const Failures& base, const Failures& other) {
  const std::uint64_t failed = base.failed + other.failed;
  if (base.all == 0 || other.all == 0 || other.failed == 0) return 1;
  const double ways = log_choose(base.all + other.all, failed);
  double sum = 0;
  for (std::uint64_t k = other.failed; k <= std::min(failed, other.all); ++k) {
    if (failed - k > base.all) continue;
    sum += std::exp(log_choose(other.all, k) + log_choose(base.all, failed - k) - ways);
  }
  return std::min(1.0, sum);
}

}  // namespace rdmameter
