// SPDX-License-Identifier: Apache-2.0
// The command line: read by CLI11, but with our texts for what is wrong with it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rdmameter {

/// What a letter of perftest's options may be here: "--size" for 's'.
using OptionsOfLetter = std::vector<std::string> (*)(char letter);

/// Parses the arguments (without the program's name). Prints help or version on stdout
/// where asked for.
/// @return  false: that was all
/// @throws UsageError  with the nearest known word, where one is unknown
bool parse(CLI::App& app, std::vector<std::string> arguments, OptionsOfLetter of_letter);

}  // namespace rdmameter
