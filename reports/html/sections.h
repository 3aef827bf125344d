// SPDX-License-Identifier: Apache-2.0
// The parts of a page, in its order. A new one is a function here and a row in the table of
// report.cpp; what it needs beyond the results comes in its own parameters, bound there.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/html/page_cases.h"

namespace rdmameter {

struct Section {
  std::string id;     ///< of its element, and in the page's list of contents
  std::string title;  ///< text
  std::string html;   ///< escaped already; empty: the section is left out
};

/// The subject of the measurement: tests, ends, settings. The page begins with it.
Section subject_section(const PageCases& page);

/// "mlx5_0 and mlx5_1, Ethernet 100 Gb/s: write_lat, write_bw": the hardware first, of several
/// results their labels last.
std::string page_title(const PageCases& page);

/// The verdict, and for each case its change with the interval drawn.
Section comparison_section(const PageCases& page, const Comparison& comparison);

/// Is it good: the best values against line rate and overhead, the largest spread, stragglers, losses;
/// what was not measured.
Section summary_section(const PageCases& page);

/// Charts of what the cases have: latency over load, percentiles and distribution, numbers over an
/// axis, rates and latencies over time, late samples by cause.
/// @param data  chart_data(); null: the build has no charts
std::vector<Section> chart_sections(const Json& data);

/// Shapes over ranks, pictures of matrix and graph, the fitted model and what it predicts; growth
/// curves where the build has charts. Empty: no row has a topology.
Section topology_section(const PageCases& page);

/// Rates over active connections, drawn; their knees and numbers. Empty: no row is of
/// `topo connections`.
Section connections_section(const PageCases& page);

/// The latencies and rates of each test and transport: what the charts show, and more, in numbers.
Section numbers_section(const PageCases& page);

/// The environments of the results, and the differences between them, or between the two ends.
Section environment_section(const PageCases& page);

}  // namespace rdmameter
