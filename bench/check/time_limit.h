// SPDX-License-Identifier: Apache-2.0
// A check ends in time, whatever hangs.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "core/wire/wait.h"

namespace rdmameter {

/// While it lives, a check has so long. Then all waits end as by an interrupt; a second later what
/// does not hear of that, such as a verb that hangs in its driver, ends with the process, with
/// status 99 and text().
class TimeLimit {
 public:
  /// @param interrupt  borrowed
  /// @throws VerbsError        the process is out of descriptors
  /// @throws MeasurementError  there can be no more threads
  TimeLimit(double limit_s, InterruptSource& interrupt);
  TimeLimit(TimeLimit&&) = delete;  // its thread holds its address
  ~TimeLimit();

  /// What is going on: "mlx5_0 was measured".
  void note(const std::string& what);
  bool passed() const noexcept { return passed_; }
  std::string text() const;  ///< what was going on when the time was over

 private:
  void watch() noexcept;

  const double limit_s_;
  InterruptSource& interrupt_;
  std::atomic<bool> passed_{false};
  mutable std::mutex of_what_;
  std::string what_;
  EventFd over_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace rdmameter
