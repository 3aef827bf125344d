// SPDX-License-Identifier: Apache-2.0
// Options of every subcommand that measures cases.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cases/cases.h"
#include "core/test_case/test_case.h"

namespace CLI {
class App;
}

namespace rdmameter {

// Axes as options of a subcommand.

/// Declares them, so that parsing adds what was given to `given`, in the order of `axes`. What an
/// axis does not take is refused while parsing.
/// @param common        axes that --help describes; it only lists the others
///                      (kMoreAxes). Empty: all
/// @param given         must outlive the parsing
/// @param default_text  the sentence about an axis's default, to end its help
void declare_axes(CLI::App& app, std::span<const Axis* const> axes,
                  std::span<const std::string_view> common, std::vector<GivenAxis>& given,
                  const std::function<std::string(const Axis&)>& default_text);

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
