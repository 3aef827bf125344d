// SPDX-License-Identifier: Apache-2.0
// What `run` takes: where, which tests, which values on which axes.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/options/ablation.h"
#include "bench/options/measuring_options.h"
#include "bench/options/plan.h"
#include "bench/options/run_hosts.h"
#include "bench/running/until.h"

namespace rdmameter {

struct RunOptions : MeasuringOptions {
  bool loopback = false, overwrite_file = false, loss_report = false;
  Plan plan;
  std::vector<UntilGoal> goals;  ///< of --until
  std::optional<std::uint64_t> budget_ns;
  std::optional<std::string> ablate;
  std::vector<std::shared_ptr<const Background>> backgrounds;
  HostOptions host_options;

  // What these come to, with what the plan says and the command line does not:
  std::vector<RunHost> hosts;            ///< nothing: not said, which a dry run does not mind
  std::vector<Suite> suites;             ///< not empty
  std::optional<Until> until;            ///< `repetitions` are the most then
  std::vector<AblationFactor> ablation;  ///< empty: it is none
};

void declare_run_options(CLI::App& app, RunOptions& options);

/// @return  with what the options come to. @throws UsageError
RunOptions completed(RunOptions options);

}  // namespace rdmameter
