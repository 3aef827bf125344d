// SPDX-License-Identifier: Apache-2.0
// A check ends in time, whatever hangs.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "core/wire/wait.h"
#include "core/wire/watcher.h"

namespace rdmameter {

/// Until end() a check has so long. Then all waits end as by an interrupt; a second later what does
/// not hear of that, such as a verb that hangs in its driver, ends with the process, with text() and
/// status 99 or, if the user has interrupted it, 130.
class TimeLimit {
 public:
  /// @param interrupt  borrowed
  /// @throws VerbsError        the process is out of descriptors
  /// @throws MeasurementError  there can be no more threads
  TimeLimit(double limit_s, InterruptSource& interrupt);

  /// What is going on: "measuring mlx5_0".
  void note(const std::string& what);
  /// There is a verdict. Waits for the thread that has watched the time.
  void end() noexcept { thread_.end(); }
  bool passed() const noexcept { return passed_; }  ///< and the user has not interrupted it before
  std::string text() const;                         ///< what was going on when the time was over

 private:
  void watch(const EventFd& over) noexcept;

  const double limit_s_;
  InterruptSource& interrupt_;
  std::atomic<bool> passed_{false};
  mutable std::mutex of_what_;
  std::string what_;
  const InterruptSource nobody_;  ///< the limit holds for what a user has interrupted, too
  WatchThread thread_;            ///< last: it uses all of the above
};

}  // namespace rdmameter
