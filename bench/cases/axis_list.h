// SPDX-License-Identifier: Apache-2.0
// The values of one axis, as people list them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/test_case/test_case.h"

namespace rdmameter {

/// More values than this on one axis, or cases in a cross product, are a mistake.
inline constexpr std::size_t kMaxCases = 100'000;

/// Reads "64", "1,4,16", "2..8M" (doubles from 2 and always includes 8M), "0..10:2" (in steps of
/// 2), and any of these between commas. Numbers only have ranges.
/// @return  each value as set_axis() takes it, in one spelling, without repetitions, in
///          the order given
/// @throws UsageError naming the option and what it accepts
std::vector<std::string> read_axis_list(const Axis& axis, std::string_view list);

}  // namespace rdmameter
