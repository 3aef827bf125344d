// SPDX-License-Identifier: Apache-2.0
// What traffic beside a case has done to it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

/// A case beside a background, and the same case alone. Medians over the repetitions. Ratios are to
/// the case alone; nothing: one of the two has no such number.
struct BackgroundEffect {
  const CaseSummary* loaded;
  std::string background;           ///< "write_bw --size 64K"
  double per_s = 0;                 ///< operations of the background in the window of the case
  std::optional<double> gbps;       ///< their payload; nothing: they have none
  std::optional<double> of_alone;   ///< per_s over what it did before the case began
  std::optional<double> p50, p99;   ///< ratios
  std::optional<double> bandwidth;  ///< a ratio
};

/// @param cases  all measured ones among which the same case alone may be
std::vector<BackgroundEffect> background_effects(std::span<const CaseSummary* const> cases);

// ---- What traffic beside cases has done to them, as tables.

/// Adds what each background did, and the ratios of the case beside it to the case alone.
/// @param effects  of each line of the table, in their order
void add_background(Table& table, const std::vector<BackgroundEffect>& effects);

/// Under the tables of numbers: a line for each case that had a background. Empty: none had.
std::string background_text(const Group& group, const TextStyle& style);

/// Of several cases and several backgrounds: the ratio of p99, of bandwidths that of Gb/s. Empty:
/// it would be a single line or column.
/// @param group  all cases of a result, of every kind
std::string background_matrix(const Group& group, const TextStyle& style);

}  // namespace rdmameter
