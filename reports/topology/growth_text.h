// SPDX-License-Identifier: Apache-2.0
// How a number grows with the ranks, shape by shape: a small plot on logarithmic axes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/summary/unit.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Points of one shape: ranks, and a number above 0.
struct GrowthLine {
  std::string name;
  std::vector<std::pair<double, double>> measured, predicted;
};

/// Measured points as a capital letter, predicted ones as the small one. Lines that meet show the
/// letter of the first. @return empty where fewer than two different ranks are there
std::string draw_growth(const std::vector<GrowthLine>& lines, const Unit& unit,
                        const TextStyle& style);

}  // namespace rdmameter
