// SPDX-License-Identifier: Apache-2.0
#include "core/wire/watcher.h"

#include <poll.h>

#include <array>
#include <exception>

namespace rdmameter {

OrderlyEnd::OrderlyEnd(const InterruptSource& source, Deadline::Clock::duration grace,
                       std::function<bool()> end_now)
    : source_(source),
      grace_(grace),
      end_now_(std::move(end_now)),
      thread_([this](const EventFd& over) { watch(over); }) {
  source_.gentle_ = true;
}

void OrderlyEnd::watch(const EventFd& over) const noexcept {
  if (wait_for(source_.enough_.fd(), POLLIN, Deadline::never(), source_, &over) != Waited::ready)
    return;
  asked_ = true;
  const bool kept = end_now_();
  if (!kept || wait_for(-1, 0, Deadline::in(grace_), source_, &over) == Waited::deadline)
    source_.end_everything();
}

Watcher::Watcher(int socket, Deadline deadline, const InterruptSource& interrupt, StopFlag& stop,
                 StopReason on_message, Tick tick)
    : socket_(socket),
      deadline_(deadline),
      interrupt_(interrupt),
      stop_(stop),
      on_message_(on_message),
      tick_(std::move(tick)),
      thread_([this](const EventFd& ended) { watch(ended); }) {}

/// @param if_thrown  a step that sends may leave it to poll() to see what has become of the
///                   connection; one that reads would be called again at once
bool Watcher::goes_on(const std::function<bool()>& step, bool if_thrown) const noexcept {
  try {
    return step();
  } catch (const std::exception&) {
    return if_thrown;
  }
}

void Watcher::stop(StopReason reason) const noexcept {
  stop_.request(reason);
  if (reason != StopReason::finish && tick_.stopped) tick_.stopped();
}

void Watcher::watch(const EventFd& ended) noexcept {
  std::array<pollfd, 4> watched{{{ended.fd(), POLLIN, 0},
                                 {interrupt_.fd(), POLLIN, 0},
                                 {socket_, POLLIN | POLLRDHUP, 0},
                                 {tick_.attention ? tick_.attention->fd() : -1, POLLIN, 0}}};
  const auto next_tick = [this] {
    return tick_.act ? Deadline::in(tick_.every) : Deadline::never();
  };
  Deadline tick_at = next_tick();
  for (;;) {
    const Deadline next = tick_at.is_never() ? deadline_ : deadline_.within(tick_at.remaining());
    const int count = poll(watched.data(), watched.size(), next.remaining_ms());
    if (count <= 0) {  // the time is up, or INT_MAX ms are, or EINTR
      const bool ticks = tick_at.passed();
      if (deadline_.passed() || (ticks && !goes_on(tick_.act, true))) {
        stop(StopReason::deadline);
        return;
      }
      if (ticks) tick_at = next_tick();
      continue;
    }
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0) {
      stop(StopReason::interrupted);
      return;
    }
    if (watched[3].revents != 0) {
      tick_.attention->clear();
      if (!goes_on(tick_.attend, true)) {
        stop(StopReason::sibling);
        return;
      }
    }
    if (watched[2].revents == 0) continue;
    if (watched[2].revents == POLLIN && tick_.receive && goes_on(tick_.receive, false)) continue;
    if ((watched[2].revents & POLLIN) != 0) stop(on_message_);
    const bool gone = (watched[2].revents & ~POLLIN) != 0;
    if (gone) stop(StopReason::peer);
    if (gone || on_message_ != StopReason::finish) return;
    watched[2].events = POLLRDHUP;  // the message stays unread: do not look at it again
  }
}

}  // namespace rdmameter
