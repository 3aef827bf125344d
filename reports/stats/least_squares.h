// SPDX-License-Identifier: Apache-2.0
// Which coefficients, none of them negative, describe measured values best?
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace rdmameter {

/// A value above 0, and what each coefficient is multiplied with to give it, 0 or more.
struct Observation {
  std::vector<double> terms;
  double value = 0;
};

/// Sum of coefficients times terms, as near to the values as can be.
struct LeastSquares {
  std::vector<double> coefficients;  ///< 0: of no use, or not known
  std::vector<bool> known;           ///< false: the term never differs from what others make of it
  double squares = 0;                ///< sum of the squared relative errors, outliers in full
  /// Of known coefficients, over the variance of a value's relative error: (X' W X)^-1 with weights
  /// 1/value^2 of the fitted values. Row by row; 0 where a term is not known.
  std::vector<double> covariance;

  /// What it makes of these terms. @param terms  as many as coefficients
  double value(std::span<const double> terms) const;
};

/// Least squares of the relative errors, since the noise of times grows with them: weights
/// 1/value^2 of the fitted values, by iteration; outliers weigh as Huber (1964) has it. A
/// coefficient that would be negative becomes 0. A term that (nearly) is a sum of those before it
/// is left out, and said not to be known.
/// @param observations  all with as many terms; empty: no coefficients
LeastSquares least_squares(std::span<const Observation> observations);

/// Which values observations tell: sums of multiples of what was observed. Such a value is known
/// even where some of its coefficients are not known one by one.
class IdentifiableTerms {
 public:
  explicit IdentifiableTerms(std::span<const Observation> observations);

  bool contains(std::span<const double> terms) const;

 private:
  std::vector<double> beyond(std::span<const double> terms) const;

  /// Terms that some observation has, with their largest value, which scales them.
  std::vector<std::pair<std::size_t, double>> seen_;
  std::vector<std::vector<double>> basis_;  ///< of the space of the scaled terms, orthonormal
};

}  // namespace rdmameter
