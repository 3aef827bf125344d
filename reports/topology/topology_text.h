// SPDX-License-Identifier: Apache-2.0
// The topologies of a result at a terminal: shapes over ranks, matrices, growth, the model.
#pragma once

#include <string>

#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {

/// @return empty where no row has a topology
std::string topology_text(const ResultFile& file, const ShowOptions& options);

}  // namespace rdmameter
