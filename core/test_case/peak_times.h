// SPDX-License-Identifier: Apache-2.0
// What `peak` keeps while a bandwidth is measured.
#pragma once

#include <bit>
#include <cstdint>

#include "core/test_case/test_case.h"

namespace rdmameter {

/// The most memory for times of posts and completions.
inline constexpr std::uint64_t kMaxPeakBytes = 64ULL << 20;

/// Posts, and completions, of which one direction keeps the times: a power of two, with room for
/// each message, those that fill the queues and those of one poll beyond the last.
constexpr std::uint64_t peak_times(const TestCase& test_case) {
  constexpr std::uint64_t kPolled = 16;
  return std::bit_ceil(test_case.warmup + test_case.iterations +
                       test_case.qps * test_case.queues.depth +
                       kPolled * test_case.queues.signal_every);
}

constexpr std::uint64_t peak_bytes(const TestCase& test_case) {
  return 2 * sizeof(std::uint64_t) * peak_times(test_case);
}

}  // namespace rdmameter
