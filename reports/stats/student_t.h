// SPDX-License-Identifier: Apache-2.0
// How far from its middle does Student's t reach?
#pragma once

#include <cstddef>

namespace rdmameter {

/// The value that |t| stays below with this probability (0.95: half of an interval's width, in
/// standard errors). By the closed form for whole degrees of freedom, Abramowitz and Stegun 26.7.3
/// and 26.7.4.
/// @param confidence  in (0, 1)
/// @param freedom     degrees of freedom, 1 or more
double student_t_within(double confidence, std::size_t freedom);

}  // namespace rdmameter
