// SPDX-License-Identifier: Apache-2.0
// The topologies of a result at a terminal: shapes over ranks, matrices, growth, the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {

struct TopologyTextOptions {
  std::vector<std::uint64_t> predict;                     ///< numbers of ranks
  std::optional<std::uint64_t> memory_budget_bytes = {};  ///< of a rank
  bool all_matrices = false;                              ///< else one for each shape
  bool judge_shared = false;  ///< name slow ranks where ranks shared cores, too
  bool all_settings = false;  ///< axes at their defaults, and device, port and GID, too
  TextStyle style = {};
};

/// @return empty where no row has a topology
std::string topology_text(const ResultFile& file, const TopologyTextOptions& options);

}  // namespace rdmameter
