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

/// By identity; a case without a measurement does not know its effective values, so by name.
Pairing pair_cases(const Comparable& base, const Comparable& other);

}  // namespace rdmameter
