// SPDX-License-Identifier: Apache-2.0
// Which coefficients, none of them negative, describe measured values best?
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace rdmameter {

/// A value above 0, and what each coefficient is multiplied with to give it, 0 or more.
struct Observation {
  std::vector<double> terms;
  double value = 0;
  std::size_t block = 0;  ///< those of one block share their luck: they stay together
};

/// Sum of coefficients times terms, as near to the values as can be.
struct LeastSquares {
  std::vector<double> coefficients;  ///< 0: of no use, or not known
  std::vector<bool> known;           ///< false: the term never differs from what others make of it
  double squares = 0;                ///< sum of the squared relative errors, outliers in full
};

/// Least squares of the relative errors, since the noise of times grows with them: weights
/// 1/value^2 of the fitted values, by iteration; outliers weigh as Huber (1964) has it. A
/// coefficient that would be negative becomes 0. A term that (nearly) is a sum of those before it
/// is left out, and said not to be known.
/// @param observations  all with as many terms
LeastSquares least_squares(std::span<const Observation> observations);

/// How sure a number is that was made of observations.
struct Estimate {
  double value = 0;
  std::optional<double> low, high;  ///< 95 %; nothing: too few observations to tell
};

/// Blocks, numbered from 0, are put into so many groups at most: block % kMostGroups is the group,
/// one of which is left out at a time.
inline constexpr std::size_t kMostGroups = 32;
std::size_t group_count(std::size_t blocks);

/// How far a number may be off, and how sure that is.
struct StandardError {
  double error = 0;
  std::size_t freedom = 1;  ///< degrees of freedom
};

/// The jackknife over groups: unlike the usual formulas it neither believes that observations of
/// one block are independent, nor that the model is right (Efron 1982; CR3 in MacKinnon, Nielsen
/// and Webb 2023, "Cluster-robust inference"). Where few groups tell most of the number, there are
/// as few degrees of freedom (Johnson and Rust 1992).
/// @param without  the number made without each of the groups, nothing: it could not be made
/// @return         nothing where there are fewer than three groups, or one alone determines it
std::optional<StandardError> jackknife(std::span<const std::optional<double>> without);

/// value +- t * error, held at 0 or more.
Estimate estimate(double value, const std::optional<StandardError>& error);

/// The same in proportion, of an error of the value's logarithm.
/// @param spread  of what is to be measured about the value: relative, one sigma
Estimate estimate_ratio(double value, const std::optional<StandardError>& log_error, double spread);

}  // namespace rdmameter
