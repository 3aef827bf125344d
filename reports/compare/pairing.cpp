// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/pairing.h"

#include <algorithm>
#include <unordered_map>

namespace rdmameter {

Pairing pair_cases(const Comparable& base, const Comparable& other) {
  std::unordered_map<std::string, const ComparableCase*> by_identity, unmeasured, by_name;
  for (const ComparableCase& one_case : base.sides[0]) {
    by_identity.emplace(one_case.identity, &one_case);
    by_name.emplace(one_case.name, &one_case);
    if (one_case.replicates.empty()) unmeasured.emplace(one_case.name, &one_case);
  }
  Pairing made;
  std::vector<const ComparableCase*> used;
  for (const ComparableCase& one_case : other.sides[0]) {
    auto found = by_identity.find(one_case.identity);
    if (found == by_identity.end()) {
      const auto& named = one_case.replicates.empty() ? by_name : unmeasured;
      if (const auto at = named.find(one_case.name); at != named.end())
        found = by_identity.find(at->second->identity);
    }
    if (found == by_identity.end()) {
      made.only_other.push_back(one_case.name);
      continue;
    }
    made.pairs.push_back({found->second, &one_case});
    used.push_back(found->second);
  }
  std::ranges::sort(used);
  for (const ComparableCase& one_case : base.sides[0])
    if (!std::ranges::binary_search(used, &one_case)) made.only_base.push_back(one_case.name);
  return made;
}

}  // namespace rdmameter
