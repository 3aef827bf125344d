// SPDX-License-Identifier: Apache-2.0
// Two-level factorial experiments: which runs to make, and what each factor and each pair of
// factors is worth. (Box, Hunter and Hunter, Statistics for Experimenters, chapters 5 and 6.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rdmameter {

/// A set of factors, or the levels of all: bit i is of factor i (as a level: its second one).
using FactorSet = std::uint32_t;

inline constexpr std::size_t kMaxFactors = 8;

/// The runs of a design of resolution V or better, ascending: of up to four factors all, of more a
/// half or (of eight) a quarter. In such a fraction no effect of a factor or of a pair is mixed
/// with that of another factor or pair.
/// @param factors  1 to kMaxFactors
std::vector<FactorSet> factorial_design(std::size_t factors);

/// The effects of at most three factors that the design does not tell from this one.
std::vector<FactorSet> aliases_of(FactorSet effect, std::size_t factors);

struct FactorialRun {
  FactorSet levels;
  std::uint64_t block;  ///< all runs of the design are made once in each block
  double value;
};

struct FactorialEffect {
  FactorSet factors;  ///< one, or a pair
  /// Of a factor: its second level less its first, on average over the levels of the others. Of a
  /// pair: what both second levels together do beyond the sum of what each does by itself.
  double value;
  double low, high;  ///< 95 % for all effects together (Bonferroni); equal: one block alone
  double p;          ///< that there is none, adjusted for the number of effects (Holm)
};

struct FactorialAnalysis {
  std::size_t blocks;                    ///< those that were whole: the replicates
  std::vector<FactorialEffect> effects;  ///< of each factor, then of each pair
};

/// @return nothing where no block has each run of the design exactly once
std::optional<FactorialAnalysis> analyse_factorial(std::span<const FactorialRun> runs,
                                                   std::size_t factors);

}  // namespace rdmameter
