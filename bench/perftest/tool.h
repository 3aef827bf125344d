// SPDX-License-Identifier: Apache-2.0
// The programs of perftest whose command lines we take.
#pragma once

#include <span>
#include <string_view>

namespace rdmameter {

struct PerftestTool {
  enum class Operation { send, write, read, atomic };
  std::string_view name;  ///< "ib_write_bw"
  Operation operation;
  bool bandwidth;  ///< else it measures a latency
};

std::span<const PerftestTool> perftest_tools();

/// The program of this name; null: perftest has none, or one that we have not (raw_ethernet_*).
const PerftestTool* find_perftest_tool(std::string_view name);

}  // namespace rdmameter
