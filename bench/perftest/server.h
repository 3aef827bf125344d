// SPDX-License-Identifier: Apache-2.0
// perftest's server: serves one client, then ends.
#pragma once

#include "bench/perftest/translate.h"

namespace rdmameter {

class InterruptSource;  // core/wire/wait.h

/// Prints the table with the rows that the client sends.
/// @return  has its client measured, and said so?
/// @throws UsageError, VerbsError
bool run_perftest_server(PerftestPlan plan, const std::string& command_line,
                         InterruptSource& interrupt);

}  // namespace rdmameter
