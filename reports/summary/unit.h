// SPDX-License-Identifier: Apache-2.0
// The unit of a column of numbers, and its decimals.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

/// A value in this unit is the value in the base unit divided by `size`.
struct Unit {
  std::string_view name;
  double size = 1;
};

/// ns, µs, ms or s, by the smallest typical value of what is to be printed. µs is the field's, so
/// it stays from 100 ns to 10 ms.
Unit time_unit(double typical_ns);

/// The greatest unit in which the largest value is 1 or more. Largest units first, never empty.
Unit rate_unit(std::span<const Unit> units, double largest);

/// As many decimals as give the smallest of the values (but 0) three significant digits; 1 to
/// `most`.
int decimals_for(std::span<const double> values, int max = 4);

/// Decimals of times in this unit that still tell something: samples are whole ns, halves of them
/// at the least.
int max_decimals(const Unit& time_unit);

std::string fixed(double value, int decimals);

/// Three digits that mean something, and at most so many decimals.
std::string three_digits(double value, int most_decimals);

/// "100 ms", "1.5 s": a span of time in running text.
std::string time_text(double ns);

}  // namespace rdmameter
