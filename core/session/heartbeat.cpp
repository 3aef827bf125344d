// SPDX-License-Identifier: Apache-2.0
#include "core/session/heartbeat.h"

#include <algorithm>

#include "core/session/protocol.h"
#include "core/wire/watcher.h"

namespace rdmameter {
namespace {

/// @return  for what is in flight at most, at this rate [s]
double seconds_in_flight(const TestCase& test_case, double bytes_per_s) {
  constexpr double kMax_s = 600;
  const std::uint64_t messages =  // at most 2^44
      test_case.pattern == Pattern::bandwidth || test_case.open_loop()
          ? test_case.threads * test_case.qps * test_case.queues.depth
          : 1;
  return std::min(
      static_cast<double>(messages) * static_cast<double>(test_case.size_bytes) / bytes_per_s,
      kMax_s);
}

/// A completion is the only sign of progress, and what must go through before one is certain can be
/// gigabytes on a slow device.
std::chrono::seconds patience_of(const TestCase& test_case) {
  constexpr double kSlowest_bytes_per_s = 4 << 20;
  return kSilence +
         std::chrono::seconds(static_cast<int>(seconds_in_flight(test_case, kSlowest_bytes_per_s)));
}

}  // namespace

std::chrono::nanoseconds orderly_end_within(const TestCase& test_case) {
  constexpr double kSlow_bytes_per_s = 64 << 20;
  const std::chrono::duration<double> drain{seconds_in_flight(test_case, kSlow_bytes_per_s)};
  return kOrderlyEnd + std::chrono::duration_cast<std::chrono::nanoseconds>(drain);
}

Heartbeat::Heartbeat(Channel& channel, EndpointRunner& runner, const TestCase& test_case)
    : channel_(channel),
      runner_(runner),
      patience_(patience_of(test_case)),
      series_(test_case.interval()),
      alive_at_(Clock::now()),
      said_at_(alive_at_) {
  runner_.take_fatal_event();
}

Heartbeat::Clock::duration Heartbeat::every() const {
  return std::min<Clock::duration>(kTick, series_.interval());
}

bool Heartbeat::tick() {
  const auto now = Clock::now();
  // Whoever waits for an answer that never comes makes no progress; a fixed limit on the whole
  // would end long runs that are well.
  const std::uint64_t progress = runner_.progress();
  series_.note(progress, now);
  if (progress != seen_) alive_at_ = now;
  seen_ = progress;
  if (event_.empty()) event_ = runner_.take_fatal_event();
  if (now - said_at_ >= kTick) {
    said_at_ = now;
    channel_.send(make_message("alive"), Deadline::in(kTick));
  }
  return event_.empty() && now - alive_at_ < patience_;
}

void Heartbeat::close(bool failed) {
  series_.close(runner_.progress());
  if (event_.empty()) event_ = failed ? runner_.await_fatal_event() : runner_.take_fatal_event();
}

}  // namespace rdmameter
