// SPDX-License-Identifier: Apache-2.0
// A histogram drawn with characters.
#pragma once

#include <string>

#include "core/instrument/histogram_data.h"
#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Time across on a logarithmic axis, samples upwards on a linear one; where there are any, at
/// least the thinnest bar is drawn, so that a tail is seen. p50, p99 and p99.9 are
/// marked, where reported.
/// @param divisor  2: the axis tells half round trips
std::string draw_histogram(const HistogramData& data, double divisor, const TextStyle& style);

// ---- The percentiles of one case, as far into the tail as its samples go.

/// p25, p50, p75, p90, p95, p99, p99.5, p99.9... each with 1/(1-p), the time, the least and the
/// largest of the repetitions' own, and the samples beyond. Like everywhere, only what has ten
/// samples beyond; the last line is the largest sample.
/// @param summary  has latency samples
std::string percentile_table(const CaseSummary& summary, const TextStyle& style);

}  // namespace rdmameter
