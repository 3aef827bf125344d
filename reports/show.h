// SPDX-License-Identifier: Apache-2.0
// `rdmameter show`: results at a terminal.
#pragma once

#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {

/// One result: what was measured on what, and what all cases have in common; for each kind of
/// numbers a table; histograms; what was not measured.
std::string show_result(const ResultFile& file, const ShowOptions& options);

/// The text for stdout of all files, one below the other (or as one CSV).
std::string show_files(const std::vector<ResultFile>& files, const ShowOptions& options);

}  // namespace rdmameter
