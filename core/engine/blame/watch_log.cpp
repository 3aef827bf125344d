// SPDX-License-Identifier: Apache-2.0
#include "core/engine/blame/watch_log.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace rdmameter {
namespace {

/// A gap below this is a poll's or a post's usual time: nothing is late by it.
constexpr std::uint64_t kLeastGap_ns = 200;
/// Of a limit of late samples: gaps that are much shorter make none late.
constexpr std::uint64_t kGapsPerLimit = 16;

template <class Clock>
std::int64_t now_ns() {
  return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

std::size_t most_samples(Role role) {
  return role == Role::initiator ? kMaxLongSamples : 0;
}

}  // namespace

WatchLog::WatchLog(const TestCase& test_case, Role role)
    : late_ns_(test_case.late_ns),
      gaps_(std::make_unique<PollGap[]>(kMaxPollGaps)),
      samples_(std::make_unique<LongSample[]>(most_samples(role))) {
  watch_.gaps.entries = gaps_.get();
  watch_.gaps.capacity = kMaxPollGaps;
  watch_.samples.entries = samples_.get();
  watch_.samples.capacity = most_samples(role);
  watch_.samples.limit = std::numeric_limits<std::uint64_t>::max();  // none of the warm-up
}

void WatchLog::begin(const ClockChoice& clock) {
  const std::uint64_t gap_ns =
      late_ns_ == kAuto ? kLeastGap_ns : std::max(kLeastGap_ns, late_ns_ / kGapsPerLimit);
  watch_.gaps.limit = clock.counter.to_ticks(gap_ns);
  watch_.set_least();
  watch_.sample_limit = late_ns_ == kAuto ? 0 : clock.counter.to_ticks(late_ns_);
  began_ticks_ = clock.now();
  began_ns_ = static_cast<std::uint64_t>(now_ns<std::chrono::steady_clock>());
  began_utc_ns_ = now_ns<std::chrono::system_clock>();
}

WatchData WatchLog::data(const ClockChoice& clock) const {
  WatchData data{.gap_limit_ns = clock.counter.to_ns(watch_.gaps.limit)};
  for (std::size_t i = 0; i < watch_.gaps.count; ++i) {
    const PollGap& gap = gaps_[i];
    const std::uint64_t since_ns = clock.counter.to_ns(gap.begun - began_ticks_);
    data.gaps.push_back({.message = gap.message,
                         .length_ns = clock.counter.to_ns(gap.length),
                         .found = gap.found,
                         .first = gap.first,
                         .begun_ns = began_ns_ + since_ns,
                         .begun_utc_ns = began_utc_ns_ + static_cast<std::int64_t>(since_ns)});
  }
  for (std::size_t i = 0; i < watch_.samples.count; ++i)
    data.samples.push_back({samples_[i].message, clock.counter.to_ns(samples_[i].length),
                            began_ns_ + clock.counter.to_ns(samples_[i].begun - began_ticks_)});
  return data;
}

std::uint64_t watch_log_bytes(const TestCase& test_case, Role role) {
  if (!test_case.watched() || (role == Role::responder && !test_case.answered())) return 0;
  return kMaxPollGaps * sizeof(PollGap) + most_samples(role) * sizeof(LongSample);
}

}  // namespace rdmameter
