// SPDX-License-Identifier: Apache-2.0
// What `run` takes: where, which tests, which values on which axes.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/axis_options.h"
#include "bench/cases.h"
#include "bench/measurers.h"
#include "bench/plan.h"

namespace rdmameter {

/// As CLI11 leaves it: texts. Must outlive the parsing.
struct RunOptions {
  std::vector<std::string> positionals;
  bool loopback = false, list = false, dry_run = false;
  std::optional<std::string> output;
  std::string port = std::to_string(kDefaultPort), token_file, plan;
  std::optional<std::string> repetitions;
  AxisOptions axes;
};

void declare_run_options(CLI::App& app, RunOptions& options);

/// The same, checked.
struct RunRequest {
  std::optional<RunTarget> target;  ///< nothing: not said, which a dry run does not mind
  std::vector<Suite> suites;        ///< not empty
  std::vector<std::string> gates;   ///< that the plan asks for
  std::uint64_t repetitions = 1;
  std::string output;  ///< empty: no file; "-": stdout
};

/// @throws UsageError
RunRequest interpret(const RunOptions& options);

}  // namespace rdmameter
