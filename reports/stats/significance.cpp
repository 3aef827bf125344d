// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/significance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

double log_choose(std::uint64_t n, std::uint64_t k) {
  const auto whole = static_cast<double>(n), part = static_cast<double>(k);
  return std::lgamma(whole + 1) - std::lgamma(part + 1) - std::lgamma(whole - part + 1);
}

constexpr std::size_t kByte = 8;

/// A member's sums for each value of each byte of a pattern: a sum over all pairs is then one
/// look-up for each eight of them.
using ByteSums = std::vector<std::array<double, 256>>;

ByteSums byte_sums(const std::vector<double>& differences) {
  ByteSums bytes((differences.size() + kByte - 1) / kByte);
  const double squares = squares_around(differences, 0);
  const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
  for (std::size_t pair = 0; pair < differences.size(); ++pair)
    for (std::size_t value = 0; value < 256; ++value) {
      const bool turned = (value >> pair % kByte & 1) != 0;
      bytes[pair / kByte][value] += (turned ? -scale : scale) * differences[pair];
    }
  return bytes;
}

/// @param pattern  bits of 1: pairs that are turned round
double worst(std::span<const ByteSums> members, std::span<const std::uint64_t> pattern) {
  double worst = -INFINITY;
  for (const ByteSums& bytes : members) {
    double sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      sum += bytes[i][pattern[i / kByte] >> i % kByte * kByte & 0xff];
    worst = std::max(worst, sum);
  }
  return worst;
}

}  // namespace

double fisher_exact(const Failures& base, const Failures& other) {
  const std::uint64_t failed = base.failed + other.failed;
  if (base.all == 0 || other.all == 0 || other.failed == 0) return 1;
  const double ways = log_choose(base.all + other.all, failed);
  double sum = 0;
  for (std::uint64_t k = other.failed; k <= std::min(failed, other.all); ++k) {
    if (failed - k > base.all) continue;
    sum += std::exp(log_choose(other.all, k) + log_choose(base.all, failed - k) - ways);
  }
  return std::min(1.0, sum);
}

std::vector<double> benjamini_hochberg(std::span<const double> p_values) {
  const auto order = order_by(p_values.size(), [&](std::size_t at) { return p_values[at]; });
  std::vector<double> adjusted(p_values.size());
  double min = 1;  // of those with a greater p-value
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t index = order[rank - 1];
    const double stepped =
        p_values[index] * static_cast<double>(order.size()) / static_cast<double>(rank);
    min = std::min(min, stepped);
    adjusted[index] = min;
  }
  return adjusted;
}

double simes(std::vector<double> p_values) {
  const std::vector<double> adjusted = benjamini_hochberg(p_values);
  return adjusted.empty() ? 1 : std::ranges::min(adjusted);
}

std::vector<FamilyResult> judge_families(std::span<const std::vector<double>> families,
                                         double rate) {
  const std::vector<double> q_values = benjamini_hochberg(mapped(families, simes));
  const auto selected = std::ranges::count_if(q_values, [&](double q) { return q <= rate; });
  const double share = static_cast<double>(selected) / static_cast<double>(families.size());
  std::vector<FamilyResult> results;
  for (std::size_t i = 0; i < families.size(); ++i) {
    const auto significant = [&](double q) { return q_values[i] <= rate && q <= rate * share; };
    results.push_back(
        {.q = q_values[i], .significant = mapped(benjamini_hochberg(families[i]), significant)});
  }
  return results;
}

double sign_randomisation(std::span<const std::vector<double>> members, std::uint64_t seed) {
  if (members.empty() || members.front().empty()) return 1;
  const std::size_t pairs = members.front().size();
  const std::vector<ByteSums> tables = mapped(members, byte_sums);
  std::vector<std::uint64_t> pattern((pairs + 63) / 64, 0);
  constexpr double kLastDigits = 1e-12;  // the same sum in another order
  const double observed = worst(tables, pattern) - kLastDigits;
  const bool exact = pairs <= kMaxExactPairs;
  const std::uint64_t patterns = std::uint64_t{1} << std::min(pairs, kMaxExactPairs);
  std::mt19937_64 engine(seed);
  std::uint64_t as_bad = 0;
  for (std::uint64_t i = 0; i < patterns; ++i) {
    for (std::uint64_t& word : pattern) word = exact ? i : engine();
    as_bad += worst(tables, pattern) >= observed ? 1 : 0;
  }
  const double drawn = exact ? 0 : 1;  // what was observed is one of the ways
  return (static_cast<double>(as_bad) + drawn) / (static_cast<double>(patterns) + drawn);
}

std::size_t pairs_for(double p) {
  return static_cast<std::size_t>(std::max(1.0, std::ceil(-std::log2(p))));
}

}  // namespace rdmameter
