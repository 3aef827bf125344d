// SPDX-License-Identifier: Apache-2.0
// Does one side fail more often than the other?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmameter {

struct Failures {
  std::uint64_t failed = 0, all = 0;
};

/// Fisher's exact test of one side: of all ways to deal the failures out, the share in which
/// `other` has as many as it has, or more. 1 where there is nothing to compare.
double fisher_exact(const Failures& base, const Failures& other);

// ---- Many comparisons at once: which are significant, when each had its chance to be so by luck?

/// Adjusted p-values (Benjamini and Hochberg 1995): comparing each with 0.05 keeps the expected
/// share of false ones among all that are called significant at 5 %; where none is true, the
/// chance that any is called so.
/// @return  as many, in the same order, at most 1
std::vector<double> benjamini_hochberg(std::span<const double> p_values);

// ---- Many cases, each judged by several members (p50, p99, ...): which of all
// these are significant?

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

// ---- Could pairs whose order was drawn at random differ as they do by chance alone?

/// Up to that many pairs all sign patterns are counted; beyond, 2^20 are drawn.
inline constexpr std::size_t kMaxExactPairs = 20;

/// Of all ways to turn pairs round, the share in which the worst member is as bad as it is, or
/// worse: the mean over the pairs of each member, by its root mean square, the largest of the
/// members. Turning a pair round turns all its members round, so that many members cost nothing,
/// and the least p-value is 1 / 2^pairs. It needs nothing of the noise (Fisher 1935): whatever
/// disturbed the measurements met the sides by the order drawn.
/// @param members  differences of each, pair by pair, all as many; above 0: worse
/// @param seed     of the patterns drawn
double sign_randomisation(std::span<const std::vector<double>> members, std::uint64_t seed = 1);

/// The least number of pairs by which a p-value can be as low as `p`.
std::size_t pairs_for(double p);

}  // namespace rdmameter
