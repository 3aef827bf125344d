// SPDX-License-Identifier: Apache-2.0
// Options whose values are read while the command line is: what a subcommand gets is typed, and
// what is wrong is refused in our words, which name the option.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/options/help_text.h"

namespace rdmameter {

/// @param type  what stands behind the option's name in the help: "FILE"; empty: a positional
template <class Target>
CLI::Option* add_option(CLI::App& app, const std::string& names, Target& target, const char* type,
                        std::string_view description) {
  return app.add_option(names, target, help_text(description))->type_name(type);
}

/// @tparam Typed  std::string, or of an option that may be given more than once their vector
/// @param read    what the target becomes by what was typed. @throws UsageError
template <class Typed = std::string, class Target, class Read>
CLI::Option* add_option(CLI::App& app, const std::string& names, Target& target, const char* type,
                        std::string_view description, Read read) {
  return app
      .add_option_function<Typed>(
          names, [&target, read](const Typed& typed) { target = static_cast<Target>(read(typed)); },
          help_text(description))
      ->type_name(type);
}

/// @throws UsageError naming the option and its range
std::uint64_t read_count(std::string_view option, std::string_view text, std::uint64_t min,
                         std::uint64_t max);

/// A whole number from min to max.
template <class Target>
CLI::Option* add_count(CLI::App& app, const char* name, Target& target,
                       std::string_view description, std::uint64_t min, std::uint64_t max) {
  return add_option(app, name, target, "N", description,
                    [=](const std::string& text) { return read_count(name, text, min, max); });
}

}  // namespace rdmameter
