// SPDX-License-Identifier: Apache-2.0
// The programs of perftest whose command lines we take.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/result/json_text.h"

namespace rdmameter {

struct PerftestTool {
  enum class Operation { send, write, read, atomic };
  std::string_view name;  ///< "ib_write_bw"
  Operation operation;
  bool bandwidth;                ///< else it measures a latency
  std::string_view connections;  ///< that -c takes, as perftest's help lists them: "RC/UC/UD"
  /// Up to which size a latency test inlines a message on a device that perftest leaves at its
  /// default: on RC or UC, and on UD; 0: bandwidths, reads and atomics.
  std::uint64_t inline_bytes = 0, datagram_inline_bytes = 0;
};

std::span<const PerftestTool> perftest_tools();

/// The program of this name; null: perftest has none, or one that we have not (raw_ethernet_*).
const PerftestTool* find_perftest_tool(std::string_view name);

/// The inline bytes that perftest's latency tests ask for on this adapter, from its default; 0 where
/// perftest does not know the device.
/// @param environment  of an end; without a device (the null device): the default
std::uint64_t perftest_inline_on(const Json& environment, std::uint64_t default_bytes,
                                 bool datagrams);

}  // namespace rdmameter
