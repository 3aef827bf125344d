// SPDX-License-Identifier: Apache-2.0
// What is asked of a result of topologies: --predict, the numbers of ranks for which it is
// extrapolated, and --memory-budget, what a rank may spend on connections.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rdmameter {

/// Declares --predict LIST. @param list  as typed; empty: not given
void add_predict_option(CLI::App& app, std::string& list);

/// Reads "64,1024,16384" into ascending numbers of ranks; none for an empty list.
/// @throws UsageError  naming the option and what it accepts
std::vector<std::uint64_t> predicted_ranks(const std::string& list);

/// Declares --memory-budget BYTES. @param text  as typed; empty: not given
void add_memory_budget_option(CLI::App& app, std::string& text);

/// Reads "64M" into bytes; nothing for an empty text.
/// @throws UsageError  naming the option and what it accepts
std::optional<std::uint64_t> memory_budget_bytes(const std::string& text);

}  // namespace rdmameter
