// SPDX-License-Identifier: Apache-2.0
// Several runs in one file, kept apart: what a comparison needs to tell a change from a run's luck.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/summary/facts.h"

namespace rdmameter {

/// Several runs as one result.
struct MergedResult {
  /// The first file's with `runs`, which has the whole context of each run.
  Json context;
  /// Reads the files anew and gives their rows, one at a time: in the order of the files, each with
  /// its `run`.
  /// @throws UsageError  as merge_results(); or a file is not the one that it was there
  std::function<void(const std::function<void(const Row&)>& take)> each_row;
};

/// Nothing is averaged, nothing lost: every row stays as it is. Files that are merged ones already
/// bring their runs along. The rows never stand in memory all together.
/// @param command  what stands as the merged file's command
/// @param looked   how rows are read here; with Reading::metrics an error in what is large shows no
///                 earlier than in each_row(), as it may where what was written is thrown away then
/// @throws UsageError  a file cannot be read, is there twice, or was measured
///                     in another environment
MergedResult merge_results(const std::vector<std::string>& paths, const std::string& command,
                           bool allow_environment_change, Reading looked = Reading::metrics);

struct MergeRequest {
  std::vector<std::string> files;
  std::string output;   ///< "-": stdout
  std::string command;  ///< that the merged result names
  bool allow_environment_change = false;
};

/// Merges, and writes what comes of it. A file that is there stays until all is read.
/// @return  what it holds: "5 runs, 100 rows"
/// @throws  as merge_results() and ResultWriter
std::string write_merged(const MergeRequest& request);

}  // namespace rdmameter
