// SPDX-License-Identifier: Apache-2.0
#include "core/engine/load.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace rdmameter {
namespace {

std::uint64_t burst_of(const TestCase& test_case) {
  return test_case.arrivals == ArrivalPattern::poisson
             ? 1
             : std::max<std::uint64_t>(static_cast<std::uint64_t>(test_case.arrivals), 1);
}

std::uint64_t gap_count(const TestCase& test_case) {
  const bool known = test_case.duration_ns == 0 && !test_case.until_interrupted();
  const std::uint64_t wanted =
      known ? std::min(test_case.iterations, kMaxGaps) + std::min(test_case.warmup, kMaxGaps)
            : kMaxGaps;
  const std::uint64_t burst = burst_of(test_case);
  const std::uint64_t bursts = std::max<std::uint64_t>(std::min(wanted, kMaxGaps) / burst, 1);
  return bursts * burst;
}

/// Exponentially distributed, with a mean of 1: a Poisson process has such gaps.
class Exponential {
 public:
  explicit Exponential(std::uint64_t seed) : random_(seed) {}
  double operator()() {
    constexpr double kUnit = 0x1p-53;
    return -std::log1p(-static_cast<double>(random_() >> 11) * kUnit);
  }

 private:
  std::mt19937_64 random_;  // the same numbers everywhere, as std::exponential_distribution is not
};

}  // namespace

std::vector<std::uint64_t> draw_gaps_ns(const TestCase& test_case, std::uint64_t seed) {
  const double mean_ns = 1e9 / messages_per_s(test_case);
  const std::uint64_t burst = burst_of(test_case);
  Exponential draw{seed};
  std::vector<std::uint64_t> gaps(gap_count(test_case));
  double due_ns = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (test_case.arrivals == ArrivalPattern::poisson)
      due_ns += mean_ns * draw();
    else if (i % burst == 0)
      due_ns += mean_ns * static_cast<double>(burst);
    const auto rounded = static_cast<std::uint64_t>(std::llround(due_ns));
    gaps[i] = rounded - before;
    before = rounded;
  }
  return gaps;
}

std::uint64_t load_bytes(const TestCase& test_case) {
  return sizeof(OpenLoop) + sizeof(std::uint64_t) * gap_count(test_case);
}

Offered::Offered(const TestCase& test_case, std::uint64_t seed)
    : gaps_ns_(draw_gaps_ns(test_case, seed)), loop_(std::make_unique<OpenLoop>()) {
  loop_->gaps_ns = gaps_ns_.data();
  loop_->gap_count = gaps_ns_.size();
  loop_->interval_ns = test_case.interval();
}

LoadData Offered::result() const {
  LoadData data;
  data.due = loop_->due;
  data.window_ns = loop_->window_ns;
  data.completed = loop_->completed;
  data.completing_ns = loop_->completing_ns;
  data.unsent = loop_->unsent;
  data.backlog_max = loop_->backlog_max;
  data.interval_ns = loop_->series_ns;
  const auto begin = loop_->backlog.most.begin();
  data.backlog.assign(begin, begin + static_cast<std::ptrdiff_t>(loop_->backlog.count));
  data.service.histogram = snapshot(loop_->service);
  data.lateness.histogram = snapshot(loop_->lateness);
  return data;
}

}  // namespace rdmameter
