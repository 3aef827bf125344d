// SPDX-License-Identifier: Apache-2.0
// What only some devices can do. One table: `rdmameter devices` shows it, and by it a case is
// skipped that needs what its device lacks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result/json_text.h"
#include "core/verbs/device.h"

namespace rdmameter {

struct Capability {
  std::string_view key;    ///< in the JSON of `devices`; what `needs` of an opcode names
  std::string_view label;  ///< in the text of `devices`
  std::string_view noun;   ///< "mlx5_0/1 has no ..."
  bool (*in)(const DeviceLimits& limits);
  /// Its JSON where that is more than true or false: a word, or an object with "supported".
  Json (*details)(const DeviceLimits& limits) = nullptr;
};

/// All of them, in the order of `devices`.
std::span<const Capability> capabilities();

Json capability_json(const Capability& capability, const DeviceLimits& limits);

/// @param key  of one of capabilities()
bool device_has(const DeviceLimits& limits, std::string_view key);

/// @param key  as device_has(); empty: nothing is needed
/// @throws Unsupported  the device does not have it. @param where  the port, for the text
void require_capability(const DeviceLimits& limits, std::string_view key, const std::string& where);

}  // namespace rdmameter
