// SPDX-License-Identifier: Apache-2.0
// An error on its way over the wire: thrown at one end, thrown again at the other as the same kind.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace rdmameter {

/// {"type": "failed", "kind": ..., "reason": ...} for the exception in flight.
nlohmann::json failure_message(const std::exception& error);

/// Throws what a "failed" message says: Unsupported, UsageError, NoDevice or MeasurementError, its
/// reason prefixed with whose it is.
[[noreturn]] void throw_failure_message(const nlohmann::json& message);

}  // namespace rdmameter
