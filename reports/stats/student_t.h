// SPDX-License-Identifier: Apache-2.0
// How far out in Student's distribution does a statistic lie?
#pragma once

namespace rdmameter {

/// P(T >= t). @param degrees  of freedom, above 0, not necessarily whole; infinity: the normal
///                            distribution
double student_t_above(double t, double degrees);

/// The t with P(T >= t) = `above`. @param above  within (0, 1)
double student_t_quantile(double above, double degrees);

}  // namespace rdmameter
