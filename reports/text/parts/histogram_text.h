// SPDX-License-Identifier: Apache-2.0
// A histogram drawn with characters.
#pragma once

#include <string>

#include "core/instrument/histogram_data.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Time across on a logarithmic axis, samples upwards on a linear one; where there are any, at
/// least the thinnest bar is drawn, so that a tail is seen. p50, p99 and p99.9 are marked, where
/// reported.
/// @param divisor  2: the axis tells half round trips
std::string draw_histogram(const HistogramData& data, double divisor, const TextStyle& style);

}  // namespace rdmameter
