// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/costs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace rdmameter {
namespace {

double knee_term(double qps, double knee_qps) {
  return knee_qps > 0 ? std::max(0.0, 1 - knee_qps / qps) : 0;
}

struct Solution {
  Costs costs;
  LeastSquares squares;
};

/// The coefficients for a given place of the knee; 0: without one. The constant comes first, so
/// that what cannot be told from it is counted to it.
Solution solve(std::span<const CostPoint> points, double knee_qps) {
  std::vector<Observation> observations;
  observations.reserve(points.size());
  for (const CostPoint& point : points)
    observations.push_back(
        {{1, point.hops - 1, point.hops * point.bytes, knee_term(point.qps, knee_qps)},
         point.time_ns,
         point.block});
  Solution made{{}, least_squares(observations)};
  const std::vector<double>& x = made.squares.coefficients;
  made.costs = {x[0], x[1], x[2], x[3], x[3] > 0 ? knee_qps : 0};
  return made;
}

/// The place between two numbers of QPs that leaves the least errors, by the golden section.
Solution best_knee(std::span<const CostPoint> points, double least, double most) {
  constexpr double kGolden = 0.6180339887498949, kNearEnough = 1.002;
  const auto at = [points](double qps) { return solve(points, qps); };
  double left_qps = most * std::pow(least / most, kGolden);
  double right_qps = least * std::pow(most / least, kGolden);
  Solution left = at(left_qps), right = at(right_qps);
  while (most / least > kNearEnough) {
    if (left.squares.squares < right.squares.squares) {
      most = std::exchange(right_qps, left_qps);
      right = std::move(left);
      left_qps = most * std::pow(least / most, kGolden);
      left = at(left_qps);
    } else {
      least = std::exchange(left_qps, right_qps);
      left = std::move(right);
      right_qps = least * std::pow(most / least, kGolden);
      right = at(right_qps);
    }
  }
  return left.squares.squares < right.squares.squares ? left : right;
}

/// Coarsely, since there may be more than one dip; then finely about the best.
Solution find_knee(std::span<const CostPoint> points, double least, double most) {
  constexpr int kSteps = 24;
  const double ratio = std::pow(most / least, 1.0 / kSteps);
  double best_qps = least, best_squares = INFINITY;
  for (int step = 0; step <= kSteps; ++step) {
    const double qps = least * std::pow(ratio, step);
    const double squares = solve(points, qps).squares.squares;
    if (squares >= best_squares) continue;
    best_qps = qps;
    best_squares = squares;
  }
  return best_knee(points, std::max(least, best_qps / ratio), std::min(most, best_qps * ratio));
}

std::vector<CostPoint> without_group(std::span<const CostPoint> points, std::size_t group) {
  std::vector<CostPoint> rest;
  for (const CostPoint& point : points)
    if (point.block % kMostGroups != group) rest.push_back(point);
  return rest;
}

std::size_t count_blocks(std::span<const CostPoint> points) {
  std::set<std::size_t> blocks;
  for (const CostPoint& point : points) blocks.insert(point.block);
  return blocks.size();
}

/// Costs with each group left out; `solve_rest` solves what is left. Nothing where it does not
/// know what all points together do.
template <class Solve>
std::vector<std::optional<Costs>> leave_out(std::span<const CostPoint> points,
                                            const std::vector<bool>& known, Solve solve_rest) {
  std::vector<std::optional<Costs>> made;
  for (std::size_t group = 0; group < group_count(count_blocks(points)); ++group) {
    const std::vector<CostPoint> rest = without_group(points, group);
    made.emplace_back();
    if (rest.empty()) continue;
    const Solution solution = solve_rest(rest);
    if (solution.squares.known == known) made.back() = solution.costs;
  }
  return made;
}

/// An error of a number of the costs, with what leaving groups out tells of it.
template <class Number>
std::optional<StandardError> error_of(std::span<const std::optional<Costs>> without,
                                      const Number& number) {
  std::vector<std::optional<double>> values;
  for (const auto& costs : without)
    values.push_back(costs ? std::optional(number(*costs)) : std::nullopt);
  return jackknife(values);
}

double spread_of(const LeastSquares& squares, std::size_t points, bool knee) {
  std::size_t parameters = knee ? 1 : 0;
  for (const double coefficient : squares.coefficients) parameters += coefficient > 0 ? 1 : 0;
  return points > parameters ? std::sqrt(squares.squares / static_cast<double>(points - parameters))
                             : 0;
}

}  // namespace

double Costs::time_ns(double hops, double bytes, double qps) const {
  return alpha_ns + knee_cost_ns * knee_term(qps, knee_qps) + (hops - 1) * per_hop_ns +
         hops * bytes * beta_ns_per_byte;
}

CostFit::CostFit(std::span<const CostPoint> points)
    : points_(points.size()), blocks_(count_blocks(points)) {
  const Solution plain = solve(points, 0);
  costs_ = plain.costs;
  knows_per_hop_ = plain.squares.known[1];
  knows_beta_ = plain.squares.known[2];
  spread_ = spread_of(plain.squares, points_, false);
  without_ = leave_out(points, plain.squares.known,
                       [](std::span<const CostPoint> rest) { return solve(rest, 0); });
  std::set<double> qps;
  for (const CostPoint& point : points) qps.insert(point.qps);
  most_qps_ = *qps.rbegin();

  // A knee is two numbers more: it takes QPs on both sides of it, more than one beyond, and a cost
  // that is there whichever case is left out.
  constexpr std::size_t kLeastDifferent = 5;
  if (qps.size() < kLeastDifferent || blocks_ < kLeastDifferent) return;
  const double least = *std::next(qps.begin()), most = *std::prev(std::prev(qps.end()));
  const Solution knee = find_knee(points, least, most);
  if (!(knee.costs.knee_cost_ns > 0)) return;
  const double near = std::max(least, knee.costs.knee_qps / 2);
  const double far = std::min(most, knee.costs.knee_qps * 2);
  auto without = leave_out(points, knee.squares.known, [=](std::span<const CostPoint> rest) {
    return best_knee(rest, near, far);
  });
  const auto cost = [](const Costs& costs) { return costs.knee_cost_ns; };
  const Estimate sure = estimate(knee.costs.knee_cost_ns, error_of(without, cost));
  const double knee_spread = spread_of(knee.squares, points_, true);
  constexpr double kLeastShare = 0.02;  // of alpha: below, it is of no interest
  constexpr double kLeastGain = 0.9;    // of the spread, which any number more makes less
  if (!sure.low || *sure.low < kLeastShare * knee.costs.alpha_ns ||
      knee_spread > kLeastGain * spread_)
    return;
  costs_ = knee.costs;
  spread_ = knee_spread;
  without_ = std::move(without);
}

Estimate CostFit::of(const std::function<double(const Costs&)>& number) const {
  return estimate(number(costs_), error_of(without_, number));
}

Estimate CostFit::predict(const std::function<double(const Costs&)>& time) const {
  const auto error =
      error_of(without_, [&time](const Costs& costs) { return std::log(time(costs)); });
  return estimate_ratio(time(costs_), error, spread_);
}

}  // namespace rdmameter
