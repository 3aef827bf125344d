// SPDX-License-Identifier: Apache-2.0
// The device of the end that was started: an error in its own options is told there, and at once.
#pragma once

#include "bench/perftest/translate.h"

namespace rdmameter {

/// Is there what -d, -i and -x name, and is the port active? perftest's lines come first.
/// @throws NoDevice, UsageError, Unsupported, VerbsError
void require_own_device(const PerftestPlan& plan);

/// perftest's lines where there is no such device.
void tell_no_device(const PerftestPlan& plan);

}  // namespace rdmameter
