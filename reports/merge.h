// SPDX-License-Identifier: Apache-2.0
// Several runs in one file, kept apart: what a comparison needs to tell a change from a run's luck.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result/row.h"

namespace rdmameter {

struct MergedResult {
  nlohmann::ordered_json context;  ///< the first file's, with `runs`: the whole context of each run
  std::vector<Row> rows;           ///< of all, in the order of the files; each with its `run`
};

/// Nothing is averaged, nothing lost: every row stays as it is. Files that are merged ones already
/// bring their runs along.
/// @param command  what stands as the merged file's command
/// @throws UsageError  a file cannot be read, is there twice, or was measured in another
/// environment
MergedResult merge_results(const std::vector<std::string>& paths, const std::string& command,
                           bool allow_environment_change);

}  // namespace rdmameter
