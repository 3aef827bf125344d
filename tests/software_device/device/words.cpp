// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/words.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "tests/software_device/segment/process.h"

namespace rdmameter::software {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// A number, and what follows it.
struct Measure {
  double number;
  std::string_view unit;
  bool is_number;
};
Measure measure_of(const Word& word) {
  char* end = nullptr;
  const double number = std::strtod(word.value.c_str(), &end);
  return {number, end, end != word.value.c_str() && std::isfinite(number) && number >= 0};
}

template <std::size_t N>
double in_units(const Word& word, const std::array<Unit, N>& units, std::string_view accepted) {
  const Measure measure = measure_of(word);
  for (const Unit& unit : units)
    if (measure.is_number && unit.name == measure.unit) return measure.number * unit.factor;
  reject(word, accepted);
}

}  // namespace

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::vector<Word> words_of(const char* name) {
  constexpr std::string_view kSeparators = ", \t\n";
  const std::string text = variable(name);
  std::vector<Word> words;
  for (std::size_t at = text.find_first_not_of(kSeparators); at != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::size_t sign = word.find('=');
    words.push_back({name, word.substr(0, sign),
                     sign == std::string::npos ? std::string() : word.substr(sign + 1)});
    at = text.find_first_not_of(kSeparators, end);
  }
  return words;
}

void reject(const Word& word, std::string_view accepted) {
  die(std::string(word.variable) + ": '" + word.name + (word.value.empty() ? "" : "=") +
      word.value + "': it takes " + std::string(accepted));
}

std::uint64_t count_of(const Word& word) {
  const Measure measure = measure_of(word);
  if (!measure.is_number || !measure.unit.empty() || measure.number != std::floor(measure.number))
    reject(word, "a whole number");
  return static_cast<std::uint64_t>(measure.number);
}

std::uint64_t nanoseconds_of(const Word& word) {
  constexpr std::array<Unit, 4> kUnits{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  return static_cast<std::uint64_t>(
      std::llround(in_units(word, kUnits, "a time in ns, us, ms or s, such as 2ms")));
}

double bits_per_second_of(const Word& word) {
  constexpr std::array<Unit, 3> kUnits{{{"K", 1e3}, {"M", 1e6}, {"G", 1e9}}};
  const double rate = in_units(word, kUnits, "bits per second in K, M or G, such as 2.5G");
  if (rate <= 0) reject(word, "a rate above 0");
  return rate;
}

double share_of(const Word& word) {
  const Measure measure = measure_of(word);
  if (!measure.is_number || !measure.unit.empty() || measure.number > 1)
    reject(word, "a share from 0 to 1, such as 0.01");
  return measure.number;
}

}  // namespace rdmameter::software
