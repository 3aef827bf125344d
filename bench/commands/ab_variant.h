// SPDX-License-Identifier: Apache-2.0
// One side of `ab`: which program, in which environment, with which options.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmameter {

struct Variant {
  std::string letter;   ///< "a" or "b"
  std::string text;     ///< as it was given, without a token: for people and results
  std::string program;  ///< path
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> options;

  /// Arguments of the process that measures this side, the program first.
  std::vector<std::string> command(const std::vector<std::string>& common,
                                   const std::vector<std::string>& more) const;
};

/// An option that `ab` itself gives to each `run`, so the user cannot.
struct OwnOption {
  std::string_view names;   ///< "-o,--output"
  std::string_view remedy;  ///< what to give instead
};

/// @param common  what stands after --
/// @throws UsageError  it has one of them, naming it
void refuse_own_options(std::string_view command, const std::vector<std::string>& common,
                        std::initializer_list<OwnOption> own);

/// Reads "[NAME=VALUE]... [PROGRAM] [option]...", quoted as in a shell. The program is told by a
/// '/' in its first word; without one it is this program.
/// @throws UsageError  a quote is open, or the program cannot be executed
Variant read_side(const std::string& letter, const std::string& text);

}  // namespace rdmameter
