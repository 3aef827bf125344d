// SPDX-License-Identifier: Apache-2.0
// What lies between two ports, and how fast a port is.
#pragma once

#include <array>
#include <cstdint>

#include "tests/software_device/device/personality.h"

namespace rdmameter::software {

/// From one device to another, or to itself.
struct Path {
  std::uint64_t latency_ns = 0;  ///< one way
  std::uint64_t jitter_ns = 0;   ///< up to so much more, evenly distributed
  double ns_per_byte = 0;        ///< of payload, while the port can send nothing else
  double loss = 0;               ///< share of messages
  double duplicates = 0;         ///< share of datagrams that arrive twice
  double torn = 0;               ///< share of WRITEs of several packets: see transfer_write()
  double overtaken = 0;          ///< share of datagrams that arrive after their successor
};

struct WireSettings {
  bool instant = true;  ///< nothing below is set: a request is executed as it is posted
  std::uint64_t seed = 1;
  std::uint64_t message_ns = 0;  ///< what each message costs its port
  std::uint64_t qp_cache = 0;    ///< QPs whose state a device holds; 0: all
  std::uint64_t qp_miss_ns = 0;  ///< what a message of another one costs in addition
  std::array<std::array<Path, kDevices>, kDevices> paths{};

  const Path& path(std::uint32_t from, std::uint32_t to) const { return paths[from][to]; }
};

inline constexpr std::uint64_t kMostCachedQps = 4096;

/// RDMAMETER_DEVICE_WIRE; what it does not understand ends the program.
WireSettings wire_settings();

}  // namespace rdmameter::software
