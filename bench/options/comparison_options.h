// SPDX-License-Identifier: Apache-2.0
// What `compare` and `ab` take alike: gates, floors, where the verdict is written.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "bench/running/exit_status.h"
#include "reports/compare/comparison.h"

namespace rdmameter {

/// Must outlive the parsing.
struct VerdictOptions : ComparisonOptions {
  std::string noise, junit, markdown;
  std::string annotations;  ///< a file for what --github prints; set by `ci` alone
  bool github = false;
};

void declare_verdict_options(CLI::App& app, VerdictOptions& options);

/// The gates of the plan that a file was measured by, unless the command line asks for others.
void take_gates_of(const Comparable& file, ComparisonOptions& options);

/// Adds what --noise names to what the file records itself.
void add_noise(const VerdictOptions& options, Comparable& file);

/// @throws UsageError  a file that is to be written cannot be
void check_verdict_files(const VerdictOptions& options);

/// Prints the comparison, writes the files that were asked for, and says how the program ends.
ExitStatus write_verdict(const Comparison& comparison, const VerdictOptions& options);

}  // namespace rdmameter
