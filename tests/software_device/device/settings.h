// SPDX-License-Identifier: Apache-2.0
// What the environment says of the device (RDMAMETER_DEVICE_*).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/software_device/device/costs.h"
#include "tests/software_device/device/delays.h"
#include "tests/software_device/device/faults.h"
#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/wire_settings.h"

namespace rdmameter::software {

struct Settings {
  /// Processes see each other's QPs if they name the same session.
  std::string session;
  /// Of what all processes of a session must agree on: each executes the others' requests.
  std::uint64_t agreement = 0;
  std::uint32_t count = 2;  ///< devices that there are; of the others nothing is seen
  std::array<Personality, kDevices> devices;
  std::array<std::string, kDevices> names;  ///< of the devices
  WireSettings wire;
  // Of this process alone:
  Costs costs;
  QpDelays delays;
  std::vector<Fault> faults;
  std::string log;  ///< of requests; empty: none
  /// What a correct program does not do ends it, with a message.
  bool strict = false;
};

inline std::atomic<const Settings*> settings_read{nullptr};
/// Reads them, on first use.
const Settings& read_settings();

inline const Settings& settings() {
  const Settings* const read = settings_read.load(std::memory_order_acquire);
  return read != nullptr ? *read : read_settings();
}

/// Ends a program that is wrong, if the settings are strict. It goes on otherwise: its call fails.
void misuse(std::string_view what);

/// For tests, while no object of verbs exists: the environment has changed.
void reread_settings();

}  // namespace rdmameter::software
