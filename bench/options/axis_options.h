// SPDX-License-Identifier: Apache-2.0
// Axes as options of a subcommand.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/cases.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// As CLI11 leaves them: texts. Must outlive the parsing, and stay where it is.
struct AxisOptions {
  std::vector<const Axis*> axes;             ///< those to be declared; the caller's to choose
  std::span<const std::string_view> common;  ///< whom --help describes; the others it names only
                                             ///< (kMoreAxes). Empty: all
  std::vector<std::string> texts;            ///< one for each of `axes`
  std::vector<const CLI::Option*> options;   ///< the same
};

/// Declares `options.axes`.
/// @param default_text  the sentence about an axis's default, to end its help
void declare_axes(CLI::App& app, AxisOptions& options,
                  const std::function<std::string(const Axis&)>& default_text);

/// Those that were given, in the order of `options.axes`.
/// @throws UsageError
std::vector<GivenAxis> given_axes(const AxisOptions& options);

}  // namespace rdmameter
