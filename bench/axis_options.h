// SPDX-License-Identifier: Apache-2.0
// Axes as options of a subcommand.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "core/case.h"

namespace rdmameter {

/// As CLI11 leaves them: texts. Must outlive the parsing, and stay where it is.
struct AxisOptions {
  std::vector<const Axis*> axes;
  std::vector<std::string> texts;           ///< one for each of `axes`
  std::vector<const CLI::Option*> options;  ///< the same
};

/// Declares the axes that `wanted` lets through.
/// @param default_text  the sentence about an axis's default, to end its help
void declare_axes(CLI::App& app, AxisOptions& options,
                  const std::function<bool(const Axis&)>& wanted,
                  const std::function<std::string(const Axis&)>& default_text);

/// Those that were given, in the order of axes().
/// @throws UsageError
std::vector<GivenAxis> given_axes(const AxisOptions& options);

}  // namespace rdmameter
