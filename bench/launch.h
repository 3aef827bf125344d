// SPDX-License-Identifier: Apache-2.0
// Starting this very program again, as several ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rdmameter {

/// Becomes `mpirun -np RANKS`, of this program with the same arguments; returns only by throwing.
/// @param arguments  without the program's name
/// @throws UsageError  there is no mpirun
[[noreturn]] void launch_ranks(std::uint64_t ranks, const std::vector<std::string>& arguments);

}  // namespace rdmameter
