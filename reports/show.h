// SPDX-License-Identifier: Apache-2.0
// `rdmameter show`: results at a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {

struct ShowOptions {
  bool csv = false;
  bool tidy = false;                   ///< of the CSV: a column for each axis
  bool all = false;                    ///< settings at their defaults, all facts of both ends, too
  bool percentiles = false;            ///< a table of them for every latency case
  bool loss = false;                   ///< stalls of every latency case, by their cause
  std::optional<bool> histogram;       ///< nothing: where the file has few latency cases
  std::vector<std::uint64_t> predict;  ///< topologies: numbers of ranks to predict for
  std::optional<std::uint64_t> memory_budget_bytes = {};  ///< topologies: of a rank
  bool judge_shared = false;  ///< topologies: as TopologyTextOptions has it
  TextStyle style = {};       ///< the program gives terminal_style()
};

/// One result: what was measured on what, and what all cases have in common; for each kind of
/// numbers a table; histograms; what was not measured.
std::string show_result(const ResultFile& file, const ShowOptions& options);

/// The text for stdout of all files, one below the other (or as one CSV).
std::string show_files(const std::vector<ResultFile>& files, const ShowOptions& options);

}  // namespace rdmameter
