// SPDX-License-Identifier: Apache-2.0
// Reads the variables of the environment: lists of words `name=value`, separated by commas or
// blanks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter::software {

/// One word of a variable.
struct Word {
  const char* variable;
  std::string name, value;  ///< value: empty where there is no '='
};

/// @return empty: the variable is not set
std::string variable(const char* name);
std::vector<Word> words_of(const char* variable);

/// Ends the program: the variable says something that the device does not understand.
/// @param accepted  what it would understand
[[noreturn]] void reject(const Word& word, std::string_view accepted);

// What a word's value says; each ends the program if it says something else.
std::uint64_t count_of(const Word& word);
std::uint64_t nanoseconds_of(const Word& word);  ///< 20ns, 1.5us, 2ms, 1s
double bits_per_second_of(const Word& word);     ///< 100M, 2.5G
double share_of(const Word& word);               ///< 0 to 1

}  // namespace rdmameter::software
