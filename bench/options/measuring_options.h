// SPDX-License-Identifier: Apache-2.0
// Options of every subcommand that measures cases.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/options/axis_options.h"

namespace rdmameter {

/// What each subcommand that measures takes. As CLI11 leaves it: texts. Must outlive the parsing.
struct MeasuringOptions {
  std::vector<std::string> positionals;
  bool list = false, dry_run = false;
  std::optional<std::string> output, repetitions;
  AxisOptions axes;

  /// Empty: no file; "-": stdout. @throws UsageError
  std::string output_file() const;
  /// @throws UsageError
  std::uint64_t repetition_count(std::uint64_t unless_given) const;
};

/// -o and --repetitions.
void declare_output_options(CLI::App& app, MeasuringOptions& options);

}  // namespace rdmameter
