// SPDX-License-Identifier: Apache-2.0
// One side of `ab`: which program, in which environment, with which options.
#pragma once

#include <string>
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

/// Reads "[NAME=VALUE]... [PROGRAM] [option]...", quoted as in a shell. The program is told by a
/// '/' in its first word; without one it is this program.
/// @throws UsageError  a quote is open, or the program cannot be executed
Variant read_side(const std::string& letter, const std::string& text);

}  // namespace rdmameter
