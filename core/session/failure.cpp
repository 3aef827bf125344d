// SPDX-License-Identifier: Apache-2.0
#include "core/session/failure.h"

#include <string>

#include "core/session/fields.h"
#include "core/session/protocol.h"

namespace rdmameter {

nlohmann::json failure_message(const std::exception& error) {
  const char* kind = "failed";
  if (dynamic_cast<const Unsupported*>(&error) != nullptr) kind = "unsupported";
  if (dynamic_cast<const UsageError*>(&error) != nullptr) kind = "usage";
  if (dynamic_cast<const NoDevice*>(&error) != nullptr) kind = "no_device";
  std::string reason = std::string(error.what()).substr(0, kMostReasonBytes);
  // An option of the responder's own has another name where the user gives it.
  if (reason.starts_with("--") && !reason.starts_with("--peer-")) reason.insert(2, "peer-");
  return {{"type", "failed"}, {"kind", kind}, {"reason", std::move(reason)}};
}

void throw_failure_message(const nlohmann::json& message) {
  const std::string kind = require_string(message, "kind", 32);
  const std::string text =
      "the responder: " + require_string(message, "reason", kMostReasonBytes * 4);
  if (kind == "unsupported") throw Unsupported(text);
  if (kind == "usage") throw UsageError(text);
  if (kind == "no_device") throw NoDevice(text);
  throw MeasurementError(text);
}

}  // namespace rdmameter
