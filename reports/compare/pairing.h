// SPDX-License-Identifier: Apache-2.0
// Which case of the one file is which of the other?
#pragma once

#include <string>
#include <vector>

#include "reports/compare/comparable.h"

namespace rdmameter {

/// What is compared with what. Borrows the cases.
struct Pair {
  const ComparableCase* base;
  const ComparableCase* other;
};

struct Pairing {
  std::vector<Pair> pairs;
  std::vector<std::string> only_base, only_other;  ///< names
};

/// By identity; what is left over by name, if one case of each file has it: that says what was
/// asked for, and the rest the program has found (an MTU, a size of inline data) or has another
/// default of. A case without a measurement does not know what was found.
Pairing pair_cases(const Comparable& base, const Comparable& other);

/// What was not the same in pairs of cases that were measured: "inline_bytes is 0 in BASE and 64 in
/// NEW (send_lat/rc, write_lat/rc)".
std::vector<std::string> axis_differences(const std::vector<Pair>& pairs);

}  // namespace rdmameter
