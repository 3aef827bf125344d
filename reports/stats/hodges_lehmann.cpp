// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/hodges_lehmann.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

/// More replicates than that a side are represented by as many of their quantiles: pairs grow with
/// the square, and what is lost is far below what replicates differ by.
constexpr std::size_t kMaxReplicates = 256;

std::vector<double> represented(std::vector<double> values) {
  if (values.size() <= kMaxReplicates) return values;
  std::ranges::sort(values);
  std::vector<double> chosen(kMaxReplicates);
  for (std::size_t i = 0; i < kMaxReplicates; ++i)
    chosen[i] = values[(2 * i + 1) * values.size() / (2 * kMaxReplicates)];
  return chosen;
}

/// Enough that the ends of a 95 % interval are 25 draws deep.
constexpr std::size_t kBootstrapDraws = 1000;

/// Draws with replacement. The multiply-shift keeps to the engine's own bits: the standard's
/// distributions differ from library to library.
void draw(std::span<const double> from, std::mt19937& engine, std::vector<double>& into) {
  for (double& value : into) value = from[(std::uint64_t{engine()} * from.size()) >> 32];
}

std::mt19937 seeded(std::uint64_t seed) {
  return std::mt19937(static_cast<std::uint32_t>(seed ^ (seed >> 32)));
}

Interval middle_part(std::vector<double> draws, double confidence) {
  std::ranges::sort(draws);
  const auto beyond =
      static_cast<std::size_t>((1 - confidence) / 2 * static_cast<double>(draws.size()));
  return {draws[beyond], draws[draws.size() - 1 - beyond]};
}

}  // namespace

double hodges_lehmann_shift(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> from = represented({x.begin(), x.end()}),
                            to = represented({y.begin(), y.end()});
  std::vector<double> differences;
  for (const double x_value : from)
    for (const double y_value : to) differences.push_back(y_value - x_value);
  return median(std::move(differences));
}

Interval median_interval(std::span<const double> values, double confidence, std::uint64_t seed) {
  std::vector<double> drawn(values.size()), draws(kBootstrapDraws);
  std::mt19937 engine = seeded(seed);
  for (double& each : draws) {
    draw(values, engine, drawn);
    each = median(drawn);
  }
  return middle_part(std::move(draws), confidence);
}

}  // namespace rdmameter
