// SPDX-License-Identifier: Apache-2.0
// Many comparisons at once: which are significant, when each had its chance to be so by luck?
#pragma once

#include <span>
#include <vector>

namespace rdmameter {

/// Adjusted p-values (Benjamini and Hochberg 1995): comparing each with 0.05 keeps the expected
/// share of false ones among all that are called significant at 5 %; where none is true, the
/// chance that any is called so.
/// @return  as many, in the same order, at most 1
std::vector<double> benjamini_hochberg(std::span<const double> p_values);

}  // namespace rdmameter
