// SPDX-License-Identifier: Apache-2.0
// Ends a rank's loops when nothing has moved for too long, or the user wishes to end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/stop.h"
#include "core/wire/wait.h"

namespace rdmameter {

class Watchdog {
 public:
  /// @param progress  looked at a few times a second; must outlive the object
  Watchdog(const std::atomic<std::uint64_t>& progress, std::chrono::milliseconds patience,
           const InterruptSource& interrupt, StopFlag& stop);
  ~Watchdog();
  Watchdog(Watchdog&&) = delete;

 private:
  EventFd wake_;
  std::thread thread_;
};

}  // namespace rdmameter
