// SPDX-License-Identifier: Apache-2.0
// How --help looks: for 80 columns, and made narrower where the terminal is.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

/// Where the descriptions of options begin.
inline constexpr std::size_t kHelpColumn = 30;

/// The group of options that --help only names, and --help-all describes.
inline constexpr const char* kMoreAxes = "More axes";

/// The description of an option, its lines broken at spaces; CLI11 indents them.
std::string help_text(std::string_view description);

/// "Usage: rdmameter CALL", in lines of help's width.
std::string usage_text(std::string_view call);

/// A whole help, as it is for 80 columns, broken anew for fewer: descriptions stay in their column,
/// a command that is broken ends its line with a backslash, so that it can still be copied.
/// @param width  of the terminal [columns]; from 80 on the text stays as it is
std::string fit_help(std::string_view text, std::size_t width);

/// Lays --help out. CLI11 has a layout of its own, but not the same one in each release (2.6 breaks
/// lines anew, and writes headings in capitals), and fit_help() goes by this one.
class HelpLayout : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_positionals(const CLI::App* app) const override;
  /// A group of options. Of kMoreAxes only the names, unless the help is that of --help-all.
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;

 private:
  mutable bool whole_ = false;  ///< is the help that is being made that of --help-all?
};

}  // namespace rdmameter
