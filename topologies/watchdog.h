// SPDX-License-Identifier: Apache-2.0
// Ends a rank's loops when nothing has moved for too long, or the user wishes to end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/session/wait.h"
#include "core/stop.h"

namespace rdmameter {

class Watchdog {
 public:
  /// @param progress  looked at a few times a second; must outlive the object
  Watchdog(const std::atomic<std::uint64_t>& progress, std::chrono::milliseconds patience,
           const InterruptSource& interrupt, StopWord& stop);
  ~Watchdog();
  Watchdog(Watchdog&&) = delete;

 private:
  Wake wake_;
  std::thread thread_;
};

}  // namespace rdmameter
