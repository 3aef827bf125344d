// SPDX-License-Identifier: Apache-2.0
#include "core/session/pulse.h"

#include <algorithm>

#include "core/session/protocol.h"

namespace rdmameter {
namespace {

/// A completion is the only sign of progress, and what must go through before one is certain can be
/// gigabytes on a slow device.
std::chrono::seconds patience_of(const Case& one_case) {
  constexpr double kSlowest_bytes_per_s = 4 << 20;
  constexpr double kMost_s = 600;
  const std::uint64_t messages =  // at most 2^44
      one_case.shape() == Pattern::bandwidth ? one_case.threads * one_case.qps * one_case.depth : 1;
  const double seconds = static_cast<double>(messages) * static_cast<double>(one_case.size_bytes) /
                         kSlowest_bytes_per_s;
  return kSilence + std::chrono::seconds(static_cast<int>(std::min(seconds, kMost_s)));
}

}  // namespace

Pulse::Pulse(Channel& channel, Side& side, const Case& one_case)
    : channel_(channel),
      side_(side),
      patience_(patience_of(one_case)),
      series_(one_case.interval_ns),
      alive_at_(Clock::now()),
      said_at_(alive_at_) {
  side_.take_fatal_event();
}

Pulse::Clock::duration Pulse::every() const {
  return std::min<Clock::duration>(kTick, series_.interval());
}

bool Pulse::beat() {
  const auto now = Clock::now();
  // Whoever waits for an answer that never comes makes no progress; a fixed limit on the whole
  // would end long runs that are well.
  const std::uint64_t progress = side_.progress();
  series_.note(progress, now);
  if (progress != seen_) alive_at_ = now;
  seen_ = progress;
  if (event_.empty()) event_ = side_.take_fatal_event();
  if (now - said_at_ >= kTick) {
    said_at_ = now;
    channel_.send({{"type", "alive"}}, Deadline::in(kTick));
  }
  return event_.empty() && now - alive_at_ < patience_;
}

void Pulse::close() {
  series_.close(side_.progress());
  if (event_.empty()) event_ = side_.take_fatal_event();
}

}  // namespace rdmameter
