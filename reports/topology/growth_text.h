// SPDX-License-Identifier: Apache-2.0
// How a number grows with the ranks, shape by shape, or with something else: a small plot over a
// logarithmic axis.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/summary/unit.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Points of one line, of a shape for example: ranks, and a number above 0.
struct GrowthLine {
  std::string name;
  std::vector<std::pair<double, double>> measured, predicted;
};

struct GrowthAxes {
  std::string x_name = "ranks";
  bool y_from_zero = false;  ///< the numbers on a linear axis that begins at 0; else logarithmic
};

/// Measured points as a capital letter, predicted ones as the small one. Lines that meet show the
/// letter of the first. @return empty where fewer than two different ranks are there
std::string draw_growth(const std::vector<GrowthLine>& lines, const Unit& unit,
                        const TextStyle& style, const GrowthAxes& axes = {});

}  // namespace rdmameter
