// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/unit.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace rdmameter {

Unit time_unit(double typical_ns) {
  if (typical_ns < 100) return {"ns", 1};
  if (typical_ns < 10e6) return {"µs", 1e3};
  if (typical_ns < 10e9) return {"ms", 1e6};
  return {"s", 1e9};
}

Unit rate_unit(std::span<const Unit> units, double largest) {
  for (const Unit& unit : units)
    if (largest >= unit.size) return unit;
  return largest > 0 ? units.back() : units.front();
}

int decimals_for(std::span<const double> values, int max) {
  double smallest = 0;
  for (const double value : values)
    if (value > 0 && (smallest == 0 || value < smallest)) smallest = value;
  if (smallest == 0) return 1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(smallest))), 1, max);
}

int max_decimals(const Unit& time_unit) {
  return time_unit.size <= 1 ? 1 : 3;
}

std::string fixed(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

std::string three_digits(double value, int most_decimals) {
  const int decimals = value > 0 ? 2 - static_cast<int>(std::floor(std::log10(value))) : 0;
  return fixed(value, std::clamp(decimals, 0, most_decimals));
}

std::string time_text(double ns) {
  for (const Unit unit : {Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"µs", 1e3}})
    if (ns >= unit.size) return fmt::format("{:.6g} {}", ns / unit.size, unit.name);
  return fmt::format("{:.6g} ns", ns);
}

}  // namespace rdmameter
