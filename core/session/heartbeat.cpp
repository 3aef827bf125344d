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
          ? test_case.devices() * test_case.threads * test_case.qps * test_case.queues.depth
          : 1;
  return std::min(
      static_cast<double>(messages) * static_cast<double>(test_case.size_bytes) / bytes_per_s,
      kMax_s);
}

/// What a ping that is lost takes, in which nothing goes on.
std::chrono::nanoseconds loss_of(const TestCase& test_case) {
  const bool pings = test_case.pattern == Pattern::ping_pong && !test_case.reliable();
  return std::chrono::nanoseconds(pings ? test_case.loss_timeout_ns : 0);
}

/// A completion is the only sign of progress, and what must go through before one is certain can be
/// gigabytes on a slow device.
std::chrono::seconds patience_of(const TestCase& test_case) {
  constexpr double kSlowest_bytes_per_s = 4 << 20;
  return kSilence + std::chrono::ceil<std::chrono::seconds>(loss_of(test_case)) +
         std::chrono::seconds(static_cast<int>(seconds_in_flight(test_case, kSlowest_bytes_per_s)));
}

}  // namespace

std::chrono::nanoseconds orderly_end_within(const TestCase& test_case) {
  constexpr double kSlow_bytes_per_s = 64 << 20;
  const std::chrono::duration<double> drain{seconds_in_flight(test_case, kSlow_bytes_per_s)};
  return kOrderlyEnd + loss_of(test_case) +
         std::chrono::duration_cast<std::chrono::nanoseconds>(drain);
}

Heartbeat::Heartbeat(Channel& channel, Side& side, const TestCase& test_case)
    : channel_(channel),
      side_(side),
      patience_(patience_of(test_case)),
      series_(test_case.interval()),
      said_at_(Clock::now()) {
  side_.take_fatal_event();
  const bool together = test_case.pattern == Pattern::bandwidth;
  for (std::size_t i = 0; i < (together ? side.devices : 1); ++i)
    pulses_.push_back(
        {.runners = together ? side.of_device(i) : Runners(side.runners), .alive_at = said_at_});
}

Heartbeat::Clock::duration Heartbeat::every() const {
  return std::min<Clock::duration>(kTick, series_.interval());
}

bool Heartbeat::tick() {
  const auto now = Clock::now();
  // An end that waits for an answer that never comes makes no progress. A fixed limit on the whole
  // run would end healthy long runs.
  series_.note(side_.progress(), now);
  for (Pulse& pulse : pulses_) {
    const std::uint64_t progress = progress_of(pulse.runners);
    if (progress != pulse.seen) pulse.alive_at = now;
    pulse.seen = progress;
    if (now - pulse.alive_at >= patience_) stalled_ = pulse.runners.front()->where();
  }
  if (event_.empty()) event_ = side_.take_fatal_event();
  if (now - said_at_ >= kTick) {
    said_at_ = now;
    channel_.send(make_message("alive"), Deadline::in(kTick));
  }
  return event_.empty() && stalled_.empty();
}

void Heartbeat::close(bool failed) {
  series_.close(side_.progress());
  if (event_.empty()) event_ = failed ? side_.await_fatal_event() : side_.take_fatal_event();
}

}  // namespace rdmameter
