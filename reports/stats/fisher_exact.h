// SPDX-License-Identifier: Apache-2.0
// Does one side fail more often than the other?
#pragma once

#include <cstdint>

namespace rdmameter {

struct Failures {
  std::uint64_t failed = 0, all = 0;
};

/// Fisher's exact test of one side: of all ways to deal the failures out, the share in which
/// `other` has as many as it has, or more. 1 where there is nothing to compare.
double fisher_exact(const Failures& base, const Failures& other);

}  // namespace rdmameter
