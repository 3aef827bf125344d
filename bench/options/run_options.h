// SPDX-License-Identifier: Apache-2.0
// What `run` takes: where, which tests, which values on which axes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/options/measuring_options.h"
#include "bench/options/plan.h"
#include "bench/options/run_hosts.h"
#include "bench/running/until.h"
#include "core/result/json_text.h"

namespace CLI {
class App;
}

namespace rdmameter {

// run --ablate: a two-level factorial experiment over some axes.

/// An axis and the two values between which its effect is measured.
struct AblationFactor {
  const Axis* axis;
  std::array<std::string, 2> levels;  ///< as axis_text() has them; the second less the first
};

/// The values of each factor are those that are given for its axis; an axis of which none are given
/// gets its usual ones.
/// @param list    "inline,signal-every": options without their dashes
/// @param suites  get the values
/// @throws UsageError
std::vector<AblationFactor> read_ablation(const std::string& list, std::vector<Suite>& suites);

/// Those of the cases that belong to the design (reports/stats/factorial.h). Cases that differ in
/// factors alone are one experiment; a factor that has no meaning for its test is none of it.
/// @throws UsageError  an experiment has no factor
std::vector<PlannedCase> in_design(const std::vector<PlannedCase>& cases,
                                   const std::vector<AblationFactor>& factors);

/// The ablation in the result's context: {"factors": [{"axis", "levels"}...], "seed"}.
Json ablation_json(const std::vector<AblationFactor>& factors, std::uint64_t seed);

struct RunOptions : MeasuringOptions {
  bool overwrite_file = false, loss_report = false;
  Plan plan;
  std::vector<UntilGoal> goals;  ///< of --until
  std::optional<std::uint64_t> budget_ns;
  std::optional<std::string> ablate;
  std::vector<std::shared_ptr<const Background>> backgrounds;
  HostOptions host_options;

  // What these come to, with what the plan says and the command line does not:
  std::vector<RunTarget> hosts;          ///< nothing: not said, which a dry run does not mind
  std::vector<Suite> suites;             ///< not empty
  std::optional<Until> until;            ///< `repetitions` are the most then
  std::vector<AblationFactor> ablation;  ///< empty: it is none
};

void declare_run_options(CLI::App& app, RunOptions& options);

/// @return  with what the options come to. @throws UsageError
RunOptions completed(RunOptions options);

}  // namespace rdmameter
