// SPDX-License-Identifier: Apache-2.0
// Which QPs of this process are slow.
#pragma once

#include <cstdint>
#include <map>

namespace rdmameter::software {

/// By the number of the QP, counted from 1 as this process creates them: how much later arrives
/// what it sends [ns], or kLost.
using QpDelays = std::map<std::uint64_t, std::uint64_t>;

/// Nothing that the QP sends arrives.
inline constexpr std::uint64_t kLost = ~std::uint64_t{0};

/// RDMAMETER_DEVICE_DELAYS; what it does not understand ends the program.
/// @param instant  there is no wire, and so nothing that could be late
QpDelays delays_of_qps(bool instant);

}  // namespace rdmameter::software
