// SPDX-License-Identifier: Apache-2.0
// Rows for spreadsheets and scripts.
#pragma once

#include <string>
#include <vector>

#include "core/result/result_file.h"

namespace rdmameter {

/// A head and one line for each row of the files, in their order. Columns stay as they are: new
/// ones are added at the end. Quoted as RFC 4180 says, but lines end in a mere '\n', as
/// Unix tools expect.
std::string to_csv(const std::vector<ResultFile>& files);

/// A table for pandas, R and the like: a line for each row, a column for each axis that any case
/// has. Latencies are those that the terminal shows, half round trips for a test whose figures are
/// these; the column `latency` says what they are. Which columns there are depends on the tests:
/// read them by name.
std::string to_tidy_csv(const std::vector<ResultFile>& files);

}  // namespace rdmameter
