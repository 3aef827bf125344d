// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/sign_randomisation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace rdmameter {
namespace {

constexpr std::size_t kByte = 8;

/// A member's sums for each value of each byte of a pattern: a sum over all pairs is then one
/// look-up for each eight of them.
class Member {
 public:
  explicit Member(std::span<const double> differences)
      : bytes_((differences.size() + kByte - 1) / kByte) {
    const double squares =
        std::inner_product(differences.begin(), differences.end(), differences.begin(), 0.0);
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t pair = 0; pair < differences.size(); ++pair)
      for (std::size_t value = 0; value < 256; ++value) {
        const bool turned = (value >> pair % kByte & 1) != 0;
        bytes_[pair / kByte][value] += (turned ? -scale : scale) * differences[pair];
      }
  }

  /// @param pattern  bits of 1: pairs that are turned round
  double sum(std::span<const std::uint64_t> pattern) const {
    double sum = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      sum += bytes_[i][pattern[i / kByte] >> i % kByte * kByte & 0xff];
    return sum;
  }

 private:
  std::vector<std::array<double, 256>> bytes_;
};

double worst(std::span<const Member> members, std::span<const std::uint64_t> pattern) {
  double worst = -INFINITY;
  for (const Member& member : members) worst = std::max(worst, member.sum(pattern));
  return worst;
}

}  // namespace

double sign_randomisation(std::span<const std::vector<double>> members, std::uint64_t seed) {
  if (members.empty() || members.front().empty()) return 1;
  const std::size_t pairs = members.front().size();
  const std::vector<Member> tables(members.begin(), members.end());
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
