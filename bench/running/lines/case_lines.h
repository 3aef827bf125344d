// SPDX-License-Identifier: Apache-2.0
// What is shown while cases are measured: a line or a row of a table for each, and what frames them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/running/runner.h"
#include "core/result/json_text.h"
#include "core/result/row.h"
#include "reports/summary/line_rate.h"

namespace rdmameter {

// One repetition as one line, printed as it ends.

/// "write_lat/rc/size:64  half RTT p50 2.31 µs  p99 3.02 µs ...", without a line end.
/// @param name_width  columns for the name, so that lines align
std::string row_line(const Row& row, std::size_t name_width);

/// The line's text behind the name.
std::string row_text(const Row& row);

/// The first sentence of an error, which is in its line: what to do about it follows, and has its
/// place in the summary.
std::string_view headline(std::string_view message);

// The cases of a run as a table that grows at a terminal: a line for each case when its last
// repetition has ended.

class CaseTable {
 public:
  static constexpr std::size_t kColumns = 5;

  /// @param name_width      columns for names, so that lines align
  /// @param width           of the terminal [columns]; where a line does not fit, the name has one
  ///                        of its own
  /// @param link            without a rate: no percentage of it is told
  /// @param told            parts of names that stand above the table, and are left out of it
  CaseTable(std::size_t name_width, std::size_t width, const LinkRate& link,
            std::vector<std::string> told = {});

  /// Counts a repetition, which has a latency or a bandwidth, or has failed.
  /// @return  the lines to print, each ending in '\n': medians and half ranges of the case after
  ///          its last repetition, a header before where the columns are new; empty: more
  ///          repetitions are due
  std::string add(const Row& row);

  /// The cases whose repetitions have not all been measured.
  std::string rest();

 private:
  struct Case {
    std::string name, kind;
    bool bandwidth = false, shared = false, injected = false, short_window = false;
    double line_rate_gbps = 0;  ///< of all directions; 0: not known
    std::uint64_t ended = 0, measured = 0, repetitions = 1;
    std::uint64_t lost = 0, duplicated = 0, reordered = 0, saturated = 0;
    std::string failed_pairs;                           ///< of the first repetition that has any
    std::array<std::vector<double>, kColumns> numbers;  ///< a value for each repetition
  };

  std::string ended(std::map<std::uint64_t, Case>::iterator at);
  std::string header(const Case& ended_case);
  std::string line(const std::string& name, const std::string& cells,
                   const std::string& remarks = "") const;

  std::size_t name_width_, width_;
  LinkRate link_;
  std::vector<std::string> told_;
  std::string kind_;                     ///< of the last header
  std::map<std::uint64_t, Case> cases_;  ///< begun and not ended, by Row::family_index
};

// What stands before and behind the rows of a run at a terminal: what is measured, what came of it.

/// The device, link, MTU and GID of both ends, then what the names of all cases have in common, a
/// line or more for each.
/// @param context  of the result; ends without a device (the null device has one) are left out
/// @param common   "iterations:2000"
/// @param width    of the terminal [columns]
std::string run_header(const Json& context, const std::vector<std::string>& common,
                       std::size_t width);

/// How many cases of a run were measured, failed or were skipped.
struct RunCount {
  RunTally rows;
  std::size_t cases = 0;                                     ///< that were measured
  std::vector<std::pair<std::string, std::size_t>> reasons;  ///< why others were skipped
};

/// How many were measured, skipped and failed, and why; what to type next.
/// @param output  the result file; empty or "-": none that could be shown
std::string run_summary(const RunCount& count, double elapsed_s, const std::string& output,
                        std::size_t width);

}  // namespace rdmameter
