// SPDX-License-Identifier: Apache-2.0
// Rows for spreadsheets and scripts.
#pragma once

#include <string>
#include <vector>

#include "reports/result_file.h"

namespace rdmameter {

/// A head and one line for each row of the files, in their order. Columns stay as they are: new
/// ones are added at the end. Quoted as RFC 4180 says, but lines end in a mere '\n', as Unix tools
/// expect.
std::string to_csv(const std::vector<ResultFile>& files);

}  // namespace rdmameter
