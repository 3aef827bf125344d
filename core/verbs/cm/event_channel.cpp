// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/event_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>

#include "core/base/error.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

/// The peer may say that it is done before the last event has reached this end.
constexpr std::chrono::milliseconds kGrace{1000};

}  // namespace

CmChannel::CmChannel(CmWatch watch)
    : watch_(watch),
      channel_(check_pointer([&] { return rdma_create_event_channel(); },
                             "rdma_create_event_channel", "of this machine")) {
  const int flags = fcntl(channel_->fd, F_GETFL);
  check_minus_one(fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), "fcntl", "rdma_cm's channel");
}

CmEvent CmChannel::take() {
  rdma_cm_event* event = nullptr;
  if (rdma_get_cm_event(channel_.get(), &event) == 0) return CmEvent{event};
  if (errno != EAGAIN && errno != EINTR)
    throw_failure("rdma_get_cm_event", "of this machine", errno);
  return nullptr;
}

Waited CmChannel::wait_for_any(Deadline deadline, int session) const noexcept {
  std::array<pollfd, 3> watched{
      {{watch_.interrupt != nullptr ? watch_.interrupt->fd() : -1, POLLIN, 0},
       {channel_->fd, POLLIN, 0},
       {session, POLLIN | POLLRDHUP, 0}}};
  for (;;) {
    if (poll(watched.data(), watched.size(), deadline.remaining_ms()) > 0) {
      if (watched[0].revents != 0) return Waited::interrupted;
      return watched[1].revents != 0 ? Waited::ready : Waited::woken;
    }
    if (deadline.passed()) return Waited::deadline;
  }
}

Waited CmChannel::wait(Deadline deadline) const noexcept {
  return wait_for_any(deadline, watch_.session);
}

CmEvent CmChannel::next(Deadline deadline, const std::string& awaited) {
  bool spoken = false;
  for (;;) {
    if (CmEvent event = take()) return event;
    const Waited waited = wait_for_any(deadline, spoken ? -1 : watch_.session);
    if (waited == Waited::interrupted) throw Interrupted("interrupted");
    if (waited == Waited::deadline)
      throw MeasurementError(
          spoken
              ? fmt::format("the peer gave up while rdma_cm waited for {}", awaited)
              : fmt::format("rdma_cm did not get {} in time: is the peer alive, and does the "
                            "network between the two devices let its packets through (RoCE v2: UDP "
                            "port 4791)?",
                            awaited));
    if (waited != Waited::woken) continue;
    spoken = true;
    deadline = deadline.within(kGrace);
  }
}

}  // namespace rdmameter
