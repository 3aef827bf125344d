// SPDX-License-Identifier: Apache-2.0
// Where the rows of a run go: the result file, a line each on stdout, progress on stderr.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "bench/runner.h"
#include "reports/result_file.h"

namespace rdmameter {

/// Is stderr a terminal that somebody looks at? Progress is shown nowhere else.
bool somebody_watches_stderr();

/// @throws UsageError where a result could not be written there; creates nothing
void check_writable(const std::string& output);

class RunOutput : public RunListener {
 public:
  /// @param output  path of the result; empty: none; "-": stdout, which then has no lines
  RunOutput(const std::string& output, const nlohmann::ordered_json& context,
            const std::vector<PlannedCase>& cases);

  void begin(const std::string& name, std::uint64_t done, std::uint64_t all) override;
  void row(const Row& row) override;

  /// Ends the file; says on stderr what failed and what was skipped.
  void finish(const RunTally& tally);

 private:
  void clear_progress();

  std::optional<ResultWriter> writer_;
  bool lines_;     ///< a line per row on stdout
  bool utf8_;      ///< of those lines
  bool progress_;  ///< stderr is a terminal that somebody looks at
  std::size_t name_width_ = 0;
  std::string first_error_, last_message_;
};

}  // namespace rdmameter
