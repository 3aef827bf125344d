// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/watchdog.h"

#include <algorithm>

#include "core/base/thread.h"

namespace rdmameter {

Watchdog::Watchdog(const std::atomic<std::uint64_t>& progress, std::chrono::milliseconds patience,
                   const InterruptSource& interrupt, StopFlag& stop)
    : thread_(start_thread([this, &progress, patience, &interrupt, &stop] {
        std::uint64_t seen = progress.load(std::memory_order_relaxed);
        Deadline deadline = Deadline::in(patience);
        for (;;) {
          const auto glance =
              std::min<std::chrono::milliseconds>(patience / 4, std::chrono::milliseconds(500));
          switch (wait_for(-1, 0, Deadline::in(glance), interrupt, &wake_)) {
            case Waited::woken:
            case Waited::ready:
              return;
            case Waited::interrupted:
              return stop.request(StopReason::interrupted);
            case Waited::deadline:
              break;
          }
          const std::uint64_t now = progress.load(std::memory_order_relaxed);
          if (now != seen) {
            seen = now;
            deadline = Deadline::in(patience);
          } else if (deadline.passed()) {
            return stop.request(StopReason::deadline);
          }
        }
      })) {}

Watchdog::~Watchdog() {
  wake_.raise();
  thread_.join();
}

}  // namespace rdmameter
