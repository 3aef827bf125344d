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

/// Declares them, so that parsing adds what was given to `given`, in the order of `axes`. What an
/// axis does not take is refused while parsing.
/// @param common        axes that --help describes; it only lists the others
///                      (kMoreAxes). Empty: all
/// @param given         must outlive the parsing
/// @param default_text  the sentence about an axis's default, to end its help
void declare_axes(CLI::App& app, std::span<const Axis* const> axes,
                  std::span<const std::string_view> common, std::vector<GivenAxis>& given,
                  const std::function<std::string(const Axis&)>& default_text);

}  // namespace rdmameter
