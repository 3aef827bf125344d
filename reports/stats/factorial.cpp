// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/factorial.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <map>

#include "reports/stats/sample.h"
#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// The words of the defining relation: products of factors that are 1 in all runs.
std::vector<FactorSet> defining_words(std::size_t factors) {
  if (factors <= 4) return {};
  if (factors < 8) return {(1U << factors) - 1};  // the last factor is the others' product
  constexpr FactorSet k1234 = 0b0100'1111, k1256 = 0b1011'0011;  // 7 = 1234, 8 = 1256
  return {k1234, k1256, k1234 ^ k1256};
}

/// The product of these factors' levels, each -1 or 1.
int sign_of(FactorSet factors, FactorSet levels) {
  return std::popcount(factors & ~levels) % 2 == 0 ? 1 : -1;
}

std::vector<FactorSet> effects_of(std::size_t factors) {
  std::vector<FactorSet> all;
  for (std::size_t i = 0; i < factors; ++i) all.push_back(1U << i);
  for (std::size_t i = 0; i < factors; ++i)
    for (std::size_t k = i + 1; k < factors; ++k) all.push_back(1U << i | 1U << k);
  return all;
}

using Block = std::map<FactorSet, std::vector<double>>;

std::vector<Block> whole_blocks(std::span<const FactorialRun> runs, std::size_t factors) {
  const std::vector<FactorSet> design = factorial_design(factors);
  std::map<std::uint64_t, Block> blocks;
  for (const FactorialRun& run : runs) blocks[run.block][run.levels].push_back(run.value);
  std::vector<Block> whole;
  for (auto& [number, block] : blocks)
    if (std::ranges::all_of(design, [&block = block](FactorSet levels) {
          const auto found = block.find(levels);
          return found != block.end() && found->second.size() == 1;
        }))
      whole.push_back(std::move(block));
  return whole;
}

/// In one block.
double effect_in(const Block& block, FactorSet effect, const std::vector<FactorSet>& design) {
  double sum = 0;
  for (const FactorSet levels : design) sum += sign_of(effect, levels) * block.at(levels).front();
  return std::ldexp(sum, std::popcount(effect)) / static_cast<double>(design.size());
}

/// Of a mean that is 0. @param deviation  of the mean itself
double two_sided_p(double mean, double deviation, double degrees) {
  if (deviation == 0) return mean == 0 ? 1 : 0;
  return std::min(1.0, 2 * student_t_above(std::abs(mean) / deviation, degrees));
}

/// Holm's step-down: the smallest counts as often as there are effects, the next once less...
void adjust_by_holm(std::vector<FactorialEffect>& effects) {
  const auto order = order_by(effects.size(), [&](std::size_t i) { return effects[i].p; });
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    double& p = effects[order[i]].p;
    least = std::max(least, std::min(1.0, p * static_cast<double>(order.size() - i)));
    p = least;
  }
}

}  // namespace

std::vector<FactorSet> factorial_design(std::size_t factors) {
  assert(factors >= 1 && factors <= kMaxFactors);
  const std::vector<FactorSet> words = defining_words(factors);
  std::vector<FactorSet> design;
  for (FactorSet levels = 0; levels < 1U << factors; ++levels)
    if (std::ranges::all_of(words, [&](FactorSet word) { return sign_of(word, levels) == 1; }))
      design.push_back(levels);
  return design;
}

std::vector<FactorSet> aliases_of(FactorSet effect, std::size_t factors) {
  std::vector<FactorSet> aliases;
  for (const FactorSet word : defining_words(factors))
    if (std::popcount(effect ^ word) <= 3) aliases.push_back(effect ^ word);
  return aliases;
}

std::optional<FactorialAnalysis> analyse_factorial(std::span<const FactorialRun> runs,
                                                   std::size_t factors) {
  const std::vector<Block> blocks = whole_blocks(runs, factors);
  if (blocks.empty()) return std::nullopt;
  const std::vector<FactorSet> design = factorial_design(factors);
  const std::vector<FactorSet> all = effects_of(factors);
  const auto count = static_cast<double>(blocks.size());
  FactorialAnalysis analysis{.blocks = blocks.size(), .effects = {}};
  for (const FactorSet effect : all) {
    const auto values =
        mapped(blocks, [&](const Block& block) { return effect_in(block, effect, design); });
    const double middle = mean(values);
    FactorialEffect found{effect, middle, middle, middle, 1};
    if (blocks.size() > 1) {
      const double deviation = standard_deviation(values) / std::sqrt(count);
      const double half =
          student_t_quantile(0.025 / static_cast<double>(all.size()), count - 1) * deviation;
      found.low = middle - half;
      found.high = middle + half;
      found.p = two_sided_p(middle, deviation, count - 1);
    }
    analysis.effects.push_back(found);
  }
  adjust_by_holm(analysis.effects);
  return analysis;
}

}  // namespace rdmameter
