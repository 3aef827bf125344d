// SPDX-License-Identifier: Apache-2.0
// perftest's report: its columns, headers and units, from our rows. Its blanks and tabs, too: what
// stands between two columns decides how many words a script finds that splits at blanks alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result/json_text.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The contents and the form of a report.
struct PerftestReport {
  enum class Table { bandwidth, latency, latency_duration };
  enum class Output { full, bandwidth, message_rate, latency };  ///< else one number per row
  Table table = Table::bandwidth;
  Output output = Output::full;
  bool gbits = false;              ///< Gb/sec, else MiB/sec
  bool samples = false;            ///< -H
  bool both = false;               ///< --report-both
  bool cpu_util = false;           ///< a column more
  bool intervals = false;          ///< --run_infinitely: a row for each interval, none for all
  bool gid_given = false;          ///< -x
  bool recv_list_given = false;    ///< --recv_post_list
  std::string title;               ///< "RDMA_Write BW Test"
  std::uint64_t inline_bytes = 0;  ///< messages up to this are inlined
  std::string transport = "IB";    ///< of the device: "IB", "IW", "Unknown"
  bool peak = false;               ///< of a bandwidth: shown by this end
  bool server = false;             ///< the end that prints it
  std::string link;                ///< of --force-link: "IB", "ETHERNET"; empty: the port's
};

inline constexpr std::string_view kPerftestDashes =
    "---------------------------------------------------------------------------------------\n";

/// perftest has no GID on InfiniBand unless one is asked for.
inline bool perftest_names_gid(const PerftestReport& report, bool ethernet) {
  return ethernet || report.gid_given;
}

struct PerftestTraffic {
  std::uint64_t messages = 0, time_ns = 0;
  PeakData peak = {};  ///< the best stretch; 0: not measured
};

struct PerftestLatency {
  LatencySummary samples;                  ///< [us]
  double typical = 0, p99 = 0, p99_9 = 0;  ///< [us], however few the samples
  double exchanges_per_s = 0;
};

/// The numbers of a row in a report, in the report's unit.
struct PerftestNumbers {
  std::uint64_t size_bytes = 0, iterations = 0;
  /// The traffic from the first post to the last completion, as perftest counts;
  /// both directions together.
  std::optional<PerftestTraffic> traffic;
  std::optional<PerftestTraffic> forward, backward;  ///< where both ends send
  std::optional<PerftestLatency> latency;
  std::optional<std::uint64_t> lost;  ///< messages; nothing: not known
  double cpu_percent = 0;             ///< for the column of --cpu_util
};

/// @param row     measured here, or told by the other end
/// @param server  of a traffic in one direction what has arrived, as perftest's server counts
/// @throws UsageError  it is of the other end, and no row that perftest's tools measure
PerftestNumbers perftest_numbers(const Row& row, bool server = false);

/// A bandwidth in the units of the columns.
struct PerftestBandwidth {
  double average = 0, message_rate = 0;  ///< [MiB/s or Gb/s], [Mmsg/s]
  double peak = 0;                       ///< as the average; 0: not measured, or not shown
};
/// @param numbers  with traffic
PerftestBandwidth perftest_bandwidth(const PerftestReport& report, const PerftestNumbers& numbers);

/// The line of dashes and the header of the table; empty for one number per row.
std::string perftest_header(const PerftestReport& report);

/// -H: every sample, above the table; ours are known to their bucket, 0.1 % wide at most.
std::string perftest_samples(const LatencyData& latency);

/// Can the report's table show them?
bool perftest_fits(const PerftestReport& report, const PerftestNumbers& numbers);

/// @param numbers  which fit
std::string perftest_row(const PerftestReport& report, const PerftestNumbers& numbers);

/// `"results": {...}` of perftest's JSON file: its keys and digits, a line each, which
/// scripts look for.
/// Of both directions apart the one that perftest's JSON has: that of its last table.
PerftestNumbers perftest_last(const PerftestReport& report, PerftestNumbers numbers);
std::string perftest_results_json(const PerftestReport& report, const PerftestNumbers& numbers);

/// The line that ends the table.
std::string perftest_footer(const PerftestReport& report);

// The settings of a test as perftest tells them: the block above its table, and `test_info`
// of its file.

/// The title and the settings, between two lines of dashes; empty for one number per row.
/// @param test_case    as it is in truth, where it is connected
/// @param environment  of this end; null where it is not known
std::string perftest_banner(const PerftestReport& report, const TestCase& test_case,
                            const Json& environment);

/// `"test_info": {...}` of perftest's JSON file: its keys, a line each, which scripts look for.
std::string perftest_test_info(const PerftestReport& report, const TestCase& test_case,
                               const Json& environment);

}  // namespace rdmameter
