// SPDX-License-Identifier: Apache-2.0
// Options of every subcommand that measures cases.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/cases.h"

namespace rdmameter {

/// Must outlive the parsing.
struct MeasuringOptions {
  std::vector<std::string> positionals;
  bool list = false, dry_run = false;
  std::string output;  ///< empty: no file; "-": stdout
  std::optional<std::uint64_t> repetitions;
  std::vector<GivenAxis> given;
};

/// Declares -o.
void declare_output_option(CLI::App& app, MeasuringOptions& options);

/// Declares --repetitions.
void declare_repetitions_option(
    CLI::App& app, MeasuringOptions& options,
    std::string_view help =
        "measure each case N times, each time with new QPs and buffers; take "
        "10 or more to compare results. Default: 1");

}  // namespace rdmameter
