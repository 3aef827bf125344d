// SPDX-License-Identifier: Apache-2.0
// The cases of a run as a table that grows at a terminal: a line for each case when its last
// repetition has ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result/row.h"

namespace rdmameter {

class CaseTable {
 public:
  static constexpr std::size_t kColumns = 5;

  /// @param name_width      columns for names, so that lines align
  /// @param width           of the terminal [columns]; where a line does not fit, the name has one
  ///                        of its own
  /// @param line_rate_gbps  of the link; nothing: no percentage of it is told
  /// @param told            parts of names that stand above the table, and are left out of it
  CaseTable(std::size_t name_width, std::size_t width, std::optional<double> line_rate_gbps,
            std::vector<std::string> told = {});

  /// Counts a repetition, which has a latency or a bandwidth.
  /// @return  the lines to print, each ending in '\n': medians and half ranges of the case after
  ///          its last repetition, a header before where the columns are new; empty: more
  ///          repetitions are due
  std::string add(const Row& row);

  /// A repetition failed: it counts as one, and has no numbers.
  std::string add_failed(const Row& row);

  /// The cases whose repetitions have not all been measured.
  std::string rest();

 private:
  struct Case {
    std::string name, kind;
    bool bandwidth = false, shared = false;
    double line_rate_gbps = 0;  ///< of all directions; 0: not known
    std::uint64_t ended = 0, repetitions = 1, lost = 0;
    std::array<std::vector<double>, kColumns> numbers = {};  ///< a value for each repetition
  };

  std::string ended(std::map<std::uint64_t, Case>::iterator at);
  std::string header(const Case& ended_case);
  std::string line(const std::string& name, const std::string& cells,
                   const std::string& remarks = "") const;

  std::size_t name_width_, width_;
  std::optional<double> line_rate_gbps_;
  std::vector<std::string> told_;
  std::string kind_;                     ///< of the last header
  std::map<std::uint64_t, Case> cases_;  ///< begun and not ended, by Row::family_index
};

}  // namespace rdmameter
