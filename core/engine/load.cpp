// SPDX-License-Identifier: Apache-2.0
#include "core/engine/load.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/instrument/histogram_data.h"

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

double per_ns(std::uint64_t requests, std::uint64_t window_ns) {
  return window_ns == 0 ? 0 : static_cast<double>(requests) / static_cast<double>(window_ns);
}

std::uint64_t window_of(std::uint64_t requests, double rate_per_ns) {
  if (rate_per_ns == 0) return 0;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(requests) / rate_per_ns));
}

/// @param sum  its intervals are a multiple of those of `more`, the doubled ones of a series
void add_backlog(LoadData& sum, const LoadData& more) {
  const std::uint64_t joined =
      more.interval_ns == 0 ? 1 : (sum.interval_ns + more.interval_ns / 2) / more.interval_ns;
  std::vector<std::uint64_t> most;
  for (std::size_t i = 0; i < more.backlog.size(); ++i) {
    if (i % joined == 0) most.push_back(0);
    most.back() = std::max(most.back(), more.backlog[i]);
  }
  sum.backlog.resize(std::max(sum.backlog.size(), most.size()));
  for (std::size_t i = 0; i < most.size(); ++i) sum.backlog[i] += most[i];
}

}  // namespace

std::vector<std::uint64_t> draw_gaps_ns(const TestCase& test_case, std::uint64_t seed) {
  const auto threads = static_cast<double>(test_case.threads);
  const auto thread = static_cast<double>(test_case.path.first_qp / test_case.qps);
  const double mean_ns = threads * 1e9 / messages_per_s(test_case);
  const std::uint64_t burst = burst_of(test_case);
  const double period_ns = mean_ns * static_cast<double>(burst);
  Exponential draw{seed};
  std::vector<std::uint64_t> gaps(gap_count(test_case));
  const bool random = test_case.arrivals == ArrivalPattern::poisson;
  double due_ns = random ? 0 : ((thread + 1) / threads - 1) * period_ns;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (random)
      due_ns += mean_ns * draw();
    else if (i % burst == 0)
      due_ns += period_ns;
    const auto rounded = static_cast<std::uint64_t>(std::llround(due_ns));
    gaps[i] = rounded - before;
    before = rounded;
  }
  return gaps;
}

LoadData sum_of_loads(std::span<const LoadData> loads) {
  LoadData sum;
  double offered_per_ns = 0, reached_per_ns = 0;
  for (const LoadData& each : loads) {
    sum.due += each.due;
    sum.completed += each.completed;
    sum.unsent += each.unsent;
    sum.backlog_max += each.backlog_max;
    sum.interval_ns = std::max(sum.interval_ns, each.interval_ns);
    merge(sum.service.histogram, each.service.histogram);
    merge(sum.lateness.histogram, each.lateness.histogram);
    offered_per_ns += per_ns(each.due, each.window_ns);
    reached_per_ns += per_ns(each.completed, each.completing_ns);
  }
  sum.window_ns = window_of(sum.due, offered_per_ns);
  sum.completing_ns = window_of(sum.completed, reached_per_ns);
  for (const LoadData& each : loads) add_backlog(sum, each);
  return sum;
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
