// SPDX-License-Identifier: Apache-2.0
// --predict: for which numbers of ranks a result of topologies is extrapolated.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace rdmameter {

/// Declares --predict LIST. @param list  as typed; empty: not given
void add_predict_option(CLI::App& app, std::string& list);

/// Reads "64,1024,16384" into ascending numbers of ranks; none for an empty list.
/// @throws UsageError  naming the option and what it accepts
std::vector<std::uint64_t> predicted_ranks(const std::string& list);

}  // namespace rdmameter
