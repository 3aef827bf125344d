// SPDX-License-Identifier: Apache-2.0
// Several runs in one file, kept apart: what a comparison needs to tell a change from a run's luck.
#pragma once

#include <string>
#include <vector>

#include "core/result/result_file.h"

namespace rdmameter {

/// Nothing is averaged, nothing lost: every row stays as it is. Files that are merged ones already
/// bring their runs along.
/// @param command  what stands as the merged file's command
/// @throws UsageError  a file cannot be read, is there twice, or was measured
///                     in another environment
/// @return  of no path: the first file's context with `runs`, which has the whole context of each
///          run; the rows of all, in the order of the files, each with its `run`
ResultFile merge_results(const std::vector<std::string>& paths, const std::string& command,
                         bool allow_environment_change);

}  // namespace rdmameter
