// SPDX-License-Identifier: Apache-2.0
// What is asked of a result of topologies: --predict, the numbers of ranks for which it is
// extrapolated, and --memory-budget, what a rank may spend on connections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rdmameter {

/// --predict LIST. @param ranks  gets them in ascending order
void add_predict_option(CLI::App& app, std::vector<std::uint64_t>& ranks);

/// --memory-budget BYTES: what a rank of a topology may spend on connections.
void add_memory_budget_option(CLI::App& app, std::optional<std::uint64_t>& bytes);

/// "64M". @throws UsageError  naming --memory-budget
std::uint64_t read_memory_budget(const std::string& text);

}  // namespace rdmameter
