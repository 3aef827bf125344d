// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/watchdog.h"

#include <algorithm>

namespace rdmameter {

Watchdog::Watchdog(const std::atomic<std::uint64_t>& progress, std::chrono::milliseconds patience,
                   const InterruptSource& interrupt, StopFlag& stop)
    : patience_(patience),
      stop_(stop),
      thread_([this, &progress, patience, &interrupt](const EventFd& ended) {
        std::uint64_t seen = progress.load(std::memory_order_relaxed);
        Deadline deadline = Deadline::in(patience);
        for (;;) {
          const auto glance =
              std::min<std::chrono::milliseconds>(patience / 4, std::chrono::milliseconds(500));
          const Waited waited = wait_for(-1, 0, Deadline::in(glance), interrupt, &ended);
          if (waited == Waited::interrupted) return request(StopReason::interrupted);
          if (waited != Waited::deadline) return;
          look_at_limit();
          const std::uint64_t now = progress.load(std::memory_order_relaxed);
          if (now != seen) {
            seen = now;
            deadline = Deadline::in(patience);
          } else if (deadline.passed()) {
            return request(StopReason::deadline);
          }
        }
      }) {}

void Watchdog::limit(StopFlag& part) {
  const std::lock_guard locked(mutex_);
  if (stop_.requested()) return part.request(stop_.reason());
  part_ = &part;
  part_ends_ = Deadline::in(patience_ / 2);
}

void Watchdog::lift_limit() {
  const std::lock_guard locked(mutex_);
  part_ = nullptr;
}

void Watchdog::look_at_limit() {
  const std::lock_guard locked(mutex_);
  if (part_ != nullptr && part_ends_.passed()) part_->request(StopReason::deadline);
}

void Watchdog::request(StopReason reason) {
  const std::lock_guard locked(mutex_);
  stop_.request(reason);
  if (part_ != nullptr) part_->request(reason);
}

}  // namespace rdmameter
