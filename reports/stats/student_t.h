// SPDX-License-Identifier: Apache-2.0
// How far out in Student's distribution does a statistic lie?
#pragma once

#include <span>

namespace rdmameter {

/// P(T >= t). @param degrees  of freedom, above 0, not necessarily whole; infinity: the normal
///                            distribution
double student_t_above(double t, double degrees);

/// The t with P(T >= t) = `above`. @param above  within (0, 1)
double student_t_quantile(double above, double degrees);

// ---- What the variances of many cases say about each of them: with five runs a side, a case's own
// variance is too uncertain for a verdict among many cases.

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

/// The variance by which a case is judged: the larger of its own variance and of the shared one.
/// Never less than Smyth's weighted mean of both, so that Student's distribution with the sum of
/// the degrees of freedom holds, and a noisy case among quiet ones stays noisy.
VarianceEstimate moderated(const VarianceEstimate& own, const VarianceEstimate& shared);

}  // namespace rdmameter
