// SPDX-License-Identifier: Apache-2.0
// Starting this very program again, as several ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/running/exit_status.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// Runs `mpirun -np RANKS` to its end, of this program with the same arguments. Ranks end with us.
/// @param arguments  without the program's name
/// @return           what the ranks have ended with
/// @throws UsageError        mpirun cannot be started
/// @throws MeasurementError  it ended otherwise than by what ranks end with: a signal,
///                           its own error
ExitStatus launch_ranks(std::uint64_t ranks, const std::vector<std::string>& arguments,
                        const InterruptSource& interrupt);

}  // namespace rdmameter
