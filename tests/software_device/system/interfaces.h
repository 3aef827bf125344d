// SPDX-License-Identifier: Apache-2.0
// Network interfaces that only the programs of a session see.
#pragma once

namespace rdmameter::software {

/// The index of the interface of an iWARP soft0; soft1's follows.
inline constexpr unsigned kFirstInterface = 1'000'000;

}  // namespace rdmameter::software
