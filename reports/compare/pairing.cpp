// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/pairing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unordered_map>

#include "core/base/printable.h"
#include "reports/summary/facts.h"

namespace rdmameter {
namespace {

using ComparableCases = std::vector<ComparableCase>;
using CasesByText = std::unordered_map<std::string, const ComparableCase*>;
using Partners = std::unordered_map<const ComparableCase*, const ComparableCase*>;

/// Of those without a partner. Null where several have the name.
CasesByText named_once(const ComparableCases& cases, const Partners& partners) {
  CasesByText by_name;
  for (const ComparableCase& test_case : cases) {
    if (partners.contains(&test_case)) continue;
    const auto [at, is_new] = by_name.emplace(test_case.name, &test_case);
    if (!is_new) at->second = nullptr;
  }
  return by_name;
}

std::string recorded_value(const nlohmann::json& axes, const std::string& key) {
  const auto found = axes.find(key);
  if (found == axes.end()) return "not recorded";
  return printable(found->is_string() ? found->get<std::string>() : found->dump());
}

}  // namespace

Pairing pair_cases(const Comparable& base, const Comparable& other) {
  const ComparableCases &before = base.sides[0], &after = other.sides[0];
  Defaults defaults(base.context);
  const Defaults of_other(other.context);
  const bool alike = defaults.differences(of_other).empty();
  defaults.complete(of_other);
  CasesByText by_identity;
  for (const ComparableCase& test_case : before)
    by_identity.emplace(identity_of(test_case, defaults), &test_case);
  Partners partners;  // of the cases of both, in the other file
  const auto join = [&](const ComparableCase* ours, const ComparableCase* theirs) {
    partners.insert({{ours, theirs}, {theirs, ours}});
  };
  for (const ComparableCase& test_case : after)
    if (const auto found =
            by_identity.find(identity_of(test_case, defaults, alike ? nullptr : &of_other));
        found != by_identity.end())
      join(&test_case, found->second);
  const CasesByText base_names = named_once(before, partners),
                    other_names = named_once(after, partners);
  for (const auto& [name, theirs] : other_names)
    if (const auto found = base_names.find(name);
        theirs != nullptr && found != base_names.end() && found->second != nullptr)
      join(theirs, found->second);

  Pairing pairing;
  for (const ComparableCase& test_case : after) {
    const auto found = partners.find(&test_case);
    if (found == partners.end())
      pairing.only_other.push_back(test_case.name);
    else
      pairing.pairs.push_back({found->second, &test_case});
  }
  for (const ComparableCase& test_case : before)
    if (!partners.contains(&test_case)) pairing.only_base.push_back(test_case.name);
  return pairing;
}

std::vector<std::string> axis_differences(const std::vector<Pair>& pairs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;  // what differs, which cases
  for (const auto& [base, other] : pairs) {
    if (base->replicates.empty() || other->replicates.empty()) continue;
    nlohmann::json all = base->axes;
    all.update(other->axes);
    for (const auto& [key, ignored] : all.items()) {
      const std::string before = recorded_value(base->axes, key),
                        after = recorded_value(other->axes, key);
      if (before != after)
        entry_of(found, fmt::format("{} is {} in BASE and {} in NEW", key, before, after))
            .push_back(printable(other->name));
    }
  }
  return mapped(found, [](const auto& one) {
    return fmt::format("{} ({})", one.first, fmt::join(one.second, ", "));
  });
}

}  // namespace rdmameter
