// SPDX-License-Identifier: Apache-2.0
// Ends a rank's loops when nothing has moved for too long, or the user wishes to end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "core/base/stop.h"
#include "core/wire/wait.h"
#include "core/wire/watcher.h"

namespace rdmameter {

class Watchdog {
 public:
  /// @param progress  looked at a few times a second; must outlive the object
  Watchdog(const std::atomic<std::uint64_t>& progress, std::chrono::milliseconds patience,
           const InterruptSource& interrupt, StopFlag& stop);

  /// Requests `part` as well from now on: by an interrupt, and after half of the patience.
  void limit(StopFlag& part);
  /// Ends that; the flag may go.
  void lift_limit();

 private:
  void look_at_limit();
  void request(StopReason reason);

  const std::chrono::milliseconds patience_;
  StopFlag& stop_;
  std::mutex mutex_;  ///< of the two that follow
  StopFlag* part_ = nullptr;
  Deadline part_ends_ = Deadline::never();
  const WatchThread thread_;  ///< last: it uses all of the above
};

}  // namespace rdmameter
