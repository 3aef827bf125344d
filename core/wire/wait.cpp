// SPDX-License-Identifier: Apache-2.0
#include "core/wire/wait.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/base/error.h"

namespace rdmameter {

Deadline::Clock::duration Deadline::remaining() const noexcept {
  if (is_never()) return Clock::duration::max();
  return std::max(when_ - Clock::now(), Clock::duration::zero());
}

int Deadline::remaining_ms() const noexcept {
  if (is_never()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(remaining()).count();
  return static_cast<int>(std::min<decltype(left)>(left, INT_MAX));
}

Deadline Deadline::within(Clock::duration from_now) const noexcept {
  return at(std::min(when_, Clock::now() + from_now));
}

EventFd::EventFd() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_)
    throw VerbsError("eventfd: {}. Raise the limit on open files (`ulimit -n`).",
                     std::strerror(errno));
}

void EventFd::raise() const noexcept {
  const int saved_errno = errno;
  const std::uint64_t one = 1;
  // It fails only where the counter is full (2^64 - 2), and then the event is raised already.
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
  errno = saved_errno;
}

void EventFd::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(event_.get(), &count, sizeof count);  // EAGAIN: clear
}

void require_wanted(int socket, const InterruptSource& interrupt) {
  if (interrupt.requested()) throw Interrupted("interrupted");
  pollfd peer{socket, POLLRDHUP, 0};  // what the peer says is for later
  if (poll(&peer, 1, 0) > 0) throw MeasurementError("the peer hung up during the set-up or check");
}

Waited wait_for(int fd, short events, Deadline deadline, const InterruptSource& interrupt,
                const EventFd* wake) noexcept {
  // poll() skips negative descriptors.
  std::array<pollfd, 3> watched{{{interrupt.fd(), POLLIN, 0},
                                 {wake != nullptr ? wake->fd() : -1, POLLIN, 0},
                                 {fd, events, 0}}};
  for (;;) {
    const int count = poll(watched.data(), watched.size(), deadline.remaining_ms());
    if (count > 0) {
      if (watched[0].revents != 0) return Waited::interrupted;
      if (watched[1].revents != 0) return Waited::woken;
      return Waited::ready;
    }
    // 0: the time is up, or INT_MAX ms are; -1: EINTR (the others need a bad argument).
    if (deadline.passed()) return Waited::deadline;
  }
}

}  // namespace rdmameter
