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

namespace {

/// @param if_thrown  a step that sends may leave it to poll() to see what has become of the
///                   connection; one that reads would be called again at once
bool goes_on(const std::function<bool()>& step, bool if_thrown) noexcept {
  try {
    return step();
  } catch (const std::exception&) {
    return if_thrown;
  }
}

}  // namespace

void watch_loop(int socket, const InterruptSource& interrupt, StopFlag& stop,
                const LoopWatch& watch, const EventFd& ended) noexcept {
  std::array<pollfd, 4> watched{{{ended.fd(), POLLIN, 0},
                                 {interrupt.fd(), POLLIN, 0},
                                 {socket, POLLIN | POLLRDHUP, 0},
                                 {watch.attention.fd(), POLLIN, 0}}};
  const auto end_loop = [&](StopReason reason) {
    stop.request(reason);
    watch.stopped();
  };
  Deadline next_tick = Deadline::in(watch.every);
  for (;;) {
    const int count = poll(watched.data(), watched.size(), next_tick.remaining_ms());
    if (count <= 0) {  // the time is up, or EINTR
      if (!next_tick.passed()) continue;
      if (!goes_on(watch.tick, true)) return end_loop(StopReason::deadline);
      next_tick = Deadline::in(watch.every);
      continue;
    }
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0) return end_loop(StopReason::interrupted);
    if (watched[3].revents != 0) {
      watch.attention.clear();
      if (!goes_on(watch.attend, true)) return end_loop(StopReason::sibling);
    }
    const short heard = watched[2].revents;
    if (heard != 0 && (heard != POLLIN || !goes_on(watch.receive, false)))
      return end_loop(StopReason::peer);
  }
}

}  // namespace rdmameter
