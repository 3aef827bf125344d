// SPDX-License-Identifier: Apache-2.0
// What the program's exit status says, to a person, a shell or a CI job.
#pragma once

#include <exception>
#include <string>

namespace rdmameter {

enum class ExitStatus : int {
  pass = 0,
  regression = 1,  ///< confirmed regression or failed gate
  usage = 2,       ///< usage, configuration, files that cannot be compared, nothing left to measure
  inconclusive = 3,  ///< nothing fails, and not everything is proven to pass
  no_device = 77,
  failed = 99,  ///< a measurement failed
  interrupted = 130,
};

/// The status that an exception stands for. Must be called with a non-null one.
ExitStatus status_of(const std::exception_ptr& thrown);

/// Throws what a process of ours stands for that ended with a status and has said why on stderr.
/// @param who  "side A"
/// @throws UsageError, NoDevice, Interrupted, MeasurementError
/// @param remedy  what to do where it was called wrongly
[[noreturn]] void throw_ended(const std::string& who, int status, const std::string& remedy);

}  // namespace rdmameter
