// SPDX-License-Identifier: Apache-2.0
// What the variances of many cases say about each of them: with five runs a side, a case's own
// variance is too uncertain for a verdict among many cases.
#pragma once

#include <span>

namespace rdmameter {

struct VarianceEstimate {
  double variance = 0;
  double degrees = 0;  ///< of freedom; 0: nothing is known
};

/// The variance that cases have in common, worth `degrees` of freedom beside a case's own: the more
/// alike their variances are, the more it is worth (infinity: all differences between them are
/// chance). Empirical Bayes after G. Smyth, "Linear models and empirical Bayes methods",
/// Statistical Applications in Genetics and Molecular Biology 3 (2004), as in R's package limma.
/// @param cases  estimates without degrees of freedom are left out; all 0 or none left: {0, 0}
VarianceEstimate shared_variance(std::span<const VarianceEstimate> cases);

/// What a case is judged by: the larger of its own variance and of the shared one. Never less than
/// Smyth's weighted mean of both, so that Student's distribution with the sum of the degrees of
/// freedom holds, and a noisy case among quiet ones stays noisy.
VarianceEstimate moderated(const VarianceEstimate& own, const VarianceEstimate& shared);

}  // namespace rdmameter
