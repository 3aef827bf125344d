// SPDX-License-Identifier: Apache-2.0
// Where the rows of a run go: the result file, stdout (a line each, or at a terminal a line for
// each case), progress on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/running/lines/case_lines.h"
#include "bench/running/runner.h"
#include "core/result/result_file.h"
#include "reports/text/text.h"

namespace rdmameter {

class RunOutput : public RunListener {
 public:
  /// @param output  path of the result; empty: none; "-": stdout, which then has no lines
  RunOutput(const std::string& output, const Json& context, const std::vector<PlannedCase>& cases);

  /// A text about all rows together: lines that end in a newline; empty: nothing.
  using Telling = std::function<std::string(std::span<const Row>, const TextStyle&)>;

  /// Keeps all rows from here on, and finish() prints `telling` of them.
  void tell_at_the_end(Telling telling) { tellings_.push_back(std::move(telling)); }

  /// Keeps all rows from here on, which have no line: the caller prints what they tell together.
  void keep_without_lines();
  const std::vector<Row>& kept() const { return kept_; }

  /// Bandwidths from here on are held against links and slots of this context, in place of those of
  /// the result's own.
  void bound_by(const Json& context) { context_ = context; }

  void begin(const std::string& name, std::uint64_t done, std::uint64_t all) override;
  void row(const Row& measured) override;

  /// Ends the file; says on stderr what failed and what was skipped. @return  the tally's status
  ExitStatus finish(const RunTally& tally);

 private:
  std::string shown(const Row& row);
  std::string told_line(const Row& row) const;
  void print_lines(const std::string& text);
  std::string untold_error() const;

  std::optional<ResultWriter> writer_;
  Json context_;  ///< that bandwidths are held against
  std::string output_;
  bool lines_;     ///< a line per row on stdout
  bool utf8_;      ///< of those lines
  bool progress_;  ///< stderr_is_interactive()
  bool framed_;    ///< stdout is, too: what is measured and what came of it stands around the rows
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double last_told_s_ = 0;           ///< off a terminal: when a line last said how far the run is
  std::optional<CaseTable> table_;   ///< where it is framed
  std::vector<std::string> common_;  ///< parts of all names, told above the table
  std::size_t name_width_ = 0;
  std::set<std::uint64_t> measured_cases_;                         ///< by Row::family_index
  std::vector<std::pair<std::string, std::size_t>> skip_reasons_;  ///< and how many cases
  bool keeps_ = false;  ///< kept_ gets the rows even if there are no tellings_
  std::vector<Row> kept_;
  std::vector<Telling> tellings_;
  std::vector<Row> settled_;  ///< the last of each case of --until, without numbers
  std::string first_error_, last_message_;
  bool tail_may_be_missing_ = false;  ///< of any row
};

}  // namespace rdmameter
