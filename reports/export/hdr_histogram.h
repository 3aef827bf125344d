// SPDX-License-Identifier: Apache-2.0
// A histogram in HdrHistogram's own words: encoded V2, and its table of percentiles. Ours has the
// counts array of an HdrHistogram of 3 significant digits from 1 ns on, so nothing is lost.
#pragma once

#include <string>
#include <string_view>

#include "core/instrument/histogram_data.h"

namespace rdmameter {

/// V2 encoding, deflated, in base64: "HISTFAAA...". Samples beyond the histogram's range, of which
/// only the largest is known, stand in that one's bucket.
std::string hdr_base64(const HistogramData& data);

/// The percentiles that HdrHistogram's outputPercentileDistribution() prints, with its five steps
/// to each halving of what lies beyond.
/// @param unit_ns  values are printed in multiples of this [ns]
/// @param unit     what a last line, a comment, says of the values: "µs, half round trip"
std::string hdr_percentiles(const HistogramData& data, double unit_ns, std::string_view unit);

}  // namespace rdmameter
