// SPDX-License-Identifier: Apache-2.0
// The kinds of failure and the fate of each. The program's main is the one place that maps them to
// exit statuses; a case in progress turns them into an errored or a skipped row.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace rdmameter {

/// What has a text: as it is, or made as by fmt::format().
struct TextError : std::runtime_error {
  explicit TextError(const std::string& text) : std::runtime_error(text) {}
  template <class First, class... More>
  TextError(fmt::format_string<First, More...> format, First&& first, More&&... more)
      : std::runtime_error(
            fmt::format(format, std::forward<First>(first), std::forward<More>(more)...)) {}
};

/// The caller asked wrongly. The text names the option and what it accepts. Exit status 2.
struct UsageError : TextError {
  using TextError::TextError;
};

/// The standard, this device or this program cannot do the combination. A skipped row.
struct Unsupported : TextError {
  using TextError::TextError;
};

/// There is no verbs device. The text says what to do next. Exit status 77.
struct NoDevice : TextError {
  using TextError::TextError;
};

/// There are verbs devices, but not the one named, or none that a case could use: a link that is
/// down, a port without GID. Exit status 99.
struct UnusableDevice : NoDevice {
  using NoDevice::NoDevice;
};

/// A verb or a system call failed during set-up. Exit status 99.
struct VerbsError : TextError {
  using TextError::TextError;
  VerbsError(int error_number, const std::string& text)
      : TextError(text), error_number(error_number) {}
  int error_number = 0;  ///< of a verb: errno value [0: it gave none]
};

/// The measurement failed: the peer died, refused or fell silent, or a completion reported an
/// error. Exit status 99.
struct MeasurementError : TextError {
  using TextError::TextError;
};

/// No TCP connection came about. Exit status 99.
struct NotConnected : MeasurementError {
  using MeasurementError::MeasurementError;
};

/// The two ends do not have one token. Exit status 99.
struct TokenError : MeasurementError {
  using MeasurementError::MeasurementError;
};

/// The user ended the run (SIGINT, SIGTERM). Exit status 130.
struct Interrupted : TextError {
  using TextError::TextError;
};

}  // namespace rdmameter
