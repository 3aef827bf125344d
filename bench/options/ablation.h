// SPDX-License-Identifier: Apache-2.0
// run --ablate: a two-level factorial experiment over some axes.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/options/plan.h"

namespace rdmameter {

/// An axis and the two values between which its effect is measured.
struct AblationFactor {
  const Axis* axis;
  std::array<std::string, 2> levels;  ///< as axis_text() has them; the second less the first
};

/// The values of each factor are those that are given for its axis; an axis of which none are given
/// gets its usual ones.
/// @param list    "inline,signal-every": options without their dashes
/// @param suites  get the values
/// @throws UsageError
std::vector<AblationFactor> read_ablation(const std::string& list, std::vector<Suite>& suites);

/// Those of the cases that belong to the design (reports/stats/factorial.h). Cases that differ in
/// factors alone are one experiment; a factor that has no meaning for its test is none of it.
/// @throws UsageError  an experiment has no factor
std::vector<PlannedCase> in_design(const std::vector<PlannedCase>& cases,
                                   const std::vector<AblationFactor>& factors);

/// The ablation in the result's context: {"factors": [{"axis", "levels"}...], "seed"}.
nlohmann::ordered_json ablation_json(const std::vector<AblationFactor>& factors,
                                     std::uint64_t seed);

}  // namespace rdmameter
