// SPDX-License-Identifier: Apache-2.0
// Many cases, each judged by several members (p50, p99, ...): which of all these are significant?
#pragma once

#include <span>
#include <vector>

namespace rdmameter {

/// The p-value of "some member differs" (Simes 1986); valid where members go up and down together.
/// 1 for no member.
double simes(std::vector<double> p_values);

struct FamilyResult {
  double q = 1;                   ///< the family's p-value, adjusted over all families
  std::vector<bool> significant;  ///< the members
};

/// First the families by Benjamini and Hochberg at `rate`, then the members of those selected at
/// the rate times the share of families selected (Benjamini and Bogomolov, J. Royal Statistical
/// Society B 76, 2014). Where nothing differs at all, some member of any family is significant in
/// at most `rate` of all sweeps.
/// @param families  p-values of the members of each
std::vector<FamilyResult> judge_families(std::span<const std::vector<double>> families,
                                         double rate);

}  // namespace rdmameter
