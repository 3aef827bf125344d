// SPDX-License-Identifier: Apache-2.0
// The cases of a command line of perftest, by its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/perftest/translate.h"

namespace rdmameter {

/// The cases of a plan, which have no default of `rdmameter run` in what perftest has a way of its
/// own for.
std::vector<PlannedCase> perftest_cases(const PerftestPlan& plan);

/// The cases as far as they are known before the other end is.
/// @throws UsageError  the first one, of -a the smallest, cannot be
std::vector<PlannedCase> possible_perftest_cases(const PerftestPlan& plan);
void require_possible(const std::vector<PlannedCase>& cases);  ///< likewise

/// A UD message is one packet. Where no size was asked for, perftest takes the MTU.
/// @param mtu_bytes  the lesser of both ends, where it is known
void fit_datagrams(const PerftestPlan& plan, std::vector<PlannedCase>& cases,
                   std::optional<std::uint64_t> mtu_bytes);

}  // namespace rdmameter
