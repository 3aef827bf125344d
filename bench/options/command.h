// SPDX-License-Identifier: Apache-2.0
// What a subcommand is: a function that declares its options once, with CLI11, and returns what the
// subcommand will then do. Exceptions and statuses become the process's exit in main() alone.
#pragma once

#include <CLI/App.hpp>
// What App constructs: their definitions must be where its own are.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error_text.h"
#include "core/base/parse_value.h"

namespace rdmameter {

class InterruptSource;  // core/wire/wait.h

/// How the program was called, beyond the subcommand's own options.
struct Invocation {
  std::string command_line;                      ///< as one would type it; holds no secrets
  std::vector<std::string> arguments;            ///< the same, apart, without the program
  std::vector<std::string> benchmark_arguments;  ///< --benchmark_*
  InterruptSource& interrupt;
};

using Action = std::function<ExitStatus(const Invocation&)>;

// How --help looks: for 80 columns, and narrower where the terminal is.

/// The group of options that --help only names, and --help-all describes.
inline constexpr const char* kMoreAxes = "More axes";

/// "Usage: rdmameter CALL", in lines of help's width.
std::string usage_text(std::string_view call);

/// Lays --help out: descriptions stay in their column, a command that is broken ends its line with
/// a backslash, so that it can still be copied. CLI11 has a layout of its own, but not the same one
/// in each release (2.6 breaks lines anew, and writes headings in capitals).
class HelpLayout : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  /// A group of options. Of kMoreAxes only the names, unless the help is that of --help-all.
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;

 private:
  mutable bool whole_ = false;  ///< is the help that is being made that of --help-all?
};

/// Refuses an empty text, which an unset variable of a shell gives, as the value of an option. Of
/// those alone that stand for a side of `ab` an empty one has a meaning.
CLI::Option* with_value(CLI::Option* option);

// Options whose values are read while the command line is: what a subcommand gets is typed, and
// what is wrong is refused in our words, which name the option.

/// @param type  what stands behind the option's name in the help: "FILE"; empty: a positional
template <class Target>
CLI::Option* add_option(CLI::App& app, const std::string& names, Target& target, const char* type,
                        std::string_view description) {
  return with_value(app.add_option(names, target, std::string(description))->type_name(type));
}

/// @tparam Typed  std::string, or of an option that may be given more than once their vector
/// @param read    what the target becomes by what was typed. @throws UsageError
template <class Typed = std::string, class Target, class Read>
CLI::Option* add_option(CLI::App& app, const std::string& names, Target& target, const char* type,
                        std::string_view description, Read read) {
  return with_value(
      app.add_option_function<Typed>(
             names,
             [&target, read](const Typed& typed) { target = static_cast<Target>(read(typed)); },
             std::string(description))
          ->type_name(type));
}

/// An option without a value.
inline void add_flag(CLI::App& app, const char* name, bool& target, std::string_view description) {
  app.add_flag(name, target, std::string(description));
}

/// A whole number from min to max.
template <class Target>
CLI::Option* add_count(CLI::App& app, const char* name, Target& target,
                       std::string_view description, std::uint64_t min, std::uint64_t max) {
  return add_option(app, name, target, "N", description,
                    [=](const std::string& text) { return read_count(name, text, min, max); });
}

}  // namespace rdmameter
