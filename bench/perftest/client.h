// SPDX-License-Identifier: Apache-2.0
// perftest's client: measures, and prints perftest's report on stdout.
#pragma once

#include "bench/options/command.h"
#include "bench/perftest/translate.h"

namespace rdmameter {

/// @return  true: everything was measured, and not below -w and -y; what is not so is
///          told on stderr
/// @throws UsageError, NoDevice, VerbsError, MeasurementError, Interrupted
bool run_perftest_client(PerftestPlan plan, const Invocation& invocation);

}  // namespace rdmameter
