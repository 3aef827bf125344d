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
  std::string plan;
  std::optional<std::string> until, budget, ablate;
  std::vector<std::string> backgrounds;
  HostOptions hosts;
};

void declare_run_options(CLI::App& app, RunOptions& options);

/// What RunOptions say, checked.
struct RunRequest {
  std::vector<RunHost> hosts;      ///< nothing: not said, which a dry run does not mind
  std::vector<Suite> suites;       ///< not empty
  std::vector<std::string> gates;  ///< that the plan asks for
  std::vector<std::shared_ptr<const Background>> backgrounds;
  std::uint64_t repetitions = 1;  ///< at most, with `until`
  std::optional<Until> until;
  std::vector<AblationFactor> ablation;  ///< empty: it is none
  std::string output;                    ///< as MeasuringOptions::output_file()
};

/// @throws UsageError
RunRequest interpret(const RunOptions& options);

}  // namespace rdmameter
