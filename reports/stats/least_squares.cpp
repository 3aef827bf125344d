// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

/// Squared sine of the angle between a term and the space of those before it; below: the same.
constexpr double kMinSine2 = 1e-8;

/// Normal equations of the chosen terms, each scaled to length 1, solved by Cholesky's way.
class NormalEquations {
 public:
  NormalEquations(std::span<const Observation> observations, const std::vector<double>& weights,
                  std::vector<bool> chosen)
      : terms_(chosen.size()),
        chosen_(std::move(chosen)),
        products_(terms_ * terms_),
        right_(terms_),
        scale_(terms_) {
    for (std::size_t n = 0; n < observations.size(); ++n)
      for (std::size_t i = 0; i < terms_; ++i) {
        const double weighted = weights[n] * weights[n] * observations[n].terms[i];
        right_[i] += weighted * observations[n].value;
        for (std::size_t j = 0; j <= i; ++j) at(i, j) += weighted * observations[n].terms[j];
      }
    for (std::size_t i = 0; i < terms_; ++i) scale_[i] = std::sqrt(at(i, i));
    for (std::size_t i = 0; i < terms_; ++i)
      if (chosen_[i]) chosen_[i] = factor(i);
  }

  /// Without those terms that say nothing new.
  const std::vector<bool>& chosen() const { return chosen_; }

  std::vector<double> solve() const { return solve(right_); }

  /// The products' inverse, row by row.
  std::vector<double> inverse() const {
    std::vector<double> rows;
    for (std::size_t i = 0; i < terms_; ++i) {
      std::vector<double> unit(terms_);
      unit[i] = 1;
      const std::vector<double> row = solve(unit);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
  }

 private:
  std::vector<double> solve(const std::vector<double>& right) const {
    std::vector<double> x(terms_);
    for (std::size_t i = 0; i < terms_; ++i) {
      if (!chosen_[i]) continue;
      double sum = right[i] / scale_[i];
      for (std::size_t j = 0; j < i; ++j) sum -= at(i, j) * x[j];
      x[i] = sum / at(i, i);
    }
    for (std::size_t i = terms_; i-- > 0;) {
      if (!chosen_[i]) continue;
      for (std::size_t j = i + 1; j < terms_; ++j)
        if (chosen_[j]) x[i] -= at(j, i) * x[j];
      x[i] /= at(i, i);
    }
    for (std::size_t i = 0; i < terms_; ++i)
      if (chosen_[i]) x[i] /= scale_[i];
    return x;
  }

  /// Row i of the factor. @return false: the term says nothing that those before it do not
  bool factor(std::size_t i) {
    if (!(scale_[i] > 0)) return false;
    double rest = 1;
    for (std::size_t j = 0; j < i; ++j) {
      if (!chosen_[j]) {
        at(i, j) = 0;
        continue;
      }
      double sum = at(i, j) / (scale_[i] * scale_[j]);
      for (std::size_t k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = sum / at(j, j);
      rest -= at(i, j) * at(i, j);
    }
    at(i, i) = std::sqrt(std::max(rest, 0.0));
    return rest > kMinSine2;
  }
  double& at(std::size_t i, std::size_t j) { return products_[i * terms_ + j]; }
  double at(std::size_t i, std::size_t j) const { return products_[i * terms_ + j]; }

  std::size_t terms_;
  std::vector<bool> chosen_;
  std::vector<double> products_, right_, scale_;
};

/// One weighted fit; terms whose coefficient would be negative are taken out, the worst first.
/// @param known  out: which terms say something of their own
std::vector<double> solve(std::span<const Observation> observations,
                          const std::vector<double>& weights, std::vector<bool>& known) {
  std::vector<bool> chosen(observations.front().terms.size(), true);
  for (bool first = true;; first = false) {
    const NormalEquations equations(observations, weights, chosen);
    chosen = equations.chosen();
    if (first) known = chosen;
    std::vector<double> x = equations.solve();
    const auto min = std::ranges::min_element(x);
    if (min == x.end() || *min >= 0) return x;
    chosen[static_cast<std::size_t>(min - x.begin())] = false;
  }
}

/// Of each value, relative to what the fit makes of it.
std::vector<double> relative_errors(std::span<const Observation> observations,
                                    const LeastSquares& fit) {
  return mapped(observations, [&](const Observation& one) {
    const double model = fit.value(one.terms);
    return (one.value - model) / (model > 0 ? model : one.value);
  });
}

/// Weights for the next round: relative errors, those beyond Huber's bound held to it.
std::vector<double> weights_of(std::span<const Observation> observations, const LeastSquares& fit) {
  constexpr double kHuber = 1.345;  // 95 % as good where nothing is an outlier
  std::vector<double> errors = relative_errors(observations, fit);
  for (double& error : errors) error = std::abs(error);
  const double bound = kHuber * kMadOfNormal * median(errors);
  std::vector<double> weights;
  for (std::size_t n = 0; n < errors.size(); ++n) {
    const double model = fit.value(observations[n].terms);
    const double held = bound > 0 && errors[n] > bound ? std::sqrt(bound / errors[n]) : 1;
    weights.push_back(held / (model > 0 ? model : observations[n].value));
  }
  return weights;
}

std::vector<double> covariance_of(std::span<const Observation> observations,
                                  const LeastSquares& fit) {
  const auto weights = mapped(observations, [&](const Observation& one) {
    const double value = fit.value(one.terms);
    return value > 0 ? 1 / value : 0;
  });
  return NormalEquations(observations, weights, fit.known).inverse();
}

double length_of(const std::vector<double>& terms) {
  return std::sqrt(std::inner_product(terms.begin(), terms.end(), terms.begin(), 0.0));
}

}  // namespace

double LeastSquares::value(std::span<const double> terms) const {
  return std::inner_product(coefficients.begin(), coefficients.end(), terms.begin(), 0.0);
}

LeastSquares least_squares(std::span<const Observation> observations) {
  LeastSquares result;
  if (observations.empty()) return result;
  auto weights = mapped(observations, [](const Observation& one) { return 1 / one.value; });
  constexpr int kIterations = 8;  // the weights hardly change any more
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    result.coefficients = solve(observations, weights, result.known);
    weights = weights_of(observations, result);
  }
  for (const double error : relative_errors(observations, result)) result.squares += error * error;
  result.covariance = covariance_of(observations, result);
  return result;
}

IdentifiableTerms::IdentifiableTerms(std::span<const Observation> observations) {
  std::vector<double> largest;
  for (const Observation& one : observations) {
    largest.resize(one.terms.size());
    for (std::size_t i = 0; i < largest.size(); ++i)
      largest[i] = std::max(largest[i], one.terms[i]);
  }
  for (std::size_t i = 0; i < largest.size(); ++i)
    if (largest[i] > 0) seen_.push_back({i, largest[i]});
  for (const Observation& one : observations) {
    if (basis_.size() == seen_.size()) return;
    if (contains(one.terms)) continue;
    std::vector<double> next = beyond(one.terms);
    const double length = length_of(next);
    for (double& x : next) x /= length;
    basis_.push_back(std::move(next));
  }
}

bool IdentifiableTerms::contains(std::span<const double> terms) const {
  double squares = 0;
  std::size_t told = 0;
  for (const auto& [i, scale] : seen_) {
    if (i >= terms.size() || terms[i] == 0) continue;
    squares += terms[i] * terms[i] / scale / scale;
    ++told;
  }
  if (told < terms.size() - static_cast<std::size_t>(std::ranges::count(terms, 0.0))) return false;
  const double length = length_of(beyond(terms));
  return length * length <= kMinSine2 * squares;
}

/// What of the terms, scaled, is not in the space.
std::vector<double> IdentifiableTerms::beyond(std::span<const double> terms) const {
  std::vector<double> rest;
  rest.reserve(seen_.size());
  for (const auto& [i, scale] : seen_) rest.push_back(i < terms.size() ? terms[i] / scale : 0);
  for (const std::vector<double>& direction : basis_) {
    const double along = std::inner_product(rest.begin(), rest.end(), direction.begin(), 0.0);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= along * direction[i];
  }
  return rest;
}

}  // namespace rdmameter
