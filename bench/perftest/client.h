// SPDX-License-Identifier: Apache-2.0
// perftest's client: measures, and prints perftest's report on stdout.
#pragma once

#include <memory>

#include "bench/perftest/translate.h"
#include "core/engine/measurer.h"

namespace rdmameter {

class InterruptSource;  // core/wire/wait.h

// Settings that perftest turns on where it knows the device. We try them on every device, and go
// without one that the device does not have.

/// Which settings may be given up: those that were not asked for. Of inline data as much stays as
/// the device takes.
struct OptionalSettings {
  bool inline_bytes = false, extended_api = false;
  bool operator==(const OptionalSettings&) const = default;
};

/// Measures by `inner`, which it borrows. A setting that was given up once is not tried again, and
/// a note says so once.
std::unique_ptr<Measurer> with_optional_settings(Measurer& inner, OptionalSettings settings);

/// @return  true: everything was measured, and not below -w and -y; what is not so is
///          told on stderr
/// @throws UsageError, NoDevice, VerbsError, MeasurementError, Interrupted
bool run_perftest_client(PerftestPlan plan, const std::string& command_line,
                         InterruptSource& interrupt);

}  // namespace rdmameter
