// SPDX-License-Identifier: Apache-2.0
#include "core/session/failure.h"

#include <string>

#include "core/base/error_text.h"
#include "core/base/printable.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

std::string_view failure_kind(const std::exception& error) {
  if (dynamic_cast<const UnusableDevice*>(&error) != nullptr) return "failed";
  if (dynamic_cast<const NoDevice*>(&error) != nullptr) return "no_device";
  if (dynamic_cast<const UsageError*>(&error) != nullptr) return "usage";
  if (dynamic_cast<const Unsupported*>(&error) != nullptr) return "unsupported";
  if (dynamic_cast<const TokenError*>(&error) != nullptr) return "token";
  return "failed";
}

void throw_failure(std::string_view kind, const std::string& text) {
  if (kind == "unsupported") throw Unsupported(text);
  if (kind == "usage") throw UsageError(text);
  if (kind == "no_device") throw NoDevice(text);
  if (kind == "token") throw TokenError(text);
  throw MeasurementError(text);
}

Json failure_message(const std::exception& error) {
  // Printable, or the other end would refuse it.
  std::string reason{beginning(printable(error_text(error)), kMaxReasonBytes)};
  // An option of the responder's own has another name where the user gives it.
  if (reason.starts_with("--") &&
      find_axis("peer-" + reason.substr(2, reason.find_first_of(" :", 2) - 2)) != nullptr)
    reason.insert(2, "peer-");
  return make_message(
      "failed", Failure{.kind = std::string(failure_kind(error)), .reason = std::move(reason)});
}

void throw_failure_message(const Json& message) {
  const auto failure = read_message<Failure>(message);
  throw_failure(failure.kind, "the responder: " + failure.reason);
}

}  // namespace rdmameter
