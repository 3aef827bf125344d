// SPDX-License-Identifier: Apache-2.0
// The numbers that a page's charts are drawn from.
#pragma once

#include "core/instrument/histogram_data.h"
#include "reports/html/page_cases.h"

namespace rdmameter {

/// Five digits say all that a chart can show, and take less room.
Json short_number(double value);

/// {"files": [label], "axes": [{"key", "name", "unit"}], "quantities": [{"key", "name", "unit"}],
///  "cases": [{"name", "test", "transport", "axes": {key: value}, "files": [null or
///    {"repetitions", "values": {quantity: [least, median, greatest]}, "latency": packed_curves(),
///     "over_time": rates_over_time(), "latency_over_time": latencies_over_time(),
///     "blame": late_by_cause()}]}]}
/// `axes` are those that vary from case to case; `topologies`: topology_data(), where there are
/// any; `loads`: load_data(), the same.
Json chart_data(const PageCases& page);

/// [[[end of an interval [s], Mmsg/s]...]...]: the series of each repetition that has one of two
/// intervals at least, neighbours put together where there are very many. Empty: none has.
Json rates_over_time(const CaseNumbers& numbers);

/// [[[end of an interval [s], p50, p99, greatest [ns], lost]...]...]: likewise the latencies, of
/// ping-pong tests half round trips; null: too few samples. Empty: no repetition has two intervals.
Json latencies_over_time(const CaseNumbers& numbers);

/// {"limit", "edges", "local", "peer", "path", "undecided"}: how many late samples of each cause
/// lie between edge i and edge i+1 [ns], in all repetitions. Empty: none is late, or they were
/// not asked for.
Json late_by_cause(const CaseNumbers& numbers);

/// latency_curves() in a third of the room, since a page of thousands of cases consists of them:
/// of `edges` and `curve`, which ascend, the first value and then the steps from each to the next
/// in thousandths of the natural logarithm; `shares` in 1/100 000. Rounding does not add up.
Json packed_curves(const Json& curves);

/// A latency as a chart needs it, in some 2 KB whatever the number of buckets:
/// {"kind", "count", "max", "curve", "edges", "shares"}. Times in ns.
/// `curve`: the value at 1/(1-p) = 10^(i/20), i from 0 on, as far as there are samples.
/// `edges`, `shares`: bins from edge i to edge i+1, and which part of all samples each holds.
/// @param divisor  2: of half round trips
Json latency_curves(const HistogramData& data, double divisor);

// ---- Latency over load, as the page's chart needs it.

/// [{"name": the case without its rate, "file": index, "points": [[rate, reached, p50, p99,
///    saturated]], "saturation"?, "slo_ns"?, "slo_rate"?}]
/// Rates in requests per second, ascending; times in ns, null: too few samples. A sweep is a load;
/// so are the cases of open loops that differ in nothing but their rates, if there are two or more.
Json load_data(const PageCases& page);

}  // namespace rdmameter
