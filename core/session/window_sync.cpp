// SPDX-License-Identifier: Apache-2.0
#include "core/session/window_sync.h"

#include "core/base/error.h"
#include "core/session/messages.h"

namespace rdmameter {

WindowSync::WindowSync(Channel& channel, const TestCase& test_case, Side& sender,
                       const EventFd& attention)
    : channel_(channel), attention_(attention), both_ways_(test_case.bidirectional) {
  const std::size_t loops = sender.runners.size();
  const bool together =
      test_case.pattern == Pattern::bandwidth ? loops > 1 || both_ways_ : test_case.shares_qps();
  if (sender.empty() || !together) return;
  windows_.emplace(static_cast<std::uint32_t>(loops), both_ways_);
  if (both_ways_)
    windows_->on_last([](void* wake) { static_cast<const EventFd*>(wake)->raise(); },
                      const_cast<EventFd*>(&attention_));
  sender.pass(*windows_);
}

void WindowSync::publish() {
  if (!windows_ || !both_ways_) return;
  for (std::size_t step = 0; step < WindowBarrier::kSteps; ++step) {
    if (said_[step] || !windows_->reached_here(static_cast<WindowBarrier::Step>(step))) continue;
    said_[step] = Clock::now();
    channel_.send(make_message("gate", WindowSyncMessage{static_cast<WindowBarrier::Step>(step)}),
                  Deadline::in(kSetupTimeout));
  }
}

bool WindowSync::overdue(Clock::time_point now) const {
  constexpr int kAsLong = 10;
  for (std::size_t step = 0; step < WindowBarrier::kSteps; ++step) {
    if (!said_[step] || windows_->peer_reached(static_cast<WindowBarrier::Step>(step))) continue;
    if (now - *said_[step] > kSilence + kAsLong * (*said_[step] - begun_)) return true;
  }
  return false;
}

bool WindowSync::receive(const Json& message) {
  if (type_of(message) != "gate") return false;
  if (!windows_ || !both_ways_) throw MeasurementError("the message 'gate' was not expected");
  windows_->notify(read_message<WindowSyncMessage>(message).value);
  return true;
}

}  // namespace rdmameter
