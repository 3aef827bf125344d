// SPDX-License-Identifier: Apache-2.0
// What traffic beside a case has done to it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/summary/summary.h"

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

}  // namespace rdmameter
