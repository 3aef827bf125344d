// SPDX-License-Identifier: Apache-2.0
#include "bench/check/time_limit.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>

#include "core/base/error_text.h"
#include "core/log/print.h"

namespace rdmameter {

TimeLimit::TimeLimit(double limit_s, InterruptSource& interrupt)
    : limit_s_(limit_s),
      interrupt_(interrupt),
      thread_([this](const EventFd& over) { watch(over); }) {}

void TimeLimit::note(const std::string& what) {
  const std::lock_guard locked(of_what_);
  what_ = what;
}

std::string TimeLimit::text() const {
  const std::lock_guard locked(of_what_);
  return fmt::format(
      "there is no verdict after {:g} s, while {}: see whether each end answers and each device "
      "opens (rdmameter doctor), or give more time (--time)",
      limit_s_, what_);
}

void TimeLimit::watch(const EventFd& over) noexcept {
  constexpr int kGrace_ms = 1000;
  const auto limit = std::chrono::duration_cast<Deadline::Clock::duration>(
      std::chrono::duration<double>(limit_s_));
  if (wait_for(-1, 0, Deadline::in(limit), nobody_, &over) != Waited::deadline) return;
  const bool by_user = interrupt_.requested();
  passed_ = !by_user;
  while (!interrupt_.raise()) {  // the first one may end a measurement alone, in an orderly way
  }
  pollfd verdict{over.fd(), POLLIN, 0};
  if (poll(&verdict, 1, kGrace_ms) != 0) return;
  tell("rdmameter: {}\n", text());
  _exit(static_cast<int>(by_user ? ExitStatus::interrupted : ExitStatus::failed));
}

}  // namespace rdmameter
