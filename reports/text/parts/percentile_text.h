// SPDX-License-Identifier: Apache-2.0
// The percentiles of one case, as far into the tail as its samples go.
#pragma once

#include <string>

#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

/// p25, p50, p75, p90, p95, p99, p99.5, p99.9... each with 1/(1-p), the time, the least and the
/// largest of the repetitions' own, and the samples beyond. Like everywhere, only what has ten
/// samples beyond; the last line is the largest sample.
/// @param summary  has latency samples
std::string percentile_table(const CaseSummary& summary, const TextStyle& style);

}  // namespace rdmameter
