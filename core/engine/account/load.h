// SPDX-License-Identifier: Apache-2.0
// The load of an open loop: when its requests are due, and what came of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/engine/loop/open_loop_state.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The most gaps that are drawn. A longer run begins with the first one again: its requests are as
/// independent of the answers as before.
inline constexpr std::uint64_t kMaxGaps = 1 << 20;

/// The gap before each request of a thread [ns], in whole ns whose sums are at most 1 ns off. As
/// many as the case has requests, or kMaxGaps, or fewer where a burst does not divide that. Their
/// mean is that of the rate, but for what chance makes of random ones.
///
/// Of several threads, on one device or several, each has its part of the rate. Random arrivals of
/// all are then again those of a Poisson process; of others, the threads have a burst each in turn,
/// by early_ns(): the gaps are read in a circle, so they are alike in all threads.
/// @param test_case  of a thread: path.first_qp says which
/// @param seed       the same gives the same
std::vector<std::uint64_t> draw_gaps_ns(const TestCase& test_case, std::uint64_t seed);

/// How long before the end of its gap a thread's first request is due [ns].
/// @param test_case  as of draw_gaps_ns()
std::uint64_t early_ns(const TestCase& test_case);

/// The part of the mix that each request of a thread is of, by its number in mix_of(): as many as
/// there are gaps. Each is drawn by itself, with the parts' weights.
/// @param seed  the same gives the same; the gaps of the same seed are independent of it
std::vector<std::uint8_t> draw_parts(const TestCase& test_case, std::uint64_t seed);

/// How many of a thread's requests are of each part of the mix, by draw_parts().
/// @param first, count  of the requests, warm-up included
std::vector<std::uint64_t> count_parts(std::span<const std::uint8_t> drawn, std::size_t parts,
                                       std::uint64_t first, std::uint64_t count);

/// The memory of draw_gaps_ns(), draw_parts() and the loop's own records.
std::uint64_t load_bytes(const TestCase& test_case);

/// The sum of the loops of several threads under one load. Rates are added, and so are the largest
/// backlogs, which need not have been at the same time. @param loads  at least one
LoadData sum_of_loads(std::span<const LoadData> loads);

/// Owns what one run of an open loop reads and writes.
class OpenLoopSchedule {
 public:
  OpenLoopSchedule(const TestCase& test_case, std::uint64_t seed);
  OpenLoopSchedule(OpenLoopSchedule&&) = delete;  // the loop's state points into it

  OpenLoop& loop() { return *loop_; }
  /// Once the loop has ended.
  LoadData result() const;

 private:
  std::vector<LoadPart> parts_of_load() const;

  std::vector<MixPart> mix_;  ///< empty: there is none
  std::uint64_t warmup_;
  std::vector<std::uint64_t> gaps_ns_;
  std::vector<std::uint8_t> drawn_;
  std::unique_ptr<PartSamples[]> samples_;
  std::unique_ptr<OpenLoop> loop_;
};

}  // namespace rdmameter
