// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "reports/stats/sample.h"
#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

std::size_t rows_of(std::span<const FitPoint> points) {
  std::set<std::size_t> rows;
  for (const FitPoint& point : points) rows.insert(point.row);
  return rows.size();
}

double spread_of(const LeastSquares& fit, std::size_t points) {
  const auto parameters = static_cast<std::size_t>(
      std::ranges::count_if(fit.coefficients, [](double coefficient) { return coefficient > 0; }));
  return points > parameters ? std::sqrt(fit.squares / real(points - parameters)) : 0;
}

}  // namespace

CostFit::CostFit(std::span<const FitPoint> points)
    : squares_(least_squares(mapped(points, &FitPoint::observation))),
      identifiable_(mapped(points, &FitPoint::observation)),
      spread_(spread_of(squares_, points.size())),
      points_(points.size()),
      rows_(rows_of(points)),
      by_kind_(points.front().observation.terms.size() == 3 * kHostKinds) {
  const std::span<const double> terms = points.front().observation.terms;
  const std::size_t sorts_of_hops = by_kind_ ? 2 * kHostKinds : 2;
  const auto sum = [](std::span<const double> some) {
    return std::accumulate(some.begin(), some.end(), 0.0);
  };
  bytes_ = sum(terms.subspan(sorts_of_hops)) / sum(terms.first(sorts_of_hops));
  leave_out_max_ranks(points);
}

Costs CostFit::costs() const {
  return {squares_.coefficients[0], squares_.coefficients[1], squares_.coefficients[2]};
}

/// The variance of what the fit makes of these terms over that of a point, both relative:
/// x' (X' W X)^-1 x.
double CostFit::leverage(std::span<const double> terms) const {
  double sum = 0;
  for (std::size_t i = 0; i < squares_.covariance.size(); ++i)
    sum += terms[i / terms.size()] * squares_.covariance[i] * terms[i % terms.size()];
  const double value = this->value(terms);
  return sum / (value * value);
}

std::optional<Interval> CostFit::interval(std::span<const double> terms, const std::string& graph,
                                          std::size_t kind) const {
  constexpr double kBeyond = 0.025;  // on each side
  const double tells_nothing = std::log(10);
  const auto known = static_cast<std::size_t>(std::ranges::count(squares_.known, true));
  const double value = this->value(terms);
  if (rows_ <= known || !(value > 0)) return std::nullopt;
  const double of_row = real(points_) / real(rows_);
  const double t = student_t_quantile(kBeyond, real(rows_ - known));
  const double error = error_at_max_ranks(graph, kind).value_or(0);
  const double half = std::max(t * spread_ * std::sqrt(1 + of_row * leverage(terms)),
                               std::log1p(error));  // of the log
  if (half > tells_nothing) return std::nullopt;
  return Interval{value * std::exp(-half), value * std::exp(half)};
}

void CostFit::leave_out_max_ranks(std::span<const FitPoint> points) {
  const std::uint64_t max = std::ranges::max(points, {}, &FitPoint::ranks).ranks;
  std::vector<FitPoint> fewer;
  std::map<std::tuple<std::string, std::size_t, std::vector<double>>, std::vector<double>> left_out;
  for (const FitPoint& point : points)
    if (point.ranks < max)
      fewer.push_back(point);
    else
      left_out[{point.graph, point.kind, point.observation.terms}].push_back(
          point.observation.value);
  const LeastSquares fit = least_squares(mapped(fewer, &FitPoint::observation));
  const IdentifiableTerms identifiable(mapped(fewer, &FitPoint::observation));
  for (auto& [of, values] : left_out) {
    const auto& [graph, kind, terms] = of;
    const double measured = median(std::move(values));
    Number& largest = errors_.try_emplace({graph, kind}, 0.0).first->second;
    if (!identifiable.contains(terms))
      largest.reset();
    else if (largest)
      largest = std::max(*largest, std::abs(fit.value(terms) / measured - 1));
  }
}

Number CostFit::error_at_max_ranks(const std::string& graph, std::size_t kind) const {
  const auto found = errors_.find({graph, kind});
  return found == errors_.end() ? std::nullopt : found->second;
}

std::vector<double> CostFit::terms(double hops, double bytes) {
  return {1, hops - 1, hops * bytes};
}

std::vector<double> CostFit::terms(const RouteKinds& route, double bytes) {
  std::vector<double> terms(3 * kHostKinds);
  for (std::size_t kind = 0; kind < kHostKinds; ++kind) {
    terms[kind] = route.first[kind];
    terms[kHostKinds + kind] = route.hops[kind] - route.first[kind];
    terms[2 * kHostKinds + kind] = route.hops[kind] * bytes;
  }
  return terms;
}

KnownCosts CostFit::costs_of(PairKind kind) const {
  const auto cost = [&](std::size_t sort, double bytes) -> Number {
    std::vector<double> terms(3 * kHostKinds);
    terms[sort * kHostKinds + static_cast<std::size_t>(kind)] = 1;
    if (sort < 2) terms[2 * kHostKinds + static_cast<std::size_t>(kind)] = bytes;
    return contains(terms) ? std::optional(value(terms)) : std::nullopt;
  };
  const auto for_no_bytes = [&](std::size_t sort) {
    const auto value = cost(sort, 0);
    return value ? value : cost(sort, bytes_);
  };
  return {
      .alpha_ns = for_no_bytes(0), .per_hop_ns = for_no_bytes(1), .beta_ns_per_byte = cost(2, 0)};
}

}  // namespace rdmameter
